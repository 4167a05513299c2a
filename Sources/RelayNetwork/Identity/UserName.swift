import Relay

/// The name of a user of the private network: 1 to 64 of the characters `A-Z a-z 0-9 + = _ -` (RongCloud's user ids),
/// the first of them a letter, a digit or `_`, so that no command takes a name for a flag or a setting.
///
/// Such a name is one subject token, one file name and one part of a stream's name.
public struct UserName: Hashable, Sendable, CustomStringConvertible {
    /// The name.
    public let text: String

    /// Checks a name.
    /// - Throws: `NetworkError.invalidUserName`.
    public init(_ text: String) throws(NetworkError) {
        guard (1...64).contains(text.utf8.count), text.isWord(besides: "_-+="),
            let first = text.utf8.first, !"+=-".utf8.contains(first)
        else {
            throw .invalidUserName(text)
        }
        self.text = text
    }

    /// The name as a key of a key-value bucket, where `+` is not allowed (ADR-8): `=` and `+` become `=3D` and `=2B`.
    public var key: String { SessionClaim.key(for: text) }

    /// The name of the stream that holds the user's postboxes.
    public var postboxStream: String { NetworkNames.postboxStream(of: text) }
    /// The prefix under which the user alone may receive answers.
    public var inboxPrefix: String { "_INBOX_\(text)" }
    /// The name.
    public var description: String { text }
}

extension StringProtocol {
    /// Whether a text has ASCII letters and digits alone, and these characters.
    func isWord(besides others: StaticString = "_-") -> Bool {
        let others = "\(others)".utf8
        return utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: others.contains(byte)
            }
        }
    }
}
