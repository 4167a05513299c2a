/// A line of chat, as RelayX's terminal chat sends it: `{username, text, timestamp}`.
///
/// It is what every program writes and reads; what sends it adds an identifier and a destination (``OutboxMessage``).
public struct ChatLine: Hashable, Sendable {
    /// Who the line says it is from. Anybody can write any name here.
    public var username: String
    /// What was said.
    public var text: String
    /// When, by the sender's clock; nil when the sender left it out or wrote no date.
    public var timestamp: Timestamp?

    /// Makes a line.
    public init(username: String, text: String, timestamp: Timestamp?) {
        self.username = username
        self.text = text
        self.timestamp = timestamp
    }

    /// Reads a line: a map with text under `username` and `text`. Nil for any other message.
    public init?(_ value: MessageValue) {
        guard let (username, text) = Self.words(in: value) else { return nil }
        self.username = username
        self.text = text
        timestamp =
            switch value["timestamp"] {
            case .string(let moment): Timestamp(iso8601: moment)
            case .int(let number): Timestamp(secondsOrMilliseconds: number)
            case .double(let number): Timestamp(secondsOrMilliseconds: number)
            default: nil
            }
    }

    /// Who wrote a line and what: all of it but the time, which costs most to read. Nil for any other message.
    static func words(in value: MessageValue) -> (username: String, text: String)? {
        guard case .map(let map) = value, let username = map["username"]?.stringValue,
            let text = map["text"]?.stringValue
        else { return nil }
        return (username, text)
    }

    /// The message to publish; the time as ISO 8601 with milliseconds.
    public var value: MessageValue {
        var map: MessageMap = ["username": .string(username), "text": .string(text)]
        if let timestamp { map["timestamp"] = .string(timestamp.iso8601) }
        return .map(map)
    }
}
