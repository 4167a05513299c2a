import Relay

/// A time away: when the person left and returned, and what came meanwhile.
///
/// Messages missed while the connection was suspended arrive after the return. They are awaited until each topic is
/// live again, for `patience` at most.
struct Absence: Equatable, Sendable {
    struct First: Hashable, Sendable {
        let conversation: String
        let position: RowPosition
        let time: Timestamp
    }

    /// Why there was no connection.
    enum Rest: Hashable, Sendable {
        case stopped
        /// The terminal was out of focus for long.
        case suspended
    }

    /// Shorter absences are mentioned only if the connection was down meanwhile.
    static let shortest = Duration.seconds(60)
    /// The longest wait for missed messages, once connected.
    static let patience = Duration.seconds(5)
    /// The shortest wait, as letters arrive apart from the topics.
    static let pause = Duration.seconds(1)
    /// How far the network's clock may be ahead, in milliseconds.
    private static let clockSlack: Int64 = 1_000

    private let left: ContinuousClock.Instant
    private var returned: Moment?
    private(set) var rest: Rest?
    private var messages: [String: Int] = [:]
    private(set) var letters = 0
    private(set) var first: First?
    /// The topics followed until the return.
    private var followed: Set<String> = []
    /// Those of them in which messages may still arrive.
    private var awaited: Set<String> = []
    private var connectedAt: ContinuousClock.Instant?
    var isTold = false
    /// Whether the person has typed since the return.
    private var isOver = false

    init(leftAt left: ContinuousClock.Instant) { self.left = left }

    // MARK: What happens

    mutating func rests(_ rest: Rest) {
        // The first cause counts: a process that is stopped loses its connection as well.
        if returned == nil, self.rest == nil { self.rest = rest }
    }

    /// Notes the person's return.
    mutating func end(at now: Moment, isConnected: Bool, topics: some Sequence<String>) {
        returned = now
        followed = Set(topics)
        guard rest != nil else { return }
        awaited = followed
        connectedAt = isConnected ? now.instant : nil
    }

    /// Continues this absence if the person leaves again; false if they stayed long enough to end it.
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

    /// What was missed comes with the next connection.
    mutating func disconnected() { connectedAt = nil }

    /// Notes that everything missed in a topic has arrived.
    mutating func caughtUp(_ topic: String) { if returned != nil { awaited.remove(topic) } }

    /// Counts messages. After the return, those of a topic that rested do not count: they may be from before the person
    /// left.
    mutating func take(_ lines: [StoredLine], in conversation: String) {
        guard returned == nil || followed.contains(conversation) else { return }
        for line in lines where !line.isOwn && isMissed(line.time) {
            messages[conversation, default: 0] += 1
            if let first, first.time <= line.time { continue }
            first = First(conversation: conversation, position: .message(line.sequence), time: line.time)
        }
    }

    mutating func take(_ letter: PostboxMessage) { if isMissed(letter.createdAt) { letters += 1 } }

    /// Whether more may be counted: missed messages may arrive even after the person was told, and the figures then
    /// grow.
    var isCounting: Bool { !isTold || rest != nil }

    private func isMissed(_ time: Timestamp) -> Bool {
        guard let returned else { return true }
        return rest != nil && time.milliseconds <= returned.wall.milliseconds &+ Self.clockSlack
    }

    // MARK: What is said

    /// When the person can be told: once everything has arrived, or the wait is over. Nil while that is unknown.
    var due: ContinuousClock.Instant? {
        guard let returned, !isTold else { return nil }
        guard rest != nil else { return returned.instant }
        if awaited.isEmpty { return connectedAt?.advanced(by: Self.pause) }
        // What is not worth telling now may become so as more arrives.
        return isWorthTelling ? connectedAt?.advanced(by: Self.patience) : nil
    }

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
