import NIOConcurrencyHelpers

/// The content of a message, however it travels.
///
/// Only this file knows the kinds of messages: how each is read and written, signed and shown. A new kind is a case
/// here, and the compiler points to the rest; ``init(_:)`` recognizes it.
public enum MessageContent: Hashable, Sendable {
    /// A line of chat.
    case line(ChatLine)
    /// A letter to a postbox.
    case letter(PostboxLetter)
    /// Any other value.
    case value(MessageValue)

    /// The content of an envelope's value.
    public init(_ value: MessageValue) { self = if let line = ChatLine(value) { .line(line) } else { .value(value) } }

    /// Decodes the payload of a message to a destination; nil if it cannot be decoded.
    init?(payload: [UInt8], to destination: Destination) {
        switch destination {
        case .topic: self.init(envelope: payload)
        case .postbox:
            guard let letter = PostboxLetter(reading: payload) else { return nil }
            self = .letter(letter)
        case .key: self = .value(.string(String(decoding: payload, as: UTF8.self)))
        }
    }

    /// The value for an envelope.
    public var value: MessageValue {
        switch self {
        case .line(let line): line.value
        case .letter(let letter): .string(letter.message)
        case .value(let value): value
        }
    }

    /// Writes ``value``, without creating it for a line, of which many are sent.
    func write(into writer: inout MessagePackWriter) {
        switch self {
        case .line(let line): line.write(into: &writer)
        case .letter, .value: writer.write(value)
        }
    }

    /// The text to show: that of a line or letter, a bare string as it is, anything else as JSON. Remote text: make it
    /// safe before showing it.
    public var text: String {
        switch self {
        case .line(let line): line.text
        case .letter(let letter): letter.message
        case .value(.string(let text)): text
        case .value(let value): JSONText.text(value)
        }
    }

    /// The sender as the message itself states it, unauthenticated; nil if only its envelope does.
    public var sender: String? {
        switch self {
        case .line(let line): line.username
        case .letter, .value: nil
        }
    }

    /// Whether it should name its sender but does not yet.
    var isUnsigned: Bool {
        switch self {
        case .line(let line): line.username.isEmpty
        case .letter, .value: false
        }
    }

    mutating func sign(as user: String) {
        switch self {
        case .line(var line):
            line.username = user
            self = .line(line)
        case .letter, .value: break
        }
    }

    /// When it was written, as the message itself states it.
    var time: Timestamp? {
        switch self {
        case .line(let line): line.timestamp
        case .letter, .value: nil
        }
    }

    /// The approximate size when written, as far as it is known without writing.
    var capacity: Int {
        switch self {
        case .line(let line): line.username.utf8.count + line.text.utf8.count
        case .value(.string(let text)): text.utf8.count
        case .letter, .value: 0
        }
    }

    /// The size of the content without its envelope: for a line or a letter, of its text.
    var bytes: Int {
        switch self {
        case .line, .letter: return text.utf8.count
        case .value(let value):
            var writer = MessagePackWriter(capacity: 64)
            writer.write(value)
            return writer.bytes.count
        }
    }
}

/// A line of chat, as RelayX's terminal chat sends it: `{username, text, timestamp}`.
public struct ChatLine: Hashable, Sendable {
    /// The sender's name. Anyone can write any name here.
    public var username: String
    /// The text.
    public var text: String
    /// The date as it was sent: parsing it is the costliest part, and is seldom needed.
    private var date: MessageValue?

    /// When it was written, by the sender's clock; nil if it has no valid date.
    public var timestamp: Timestamp? {
        get {
            switch date {
            case .string(let moment): Timestamp(iso8601: moment)
            case .int(let number): Timestamp(secondsOrMilliseconds: number)
            case .double(let number): Timestamp(secondsOrMilliseconds: number)
            default: nil
            }
        }
        set { date = newValue.map { .string(Self.text(of: $0)) } }
    }

    /// Creates a line; its time is written as ISO 8601 with milliseconds.
    public init(username: String, text: String, timestamp: Timestamp?) {
        (self.username, self.text) = (username, text)
        self.timestamp = timestamp
    }

    /// Decodes a line: a map with text under `username` and `text`. Nil for any other message.
    public init?(_ value: MessageValue) {
        guard case .map(let map) = value, let username = map["username"]?.stringValue,
            let text = map["text"]?.stringValue
        else { return nil }
        (self.username, self.text, date) = (username, text, map["timestamp"])
    }

    /// The message to publish.
    public var value: MessageValue {
        var map: MessageMap = ["username": .string(username), "text": .string(text)]
        map["timestamp"] = date
        return .map(map)
    }

    /// Writes ``value``.
    fileprivate func write(into writer: inout MessagePackWriter) {
        writer.writeMapHeader(count: date == nil ? 2 : 3)
        writer.write("username")
        writer.write(username)
        writer.write("text")
        writer.write(text)
        guard let date else { return }
        writer.write("timestamp")
        writer.write(date)
    }

    /// The newest moment written: of many lines a second, most share it.
    private static let newest = NIOLockedValueBox<(moment: Timestamp, text: String)?>(nil)

    private static func text(of moment: Timestamp) -> String {
        newest.withLockedValue { newest in
            if let newest, newest.moment == moment { return newest.text }
            let text = moment.iso8601
            newest = (moment, text)
            return text
        }
    }
}
