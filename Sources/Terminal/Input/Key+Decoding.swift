extension Key {
    /// The key of a single byte below 0x80; nil for escape, which begins a sequence.
    init?(byte: UInt8) {
        switch byte {
        case 0x00: self = .control(" ")
        case 0x09: self.init(.tab)
        case 0x0D: self.init(.enter)
        case 0x01...0x1A: self = .control(Character(Unicode.Scalar(byte + 0x60)))
        case 0x1C...0x1F: self = .control(Character(Unicode.Scalar(byte + 0x40)))
        case 0x20...0x7E: self.init(.character(Character(Unicode.Scalar(byte))))
        case 0x7F: self.init(.backspace)
        default: return nil
        }
    }
}

extension Key.Code {
    /// The key of a final letter that `CSI` and `SS3` share.
    init?(letter: UInt8) {
        switch letter {
        case 0x41: self = .up
        case 0x42: self = .down
        case 0x43: self = .right
        case 0x44: self = .left
        case 0x46: self = .end
        case 0x48: self = .home
        case 0x50...0x53: self = .function(Int(letter) - 0x4F)
        default: return nil
        }
    }

    /// The key of `CSI number ~`.
    init?(number: Int) {
        switch number {
        case 1, 7: self = .home
        case 4, 8: self = .end
        case 2: self = .insert
        case 3: self = .delete
        case 5: self = .pageUp
        case 6: self = .pageDown
        case 11...15: self = .function(number - 10)
        case 17...21: self = .function(number - 11)
        case 23...26: self = .function(number - 12)
        case 28, 29: self = .function(number - 13)
        case 31...34: self = .function(number - 14)
        default: return nil
        }
    }

    /// The keys of a number pad from 57409 on, in the kitty keyboard protocol.
    private static let pad: [Key.Code] = [
        .character("."), .character("/"), .character("*"), .character("-"), .character("+"), .enter, .character("="),
        .character(","), .left, .right, .up, .down, .pageUp, .pageDown, .home, .end, .insert, .delete,
    ]

    /// The key of a code in `CSI code u`, in the kitty keyboard protocol; nil for one that is not handled.
    init?(unicode code: Int) {
        switch code {
        case 9: self = .tab
        case 13: self = .enter
        case 27: self = .escape
        case 8, 127: self = .backspace
        case 57376...57398: self = .function(code - 57376 + 13)
        case 57399...57408: self = .character(Character(Unicode.Scalar(UInt8(code - 57399 + 0x30))))
        case 57409...57426: self = Self.pad[code - 57409]
        case 0xE000...0xF8FF: return nil
        default:
            guard let value = UInt32(exactly: code), let scalar = Unicode.Scalar(value),
                scalar.properties.generalCategory != .control
            else { return nil }
            self = .character(Character(scalar))
        }
    }
}
