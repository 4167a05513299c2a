/// Splits what a program writes into text, controls and sequences, one byte at a time.
struct TerminalTokens: Hashable, Sendable {
    enum Token: Hashable {
        case control(UInt8)
        /// `ESC x`
        case escape(UInt8)
        /// `CSI …`, without the introducer.
        case sequence(String)
        /// `OSC …`, without introducer and end.
        case command(String)
    }

    private enum Place: Hashable {
        case text, escape, sequence
        case string(isCommand: Bool)
        case stringEscape(isCommand: Bool)
    }

    private var place = Place.text
    private var collected: [UInt8] = []
    private static let limit = 1 << 16

    mutating func feed(_ byte: UInt8) -> Token? {
        switch place {
        case .text:
            if byte == 0x1B { place = .escape } else if byte < 0x20 || byte == 0x7F { return .control(byte) }
            return nil
        case .escape: return feedEscape(byte)
        case .sequence: return feedSequence(byte)
        case .string(let isCommand):
            if byte == 0x1B {
                place = .stringEscape(isCommand: isCommand)
            } else if byte == 0x07 {
                return end(isCommand: isCommand)
            } else if collected.count < Self.limit {
                collected.append(byte)
            }
            return nil
        case .stringEscape(let isCommand):
            if byte == UInt8(ascii: "\\") { return end(isCommand: isCommand) }
            collected = []
            return feedEscape(byte)
        }
    }

    private mutating func feedEscape(_ byte: UInt8) -> Token? {
        collected = []
        switch byte {
        case UInt8(ascii: "["): place = .sequence
        case UInt8(ascii: "]"): place = .string(isCommand: true)
        case UInt8(ascii: "P"), UInt8(ascii: "X"), UInt8(ascii: "^"), UInt8(ascii: "_"):
            place = .string(isCommand: false)
        case 0x1B, 0x20...0x2F: place = .escape
        default:
            place = .text
            return .escape(byte)
        }
        return nil
    }

    private mutating func feedSequence(_ byte: UInt8) -> Token? {
        switch byte {
        case 0x1B: place = .escape
        case ..<0x20: return .control(byte)
        case 0x40...0x7E:
            place = .text
            return .sequence(String(decoding: collected + [byte], as: UTF8.self))
        default: if collected.count < Self.limit { collected.append(byte) }
        }
        return nil
    }

    private mutating func end(isCommand: Bool) -> Token? {
        place = .text
        return isCommand ? .command(String(decoding: collected, as: UTF8.self)) : nil
    }
}
