extension InputParser {
    /// rxvt ends a key pressed with Shift in `$`, which is no final byte; no other sequence has it after these numbers.
    static func isRxvtShift(_ sequence: [UInt8]) -> Bool {
        (1...2).contains(sequence.count) && sequence.allSatisfy { (0x30...0x39).contains($0) }
            && Key.Code(number: sequence.reduce(0) { $0 * 10 + Int($1) - 0x30 }) != nil
    }

    mutating func finishControl(final: UInt8, alt: Bool) {
        let controls = ControlSequence(sequence)
        sequence.removeAll(keepingCapacity: true)
        guard let controls else { return }
        if let prefix = controls.prefix {
            finishPrivate(controls, prefix: prefix, final: final)
            return
        }
        if controls.intermediate != nil { return }
        switch final {
        case 0x49 where controls.isEmpty: events.append(.focusIn)
        case 0x4F where controls.isEmpty: events.append(.focusOut)
        case 0x4D: finishMouse(controls, from: 32)
        case 0x52 where !controls.isFunctionKey:
            guard let row = controls[0], let column = controls[1] else { return }
            events.append(.reply(.cursorPosition(row: max(0, row - 1), column: max(0, column - 1))))
        case 0x41...0x44, 0x46, 0x48, 0x50...0x53:
            guard let code = Key.Code(letter: final) else { return }
            emitKey(code, controls.modifiers(at: 1), alt: alt)
        case 0x5A: emitKey(.backTab, [], alt: alt)
        case 0x61...0x64:
            guard let code = Key.Code(letter: final - 0x20) else { return }
            emitKey(code, .shift, alt: alt)
        case 0x75: finishUnicodeKey(controls, codeAt: 0)
        case 0x7E where controls[0] == 27: finishUnicodeKey(controls, codeAt: 2)
        case 0x7E where controls[0] == 200: beginPaste()
        case 0x7E:
            guard let number = controls[0], let code = Key.Code(number: number) else { return }
            emitKey(code, controls.modifiers(at: 1), alt: alt)
        case 0x24, 0x5E, 0x40:
            guard let number = controls[0], let code = Key.Code(number: number) else { return }
            let modifiers: Key.Modifiers = final == 0x24 ? .shift : final == 0x5E ? .control : [.shift, .control]
            emitKey(code, modifiers, alt: alt)
        default: break
        }
    }

    mutating func finishSingle(final: UInt8, alt: Bool) {
        let controls = ControlSequence(sequence)
        sequence.removeAll(keepingCapacity: true)
        // Some terminals send the modifier first and alone.
        let modifiers = controls.flatMap { $0.modifiers(at: $0.count > 1 ? 1 : 0) } ?? []
        switch final {
        case 0x61...0x64:
            if let code = Key.Code(letter: final - 0x20) { emitKey(code, .control, alt: alt) }
        case 0x49: emitKey(.tab, modifiers, alt: alt)
        case 0x4D: emitKey(.enter, modifiers, alt: alt)
        case 0x58: emitKey(.character("="), modifiers, alt: alt)
        case 0x6A...0x79:
            emitKey(.character(Character(Unicode.Scalar(final - 0x40))), modifiers, alt: alt)
        default:
            if let code = Key.Code(letter: final) { emitKey(code, modifiers, alt: alt) }
        }
    }

    private mutating func emitKey(_ code: Key.Code, _ modifiers: Key.Modifiers?, alt: Bool) {
        guard let modifiers else { return }
        emit(Key(code, alt ? modifiers.union(.alt) : modifiers))
    }

    /// A key by its Unicode value: `CSI u`, or xterm's modifyOtherKeys.
    private mutating func finishUnicodeKey(_ controls: ControlSequence, codeAt place: Int) {
        guard let number = controls[place], var modifiers = controls.modifiers(at: 1),
            var code = Key.Code(unicode: number)
        else { return }
        if case .character(let character) = code, modifiers.contains(.shift) {
            if let shifted = controls.part(1, of: place).flatMap(Key.Code.init(unicode:)) {
                code = shifted
            } else if modifiers.isDisjoint(with: [.control, .alt]), let upper = character.uppercased().first,
                character.uppercased().count == 1
            {
                code = .character(upper)
            }
            if modifiers.isDisjoint(with: .control) { modifiers.remove(.shift) }
        }
        if code == .tab, modifiers.contains(.shift) {
            code = .backTab
            modifiers.remove(.shift)
        }
        emit(Key(code, modifiers))
    }

    // MARK: replies and mouse

    private mutating func finishPrivate(_ controls: ControlSequence, prefix: UInt8, final: UInt8) {
        switch (prefix, controls.intermediate, final) {
        case (0x3F, 0x24, 0x79):
            guard let number = controls[0], let state = controls[1] else { return }
            events.append(.reply(.mode(number: number, state: state)))
        case (0x3F, nil, 0x63): events.append(.reply(.deviceAttributes))
        case (0x3F, nil, 0x52):
            guard let row = controls[0], let column = controls[1] else { return }
            events.append(.reply(.cursorPosition(row: max(0, row - 1), column: max(0, column - 1))))
        case (0x3C, nil, 0x4D), (0x3C, nil, 0x6D): finishMouse(controls, from: 0, isRelease: final == 0x6D)
        default: break
        }
    }

    private mutating func finishMouse(_ controls: ControlSequence, from base: Int, isRelease: Bool? = nil) {
        guard let code = controls[0], let column = controls[1], let row = controls[2] else { return }
        emitMouse(code - base, column: column, row: row, isRelease: isRelease)
    }

    /// - Parameter isRelease: nil if the code itself says so.
    mutating func emitMouse(_ code: Int, column: Int, row: Int, isRelease: Bool?) {
        guard code >= 0, code < 256, column >= 1, row >= 1 else { return }
        let isRelease = isRelease ?? (code & 3 == 3 && code & 96 == 0)
        var modifiers: Key.Modifiers = []
        if code & 4 != 0 { modifiers.insert(.shift) }
        if code & 8 != 0 { modifiers.insert(.alt) }
        if code & 16 != 0 { modifiers.insert(.control) }
        let button: MouseEvent.Button =
            switch code & 3 {
            case 0: .left
            case 1: .middle
            case 2: .right
            default: .none
            }
        var event = MouseEvent(kind: .press, button: button, row: row - 1, column: column - 1, modifiers: modifiers)
        if code & 64 != 0 {
            guard code & 3 < 2, !isRelease else { return }
            event.kind = code & 1 == 0 ? .scrollUp : .scrollDown
            event.button = .none
        } else if code & 128 != 0 {
            return
        } else if isRelease {
            event.kind = .release
        } else if code & 32 != 0 {
            guard button != .none else { return }
            event.kind = .drag
        }
        events.append(.mouse(event))
    }
}

/// The parameters of a control sequence: `prefix? number(:number)* (; …)* intermediate?`.
private struct ControlSequence {
    /// `<`, `=`, `>` or `?`.
    private(set) var prefix: UInt8?
    private(set) var intermediate: UInt8?
    private var numbers: [[Int?]] = []

    /// Nil if the bytes are no such list, or a number is far too large.
    init?(_ bytes: [UInt8]) {
        var rest = bytes[...]
        if let first = rest.first, (0x3C...0x3F).contains(first) {
            prefix = first
            rest.removeFirst()
        }
        if let last = rest.last, (0x20...0x2F).contains(last) {
            intermediate = last
            rest.removeLast()
        }
        if rest.isEmpty { return }
        numbers = [[nil]]
        for byte in rest {
            let place = numbers.count - 1
            let part = numbers[place].count - 1
            switch byte {
            case 0x30...0x39:
                let value = (numbers[place][part] ?? 0) * 10 + Int(byte) - 0x30
                guard value <= 0x20_0000 else { return nil }
                numbers[place][part] = value
            case 0x3A: numbers[place].append(nil)
            case 0x3B: numbers.append([nil])
            default: return nil
            }
        }
    }

    var isEmpty: Bool { numbers.isEmpty }
    var count: Int { numbers.count }

    subscript(place: Int) -> Int? { part(0, of: place) }

    func part(_ part: Int, of place: Int) -> Int? {
        guard place < numbers.count, part < numbers[place].count else { return nil }
        return numbers[place][part]
    }

    /// `CSI 1 ; modifiers R` is F3; anything else with that ending is a cursor report.
    var isFunctionKey: Bool {
        isEmpty || (self[0] ?? 1) == 1 && count == 2 && (2...8).contains(self[1] ?? 0)
    }

    /// The modifiers at a place; nil for a key's release, and for a modifier that no binding here has.
    func modifiers(at place: Int) -> Key.Modifiers? {
        if part(1, of: place) == 3 { return nil }
        guard let value = self[place], value > 0 else { return [] }
        // Bits 64 and 128 are the lock keys.
        let bits = (value - 1) & ~0xC0
        guard bits >= 0, bits < 16 else { return nil }
        // If bit 8 is set, xterm means Meta, which is Alt here.
        return Key.Modifiers(rawValue: UInt8(bits & 7)).union(bits & 8 != 0 ? .alt : [])
    }
}
