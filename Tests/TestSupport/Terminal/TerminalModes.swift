/// What a program has asked its terminal for, read from the bytes it wrote: the state it would leave a person's
/// terminal in.
public struct TerminalModes: Hashable, Sendable, CustomStringConvertible {
    /// The private modes (DECSET) that are on; 7 (autowrap) and 25 (cursor) are on in a fresh terminal.
    public private(set) var enabled: Set<Int> = [7, 25]
    /// The private modes that were ever switched on.
    public private(set) var everEnabled: Set<Int> = []
    /// Whether the keypad is in application mode (DECKPAM).
    public private(set) var isKeypadApplication = false
    /// How many kitty keyboard modes are pushed and not popped.
    public private(set) var keyboardStack = 0
    /// Whether xterm's modifyOtherKeys is on.
    public private(set) var modifiesOtherKeys = false
    /// The window's title, as last set by OSC 0 or OSC 2.
    public private(set) var title = ""
    /// How often the bell rang.
    public private(set) var bells = 0

    private var tokens = TerminalTokens()

    /// The state of a fresh terminal.
    public init() {}

    /// Whether the alternate screen is shown.
    public var isAlternateScreen: Bool { !enabled.isDisjoint(with: [47, 1047, 1049]) }
    /// Whether the cursor is shown.
    public var isCursorVisible: Bool { enabled.contains(25) }
    /// Whether a mouse is reported.
    public var reportsMouse: Bool { !enabled.isDisjoint(with: [9, 1000, 1002, 1003]) }
    /// Whether focus in and focus out are reported.
    public var reportsFocus: Bool { enabled.contains(1004) }
    /// Whether pastes are bracketed.
    public var bracketsPaste: Bool { enabled.contains(2004) }
    /// Whether arrow keys are sent in application form (DECCKM).
    public var isCursorApplication: Bool { enabled.contains(1) }

    /// What a person would be left with after the program: empty when a shell can be used as before.
    public var leftovers: [String] {
        // Blinking and the meta key's form are a terminal's taste and do no harm.
        var words = enabled.subtracting([7, 25, 12, 1034]).sorted().map { "mode \($0) is on" }
        if !enabled.contains(7) { words.append("autowrap is off") }
        if !enabled.contains(25) { words.append("the cursor is hidden") }
        if isKeypadApplication { words.append("the keypad is in application mode") }
        if keyboardStack > 0 { words.append("kitty's keyboard mode is on") }
        if modifiesOtherKeys { words.append("modifyOtherKeys is on") }
        return words
    }

    /// Whether nothing is left over.
    public var isSane: Bool { leftovers.isEmpty }

    /// The leftovers in words.
    public var description: String { isSane ? "sane" : leftovers.joined(separator: ", ") }

    /// Takes what the program wrote; any split is fine.
    public mutating func feed(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            switch tokens.feed(byte) {
            case .control(0x07)?: bells += 1
            case .escape(let final)?: take(escape: final)
            case .sequence(let text)?: take(sequence: text)
            case .command(let text)?: take(command: text)
            default: break
            }
        }
    }

    private mutating func take(escape final: UInt8) {
        switch final {
        case UInt8(ascii: "="): isKeypadApplication = true
        case UInt8(ascii: ">"): isKeypadApplication = false
        case UInt8(ascii: "c"): self = Self(keeping: self)
        default: break
        }
    }

    private init(keeping old: Self) {
        self.init()
        everEnabled = old.everEnabled
        bells = old.bells
    }

    private mutating func take(sequence: String) {
        guard let final = sequence.last else { return }
        let body = sequence.dropLast()
        let numbers = body.dropFirst().split(separator: ";", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
        switch (body.first, final) {
        case ("?", "h"):
            enabled.formUnion(numbers)
            everEnabled.formUnion(numbers)
        case ("?", "l"): enabled.subtract(numbers)
        case (">", "u"): keyboardStack += 1
        case ("<", "u"): keyboardStack = max(0, keyboardStack - max(1, numbers.first ?? 1))
        case (">", "m") where numbers.first == 4: modifiesOtherKeys = numbers.count > 1 && numbers[1] != 0
        case ("!", "p"): self = Self(keeping: self)
        default: break
        }
    }

    private mutating func take(command: String) {
        for prefix in ["0;", "2;"] where command.hasPrefix(prefix) { title = String(command.dropFirst(2)) }
    }
}
