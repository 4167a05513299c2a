/// An address that cells of a canvas link to, in the form that is sent to terminals: printable ASCII without spaces, of
/// a bounded length, so that it cannot contain a control sequence.
public struct LinkTarget: Hashable, Sendable {
    /// The address; characters beyond ASCII are percent-encoded in UTF-8.
    public let address: String

    /// The most bytes that terminals accept.
    public static let byteLimit = 2_083

    /// Nil for anything but http and https, for spaces and control characters, and for an address that is too long.
    public init?(_ text: String) {
        let scheme = text.prefix(8).lowercased()
        guard scheme.hasPrefix("http://") || scheme.hasPrefix("https://") else { return nil }
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x21..<0x7F: bytes.append(byte)
            case 0x80...: bytes += [UInt8(ascii: "%"), Self.digit(byte >> 4), Self.digit(byte & 15)]
            default: return nil
            }
            guard bytes.count <= Self.byteLimit else { return nil }
        }
        address = String(decoding: bytes, as: UTF8.self)
    }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }

    /// Begins the link's cells (OSC 8). The identifier tells a terminal which lines belong to one link.
    var opening: [UInt8] { Array("\u{1B}]8;id=\(identifier);\(address)\u{1B}\\".utf8) }

    static let closing = Array("\u{1B}]8;;\u{1B}\\".utf8)

    /// The same for the same address in every frame (FNV-1a).
    private var identifier: String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in address.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}

/// Whether addresses are sent to the terminal, so that it can open them; by default if its type is known to support or
/// to ignore them.
public enum LinkUse: Hashable, Sendable {
    case auto, always, never
}
