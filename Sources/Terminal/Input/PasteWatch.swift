/// Tells a paste from typing if the terminal does not: by how fast its keys come.
///
/// A value without a clock. What comes faster than anyone types and has at least five lines is passed on as a paste, so
/// that its line breaks send nothing; so is the rest of it that a stalled link delivers soon after. Keys that come one
/// by one are passed on at once; only a break in a run of quick ones waits, for `pause` at most, until it is known
/// whether more follows. What is held is bounded.
public struct PasteWatch: Sendable {
    /// Keys at most this far apart belong to a run: no one types this fast, and no keyboard repeats this fast.
    public static let gap = Duration.milliseconds(10)
    /// A run with a held break ends this long after its last key.
    public static let pause = Duration.milliseconds(30)
    /// Several keys that come together are the rest of a paste up to this long after it.
    public static let reach = Duration.milliseconds(500)
    /// A break is held from this key of a run on, or if more keys than this come with it in the same read.
    static let leastKeys = 5
    /// The breaks, each with something after it, that make a paste. Fewer may be typing that a stalled link held back.
    static let leastBreaks = 4
    /// The most characters held; a longer paste is passed on in parts.
    static let limit = 1 << 16

    private var last: ContinuousClock.Instant?
    private var count = 0
    private var held: [Key] = []
    private var breaks = 0
    private var isPaste = false
    /// When the last key of a paste came that was passed on; nil once something else has come.
    private var pasteEnd: ContinuousClock.Instant?

    /// Makes a watch that has seen nothing.
    public init() {}

    /// When `flush` is due; nil if nothing is held.
    public var due: ContinuousClock.Instant? { held.isEmpty ? nil : last.map { $0 + Self.pause } }

    /// Adds events as they were read; returns those that are decided, in order.
    public mutating func take(_ events: [InputEvent], at now: ContinuousClock.Instant) -> [InputEvent] {
        var decided: [InputEvent] = []
        let allowed = held.isEmpty ? Self.gap : Self.pause
        if let last, last.duration(to: now) > allowed {
            decided += flush()
            count = 0
        }
        if continuesPaste(events, at: now) { isPaste = true }
        for (place, event) in events.enumerated() {
            switch event {
            case .key(let key) where Self.character(of: key) != nil:
                last = now
                count += 1
                let isInRun = count >= Self.leastKeys || events.count - place > Self.leastKeys
                guard !held.isEmpty || isPaste || key.isBreak && isInRun else {
                    decided.append(event)
                    continue
                }
                if held.last?.isBreak == true { breaks += 1 }
                if breaks >= Self.leastBreaks { isPaste = true }
                held.append(key)
                guard held.count >= Self.limit else { continue }
                let goesOn = isPaste
                decided += flush()
                isPaste = goesOn
            case .reply, .focusIn, .focusOut:
                // The terminal's own reports may come in between.
                decided.append(event)
            case .key, .paste, .pasteCut, .mouse:
                decided += flush()
                count = 0
                pasteEnd = nil
                decided.append(event)
            }
        }
        return decided
    }

    /// Passes on what is held: as a paste if it is one, as keys otherwise. `asPaste` makes it one in any case, so that
    /// none of its keys sends anything when no one is there to see it.
    public mutating func flush(asPaste: Bool = false) -> [InputEvent] {
        if asPaste { isPaste = true }
        defer { (held, breaks, isPaste) = ([], 0, false) }
        guard !held.isEmpty else { return [] }
        if isPaste { pasteEnd = last }
        return isPaste ? [.paste(String(held.compactMap(Self.character(of:))))] : held.map { .key($0) }
    }

    /// Whether events are the rest of the paste before them. A single key is a person's, who may be sending the paste.
    private func continuesPaste(_ events: [InputEvent], at now: ContinuousClock.Instant) -> Bool {
        guard let pasteEnd, pasteEnd.duration(to: now) <= Self.reach else { return false }
        let keys = events.filter { if case .key(let key) = $0 { Self.character(of: key) != nil } else { false } }
        return keys.count > 1
    }

    /// The character of a key in a text; nil if it cannot be part of a paste.
    private static func character(of key: Key) -> Character? {
        if key.isBreak { return "\n" }
        guard key.modifiers.isEmpty else { return nil }
        switch key.code {
        case .character(let character): return character
        case .tab: return "\t"
        default: return nil
        }
    }
}

extension Key {
    /// Whether a terminal sends it for a line break of a paste.
    fileprivate var isBreak: Bool { self == Key(.enter) || self == .control("j") }
}
