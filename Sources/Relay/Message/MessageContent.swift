import NIOConcurrencyHelpers

/// What a message says, whichever way it takes.
///
/// This file alone knows the kinds of messages: how each is read and written, signed, and what is shown of it. A new
/// kind is a case here, which the compiler leads through all of that; ``init(_:)`` recognizes it.
public enum MessageContent: Hashable, Sendable {
    /// A line of chat.
    case line(ChatLine)
    /// A letter to a postbox.
    case letter(PostboxLetter)
    /// Any other value.
    case value(MessageValue)

    /// Reads the value that an envelope carries.
    public init(_ value: MessageValue) {
        self = if let line = ChatLine(value) { .line(line) } else { .value(value) }
    }

    /// Reads the payload of a message that goes to a destination; nil where it cannot be read.
    init?(payload: [UInt8], to destination: Destination) {
        switch destination {
        case .topic: self.init(envelope: payload)
        case .postbox:
            guard let letter = PostboxLetter(reading: payload) else { return nil }
            self = .letter(letter)
        case .key: self = .value(.string(String(decoding: payload, as: UTF8.self)))
        }
    }

    /// The value that an envelope carries.
    public var value: MessageValue {
        switch self {
        case .line(let line): line.value
        case .letter(let letter): .string(letter.message)
        case .value(let value): value
        }
    }

    /// As ``value``, without making it of a line, of which many are sent.
    func write(into writer: inout MessagePackWriter) {
        switch self {
        case .line(let line): line.write(into: &writer)
        case .letter, .value: writer.write(value)
        }
    }

    /// What to show: the text of a line or letter, a bare string as it is, anything else as JSON. Remote text, to be
    /// made safe before it is shown.
    public var text: String {
        switch self {
        case .line(let line): line.text
        case .letter(let letter): letter.message
        case .value(.string(let text)): text
        case .value(let value): JSONText.text(value)
        }
    }

    /// Who the message itself says it is from; nil where that is known only by what is around it. Unauthenticated.
    public var sender: String? {
        switch self {
        case .line(let line): line.username
        case .letter, .value: nil
        }
    }

    /// Whether it names its writer and does not know who that is yet.
    var isUnsigned: Bool {
        switch self {
        case .line(let line): line.username.isEmpty
        case .letter, .value: false
        }
    }

    /// Puts its writer's name into it.
    mutating func sign(as user: String) {
        switch self {
        case .line(var line):
            line.username = user
            self = .line(line)
        case .letter, .value: break
        }
    }

    /// When it was written, as it says itself.
    var time: Timestamp? {
        switch self {
        case .line(let line): line.timestamp
        case .letter, .value: nil
        }
    }

    /// About how many bytes it is written with, where that is known without writing it.
    var capacity: Int {
        switch self {
        case .line(let line): line.username.utf8.count + line.text.utf8.count
        case .value(.string(let text)): text.utf8.count
        case .letter, .value: 0
        }
    }

    /// How many bytes were written, without what is put around them for the way: of a line or a letter, its text.
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
    /// Who the line says it is from. Anybody can write any name here.
    public var username: String
    /// What was said.
    public var text: String
    /// The date as it is sent. To read it costs most of all, and of most lines nobody asks for it.
    private var date: MessageValue?

    /// When, by the sender's clock; nil when the sender left it out or wrote no date.
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

    /// Makes a line; its time is written as ISO 8601 with milliseconds.
    public init(username: String, text: String, timestamp: Timestamp?) {
        (self.username, self.text) = (username, text)
        self.timestamp = timestamp
    }

    /// Reads a line: a map with text under `username` and `text`. Nil for any other message.
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

    /// The newest moment that was written: of many lines a second, most share theirs with the one before.
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
