import Relay

/// The time from the person's leaving to their return, and what came in it: a pure value that says so in a sentence.
///
/// What came while the connection was suspended arrives after the return. It is waited for, until each topic is live
/// again, though not for long.
struct Absence: Equatable, Sendable {
    struct First: Hashable, Sendable {
        let conversation: String
        let position: RowPosition
        let time: Timestamp
    }

    /// Why the connection was not there.
    enum Rest: Hashable, Sendable {
        case stopped
        /// The terminal was out of focus for long.
        case suspended
    }

    /// Shorter ones are not spoken of, unless the terminal was out of focus for so long that the connection rested.
    static let shortest = Duration.seconds(60)
    /// So long what was missed is waited for at most, once there is a connection.
    static let patience = Duration.seconds(5)
    /// So long at least, as letters come beside the topics.
    static let pause = Duration.seconds(1)
    /// So far, in milliseconds, may the network's clock be ahead.
    private static let clockSlack: Int64 = 1_000

    private let left: ContinuousClock.Instant
    private var returned: Moment?
    /// Why the connection was not there in this time; nil where it was.
    private(set) var rest: Rest?
    private var messages: [String: Int] = [:]
    private(set) var letters = 0
    private(set) var first: First?
    /// The topics that were followed until the return.
    private var followed: Set<String> = []
    /// Those among them of which something may still come.
    private var awaited: Set<String> = []
    private var connectedAt: ContinuousClock.Instant?
    var isTold = false
    /// Whether the person has typed since the return.
    private var isOver = false

    init(leftAt left: ContinuousClock.Instant) { self.left = left }

    // MARK: What happens

    mutating func rests(_ rest: Rest) {
        // What has led to it comes first: a process that stops lets its connection go as well.
        if returned == nil, self.rest == nil { self.rest = rest }
    }

    /// The person is back, who follows these topics.
    mutating func end(at now: Moment, isConnected: Bool, topics: some Sequence<String>) {
        returned = now
        followed = Set(topics)
        guard rest != nil else { return }
        awaited = followed
        connectedAt = isConnected ? now.instant : nil
    }

    /// The person leaves once more; false where they were here for more than a moment, so that this absence is over.
    mutating func goOn(at now: ContinuousClock.Instant) -> Bool {
        guard let returned, !isOver, returned.instant.duration(to: now) < Self.shortest else { return false }
        self.returned = nil
        connectedAt = nil
        isTold = false
        return true
    }

    mutating func personTypes() { if returned != nil { isOver = true } }

    mutating func connected(at now: ContinuousClock.Instant) {
        if returned != nil { connectedAt = now }
    }

    /// There is none any more: what was missed comes with the next one.
    mutating func disconnected() { connectedAt = nil }

    /// All that was missed of a topic is here.
    mutating func caughtUp(_ topic: String) { if returned != nil { awaited.remove(topic) } }

    /// Messages came. Of a topic that rested nobody knows which of them were said before the person left.
    mutating func take(_ lines: [StoredLine], in conversation: String) {
        guard returned == nil || followed.contains(conversation) else { return }
        for line in lines where !line.isOwn && isMissed(line.time) {
            messages[conversation, default: 0] += 1
            if let first, first.time <= line.time { continue }
            first = First(conversation: conversation, position: .message(line.sequence), time: line.time)
        }
    }

    mutating func take(_ letter: PostboxMessage) { if isMissed(letter.createdAt) { letters += 1 } }

    /// Whether anything may still be counted: of what was missed some may come after the person was told, who sees the
    /// figures grow then.
    var isCounting: Bool { !isTold || rest != nil }

    private func isMissed(_ time: Timestamp) -> Bool {
        guard let returned else { return true }
        return rest != nil && time.milliseconds <= returned.wall.milliseconds &+ Self.clockSlack
    }

    // MARK: What is said

    /// When the person can be told, as far as that is known: when all is here, or nothing is waited for any longer.
    var due: ContinuousClock.Instant? {
        guard let returned, !isTold else { return nil }
        guard rest != nil else { return returned.instant }
        if awaited.isEmpty { return connectedAt?.advanced(by: Self.pause) }
        // What would be no word now may become one, as far as more is to come.
        return isWorthTelling ? connectedAt?.advanced(by: Self.patience) : nil
    }

    /// Whether there is anything to say: something came while the program was stopped, or in more than a moment
    /// elsewhere, or the connection was not there for long.
    var isWorthTelling: Bool {
        switch rest {
        case .suspended: true
        case .stopped: hasNews || length >= Self.shortest
        case nil: hasNews && length >= Self.shortest
        }
    }

    var hasNews: Bool { !messages.isEmpty || letters > 0 }

    private var length: Duration { returned.map { left.duration(to: $0.instant) } ?? .zero }

    /// `away 14 min: 12 new in 3 topics, 2 letters`, or `away 14 min: nothing new`.
    var sentence: String {
        var parts: [String] = []
        if !messages.isEmpty {
            let count = messages.values.reduce(0, +)
            parts.append("\(Wording.grouped(count)) new in \(Wording.count(messages.count, "topic"))")
        }
        if letters > 0 { parts.append(Wording.count(letters, "letter")) }
        let news = parts.isEmpty ? "nothing new" : parts.joined(separator: ", ")
        return "away \(Wording.elapsed(length)): \(news)"
    }
}
