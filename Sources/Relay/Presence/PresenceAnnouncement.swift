import NATS

/// What this client lets others see of its user, and what of it is to be written, as a value.
struct PresenceAnnouncement: Sendable {
    struct Write: Hashable, Sendable {
        var topic: String
        /// What it says; nil withdraws it.
        var presence: Presence?
        /// Whether it says that the person types there.
        var isTyping = false
    }

    private struct Typing: Sendable {
        let topic: String
        /// When that was last to be told.
        var marked: ContinuousClock.Instant
    }

    /// What the network has of a topic.
    private struct Entry: Hashable, Sendable {
        var presence: Presence
        /// When the person's typing was told with it; nil where it was not.
        var marked: ContinuousClock.Instant?
    }

    /// Who calls every ``PresencePolicy/typingInterval`` may be so much too early, by another clock or on a busy
    /// machine; the call counts when the time has come. An earlier one tells nothing new.
    static let typingEarliness = Duration.seconds(1)

    /// Which of the user's devices this is: two clients of one user each have their own entries.
    let device: String
    /// What others see.
    var presence = Presence.here
    /// Where others see it, the most important topic first.
    var topics: [String] = []
    /// What the network has by now, of this user.
    private var written: [String: Entry] = [:]
    private var user: String?
    private var typing: Typing?

    init(device: String) { self.device = device }

    /// What is to be written now.
    ///
    /// - Parameters:
    ///   - user: as whom.
    ///   - granted: the topics that the network grants this user; nil where it does not say.
    ///   - limit: in how many topics at most.
    ///   - renews: whether entries are written again that the network has already.
    ///   - now: the time.
    mutating func writes(
        as user: String, granted: [String]?, limit: Int, renews: Bool, at now: ContinuousClock.Instant
    ) -> [Write] {
        // Another user's entries are out of reach; they end by themselves.
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
            // One that tells of typing was written a moment ago. Renewed, it would tell that the typing went on.
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

    /// The person has typed in a topic; nil where the person types no more.
    ///
    /// - Returns: when that is to be told: now, or a little later by ``goOnTyping(at:)``; nil where others know it.
    mutating func setTyping(
        in topic: String?, at now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant? {
        guard let topic else {
            defer { typing = nil }
            return typing == nil ? nil : now
        }
        if let typing, typing.topic == topic {
            let due = typing.marked + PresencePolicy.typingInterval
            guard now >= due else { return due - Self.typingEarliness <= now ? due : nil }
        }
        typing = Typing(topic: topic, marked: now)
        return now
    }

    /// Tells of the typing once more, unless that has ended.
    mutating func goOnTyping(at now: ContinuousClock.Instant) {
        guard let typing, now >= typing.marked + PresencePolicy.typingInterval else { return }
        self.typing?.marked = now
    }

    /// Forgets where the person types. The next key tells it.
    mutating func forgetTyping() { typing = nil }

    /// What is to be written when the user is seen no more.
    mutating func withdrawal() -> [Write] {
        defer { written = [:] }
        return written.keys.sorted().map { Write(topic: $0) }
    }

    /// Whether a topic lies within what the network grants.
    static func isGranted(_ topic: String, _ granted: [String]?) -> Bool {
        granted?.contains { SubjectPattern.covers($0, topic) } ?? true
    }
}
