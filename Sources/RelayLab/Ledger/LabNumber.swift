import Relay

/// Identifies a message of a run by its writer and its position in the writer's messages, from 1.
public struct LabNumber: Hashable, Sendable, CustomStringConvertible {
    /// The writer: at most 64 letters, digits, dashes and underscores.
    public let writer: String
    /// Its position, from 1.
    public let value: Int

    /// The largest number in a ledger.
    public static let maximum = 1_000_000
    private static let longestWriter = 64

    /// Makes a number; nil if the writer's name or the position is invalid.
    public init?(writer: String, value: Int) {
        guard (1...Self.maximum).contains(value), Self.isWriter(writer) else { return nil }
        (self.writer, self.value) = (writer, value)
    }

    /// Parses a number at the beginning of a text, in the form of ``text``.
    public init?(text: some StringProtocol) {
        let words = text.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
        guard words.count >= 3, words[0] == "lab", let value = Int(words[2]) else { return nil }
        self.init(writer: String(words[1]), value: value)
    }

    /// The number of a message: a text, bare or in a chat line, or a map with `lab`, the writer's name, and `n`, the
    /// position. Any program can write one of these. Nil for other messages.
    public init?(message: MessageValue) {
        if case .map(let map) = message, let writer = map["lab"]?.stringValue {
            guard let value = map["n"]?.intValue.flatMap({ Int(exactly: $0) }) else { return nil }
            self.init(writer: writer, value: value)
            return
        }
        self.init(text: message.stringValue ?? message["text"]?.stringValue ?? "")
    }

    /// Whether a text is a valid writer's name.
    public static func isWriter(_ text: String) -> Bool {
        (1...longestWriter).contains(text.utf8.count)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }

    /// `lab alice 12`: the text of a message with this number.
    public var text: String { "lab \(writer) \(value)" }

    /// `alice 12`.
    public var description: String { "\(writer) \(value)" }
}

extension LabNumber: Codable {
    private enum CodingKeys: String, CodingKey { case writer, value = "n" }

    /// Reads a number, and checks it.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let writer = try values.decode(String.self, forKey: .writer)
        guard let number = LabNumber(writer: writer, value: try values.decode(Int.self, forKey: .value)) else {
            throw DecodingError.dataCorruptedError(forKey: .value, in: values, debugDescription: "no message's number")
        }
        self = number
    }
}
