/// What waits to be sent and what is under way, as a pure value.
///
/// Messages leave in the order in which they came, topic by topic, and only while the outbox is open: from the moment
/// the subscriptions are live until the connection is lost. What was under way when it is lost goes back to its place
/// and is sent again under the same identifier. Every accepted message ends in exactly one ``PublishOutcome``.
public struct Outbox: Sendable {
    /// What became of a message that was put in.
    public enum Admission: Hashable, Sendable {
        /// It waits.
        case accepted
        /// It waits, and these older ones gave way for it.
        case acceptedDropping([PublishResolution])
        /// It was refused; the outbox never knew it.
        case rejected(RelayError)
    }

    /// What to send now.
    public struct Batch: Hashable, Sendable {
        /// The messages, in order.
        public var messages: [OutboxMessage]
        /// When to ask again, where the pacing holds messages back.
        public var resumeAt: ContinuousClock.Instant?
    }

    /// The outbox's bounds and rules.
    public let policy: OutboxPolicy
    /// Whether messages may leave.
    public private(set) var isOpen = false
    /// How many messages wait or are under way.
    public var count: Int { placed.count }
    /// How many bytes of payload wait or are under way.
    public private(set) var byteCount = 0
    /// How many messages are sent and not yet acknowledged.
    public private(set) var inFlightCount = 0
    /// How many messages wait.
    public var queuedCount: Int { count - inFlightCount }
    /// Whether nothing waits and nothing is under way.
    public var isEmpty: Bool { placed.isEmpty }

    /// Where each message is: its lane and its number.
    private var placed: [String: Place] = [:]
    private var lanes: [String: OutboxLane] = [:]
    private var nextNumber: UInt64 = 0
    /// Messages below this number were waiting when the outbox was opened.
    private var flushEnd: UInt64 = 0
    private var unflushed = 0
    private var pace: OutboxPace?

    private struct Place: Sendable {
        let topic: String
        let number: UInt64
    }

    /// An empty, closed outbox.
    public init(policy: OutboxPolicy = .parley) {
        self.policy = policy
        pace = policy.pacing.map(OutboxPace.init)
    }

    // MARK: Waiting

    /// Puts a message at the end of the queue. Works at any time, connected or not.
    public mutating func enqueue(_ message: OutboxMessage) -> Admission {
        let size = message.payload.count
        guard placed[message.id] == nil else {
            return .rejected(.invalidArgument("A message with the identifier \(message.id) is already on its way"))
        }
        guard size <= policy.maximumBytes else {
            return .rejected(.tooLarge(bytes: size, limit: policy.maximumBytes))
        }
        var dropped: [PublishResolution] = []
        if !hasRoom(for: size) {
            guard policy.overflow == .dropOldest, canFree(for: size) else { return .rejected(.outboxFull) }
            while !hasRoom(for: size), let oldest = dropOldest() { dropped.append(oldest) }
        }
        let number = nextNumber
        nextNumber += 1
        placed[message.id] = Place(topic: message.topic, number: number)
        byteCount += size
        lanes[message.topic, default: OutboxLane()].append(OutboxEntry(number: number, message: message))
        return dropped.isEmpty ? .accepted : .acceptedDropping(dropped)
    }

    /// Takes back a message that has not left yet.
    ///
    /// - Returns: its end, or nil when it is unknown or already under way.
    public mutating func cancel(id: String) -> PublishResolution? {
        guard let place = placed[id], lanes[place.topic]?.isQueued(place.number) == true else { return nil }
        return resolve(id, .failed(.cancelled))
    }

    /// Whether a message waits or is under way; nil for one that is unknown or has ended.
    public func state(of id: String) -> PublishState? {
        guard let place = placed[id], let lane = lanes[place.topic] else { return nil }
        return lane.isQueued(place.number) ? .queued : .sending
    }

    /// The topic of a message that has not ended.
    public func topic(of id: String) -> String? { placed[id]?.topic }

    /// Everything that has not ended, oldest first.
    public var messages: [OutboxMessage] {
        lanes.values.flatMap(\.entries).sorted { $0.number < $1.number }.map(\.message)
    }

    // MARK: Leaving

    /// Lets messages leave, now that the subscriptions are live.
    public mutating func open() {
        isOpen = true
        flushEnd = nextNumber
        unflushed = count
    }

    /// Whether everything that was there when the outbox was opened has ended.
    public var isFlushed: Bool { isOpen && unflushed == 0 }

    /// The messages to send now. Nothing leaves a closed outbox.
    ///
    /// - Parameters:
    ///   - limit: the most to return.
    ///   - held: topics that are left out until their moment has come.
    ///   - now: the present moment, for the pacing.
    public mutating func nextToSend(
        limit: Int = .max, except held: [String: ContinuousClock.Instant] = [:], at now: ContinuousClock.Instant
    ) -> Batch {
        var batch = Batch(messages: [])
        guard isOpen else { return batch }
        while batch.messages.count < limit, inFlightCount < policy.maximumInFlight,
            let topic = readyTopic(except: held, at: now)
        {
            if let moment = pace?.next(at: now), moment > now {
                batch.resumeAt = moment
                break
            }
            guard let entry = lanes[topic]?.send() else { break }
            pace?.depart(at: now)
            inFlightCount += 1
            batch.messages.append(entry.message)
        }
        return batch
    }

    /// The server stored a message.
    ///
    /// - Returns: its end, or nil when it has ended before.
    public mutating func acknowledged(id: String, sequence: UInt64, duplicate: Bool = false) -> PublishResolution? {
        resolve(id, .acknowledged(sequence: sequence, duplicate: duplicate))
    }

    /// The server refused a message, or did not answer in time.
    ///
    /// A retryable failure puts the message back; its topic then waits for what is still under way, and goes on with
    /// this message alone until it has succeeded.
    ///
    /// - Returns: its end, or nil when it will be tried again or has ended before.
    public mutating func failed(id: String, _ error: RelayError, retryable: Bool) -> PublishResolution? {
        guard let place = placed[id], let attempts = lanes[place.topic]?.attempts(of: place.number) else { return nil }
        guard retryable, attempts < policy.maximumAttempts else { return resolve(id, .failed(error)) }
        lanes[place.topic]?.putBack(place.number)
        inFlightCount -= 1
        return nil
    }

    /// The connection is gone: what was under way goes back to its place, and nothing leaves until ``open()``.
    public mutating func connectionLost() {
        isOpen = false
        inFlightCount = 0
        for topic in Array(lanes.keys) { lanes[topic]?.putAllBack() }
    }

    /// The session ended: closes the outbox and empties it where the policy says so.
    ///
    /// - Returns: what was discarded, oldest first.
    public mutating func sessionEnded(_ reason: ConnectionReason) -> [PublishResolution] {
        let discards = reason == .closedByUser ? policy.discardsOnClose : policy.discardsOnWindowExpiry
        guard discards else {
            connectionLost()
            return []
        }
        return discardAll(reason)
    }

    /// Empties the outbox, whatever the policy says, and closes it.
    ///
    /// - Returns: what was discarded, oldest first.
    public mutating func discardAll(_ reason: ConnectionReason) -> [PublishResolution] {
        connectionLost()
        let discarded = messages.map { PublishResolution(id: $0.id, outcome: .discarded(reason)) }
        placed = [:]
        lanes = [:]
        byteCount = 0
        unflushed = 0
        return discarded
    }

    // MARK: Steps

    private func hasRoom(for size: Int) -> Bool {
        count < policy.maximumMessages && byteCount + size <= policy.maximumBytes
    }

    /// Whether dropping everything that waits would make room.
    private func canFree(for size: Int) -> Bool {
        let flying = lanes.values.reduce(0) { $0 + $1.inFlightBytes }
        return inFlightCount < policy.maximumMessages && flying + size <= policy.maximumBytes
    }

    private mutating func dropOldest() -> PublishResolution? {
        let oldest = lanes.values.compactMap(\.head).min { $0.number < $1.number }
        return oldest.flatMap { resolve($0.message.id, .failed(.outboxFull)) }
    }

    /// The topic whose next message has waited longest, among those that may send.
    private func readyTopic(except held: [String: ContinuousClock.Instant], at now: ContinuousClock.Instant) -> String?
    {
        var best: (topic: String, number: UInt64)?
        for (topic, lane) in lanes {
            guard let number = lane.readyNumber(limit: policy.maximumInFlightPerTopic) else { continue }
            if !held.isEmpty, let moment = held[topic], moment > now { continue }
            if best.map({ number < $0.number }) ?? true { best = (topic, number) }
        }
        return best?.topic
    }

    private mutating func resolve(_ id: String, _ outcome: PublishOutcome) -> PublishResolution? {
        guard let place = placed.removeValue(forKey: id), let removed = lanes[place.topic]?.remove(place.number) else {
            return nil
        }
        if removed.wasInFlight { inFlightCount -= 1 }
        byteCount -= removed.entry.message.payload.count
        if isOpen, place.number < flushEnd { unflushed -= 1 }
        if lanes[place.topic]?.isEmpty == true { lanes[place.topic] = nil }
        return PublishResolution(id: id, outcome: outcome)
    }
}
