import NATS

/// What this client shows of its user, and which entries must be written, as a value.
struct PresenceAnnouncement: Sendable {
    struct Write: Hashable, Sendable {
        var topic: String
        /// Nil withdraws the entry.
        var presence: Presence?
        /// Whether it reports the person as typing.
        var isTyping = false
    }

    private struct Typing: Sendable {
        let topic: String
        /// When that was last to be reported.
        var marked: ContinuousClock.Instant
    }

    /// The network's entry for a topic.
    private struct Entry: Hashable, Sendable {
        var presence: Presence
        /// When it reported the person as typing; nil if it did not.
        var marked: ContinuousClock.Instant?
    }

    /// A call every ``PresencePolicy/typingInterval`` may be this much too early, by another clock or on a busy
    /// machine; it then counts once the time has come. An earlier call reports nothing new.
    static let typingEarliness = Duration.seconds(1)

    /// The user's device: two clients of one user each have their own entries.
    let device: String
    var presence = Presence.here
    /// Where others see it, the most important topic first.
    var topics: [String] = []
    /// The network's present entries of this user.
    private var written: [String: Entry] = [:]
    private var user: String?
    private var typing: Typing?

    init(device: String) { self.device = device }

    /// The entries to write now.
    ///
    /// - Parameters:
    ///   - user: The user to write as.
    ///   - granted: The topics that the network grants this user; nil if it does not say.
    ///   - limit: The most topics.
    ///   - renews: Whether to rewrite entries that the network has already.
    ///   - now: The present moment.
    mutating func writes(
        as user: String, granted: [String]?, limit: Int, renews: Bool, at now: ContinuousClock.Instant
    ) -> [Write] {
        // Another user's entries are out of reach and will expire.
        if self.user != user { written = [:] }
        self.user = user
        var wanted: [String] = []
        for topic in topics where wanted.count < limit && Self.isGranted(topic, granted) && !wanted.contains(topic) {
            wanted.append(topic)
        }
        var writes: [Write] = []
        for topic in written.keys.sorted() where !wanted.contains(topic) { writes.append(Write(topic: topic)) }
        var entries: [String: Entry] = [:]
        for topic in wanted {
            let entry = Entry(presence: presence, marked: marked(in: topic, at: now))
            entries[topic] = entry
            // An entry that reports typing is recent. Renewing it would report that the typing continues.
            guard written[topic] != entry || renews && entry.marked == nil else { continue }
            writes.append(Write(topic: topic, presence: presence, isTyping: entry.marked != nil))
        }
        written = entries
        return writes
    }

    private func marked(in topic: String, at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard let typing, typing.topic == topic, now < typing.marked + PresencePolicy.typingLifetime else { return nil }
        return typing.marked
    }

    /// The person is typing in a topic, or, for nil, no longer.
    ///
    /// - Returns: When to report that: now, or a little later by ``goOnTyping(at:)``; nil if others know it.
    mutating func setTyping(in topic: String?, at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard let topic else { return exchange(&typing, with: nil).map { _ in now } }
        if let typing, typing.topic == topic {
            let due = typing.marked + PresencePolicy.typingInterval
            guard now >= due else { return due - Self.typingEarliness <= now ? due : nil }
        }
        typing = Typing(topic: topic, marked: now)
        return now
    }

    /// Reports typing again unless it has ended.
    mutating func goOnTyping(at now: ContinuousClock.Instant) {
        guard let typing, now >= typing.marked + PresencePolicy.typingInterval else { return }
        self.typing?.marked = now
    }

    /// Forgets where the person types, until the next key.
    mutating func forgetTyping() { typing = nil }

    /// The entries to write when the user disappears.
    mutating func withdrawal() -> [Write] { exchange(&written, with: [:]).keys.sorted().map { Write(topic: $0) } }

    /// Whether the network grants a topic.
    static func isGranted(_ topic: String, _ granted: [String]?) -> Bool {
        granted?.contains { SubjectPattern.covers($0, topic) } ?? true
    }
}
