import NATS

/// What this client lets others see of its user, and what of it is to be written, as a value.
struct PresenceAnnouncement: Sendable {
    /// One entry to be written.
    struct Write: Hashable, Sendable {
        var topic: String
        /// What it says; nil withdraws it.
        var presence: Presence?
    }

    /// Which of the user's devices this is: two clients of one user each have their own entries.
    let device: String
    /// What others see.
    var presence = Presence.here
    /// Where others see it, the most important topic first.
    var topics: [String] = []
    /// What the network has by now, of this user.
    private var written: [String: Presence] = [:]
    private var user: String?

    init(device: String) { self.device = device }

    /// What is to be written now.
    ///
    /// - Parameters:
    ///   - user: as whom.
    ///   - granted: the topics that the network grants this user; nil where it does not say.
    ///   - limit: in how many topics at most.
    ///   - renews: whether entries are written again that the network has already.
    mutating func writes(
        as user: String, granted: [String]?, limit: Int, renews: Bool
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
        for topic in wanted where renews || written[topic] != presence {
            writes.append(Write(topic: topic, presence: presence))
        }
        written = [:]
        for topic in wanted { written[topic] = presence }
        return writes
    }

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
