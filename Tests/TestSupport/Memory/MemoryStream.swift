import NATS

/// A stream: what it stores, and who reads it.
struct MemoryStream: Sendable {
    /// What became of a message.
    enum Outcome: Sendable {
        case stored(UInt64)
        case duplicate(of: UInt64)
        case refused(JetStreamFailure)
    }

    /// Something to be sent to those who subscribe to `route`.
    struct Delivery: Sendable {
        var route: String
        var frame: MemoryFrame
    }

    private struct Identifier: Sendable {
        var text: String
        var sequence: UInt64
        var time: Int64
    }

    let name: String
    let created: Int64
    private(set) var settings: StreamSettings
    private(set) var store = MessageStore()
    private(set) var consumers: [String: MemoryConsumer] = [:]
    private var identifiers: [String: UInt64] = [:]
    /// The same, oldest first.
    private var identifierQueue: [Identifier] = []
    private var lastTime: Int64 = 0

    init(_ settings: StreamSettings, name: String, at now: Int64) {
        self.name = name
        self.settings = settings
        created = now
    }

    // MARK: Storing

    /// Stores a message where it is new and meets its own expectations.
    mutating func take(_ frame: MemoryFrame, at now: Int64) -> Outcome {
        forgetIdentifiers(at: now)
        let headers = frame.headers
        let identifier = headers["Nats-Msg-Id"]
        if headers["Nats-Expected-Stream"].map({ $0 != name }) == true {
            return .refused(JetStreamRefusal(400, 10_060, "expected stream does not match").failure)
        }
        if let known = identifier.flatMap({ identifiers[$0] }) { return .duplicate(of: known) }
        if let refusal = objection(to: frame, headers) { return .refused(refusal.failure) }
        rollUp(frame, headers)
        let message = store.append(
            MemoryFrame(subject: frame.subject, block: frame.block, payload: frame.payload), at: now)
        lastTime = now
        if let identifier {
            identifiers[identifier] = message.sequence
            identifierQueue.append(Identifier(text: identifier, sequence: message.sequence, time: now))
        }
        for consumer in consumers.keys { consumers[consumer]?.stored(message) }
        enforceLimits(subject: frame.subject)
        return .stored(message.sequence)
    }

    /// Why a message is not stored; nil where it is.
    private func objection(to frame: MemoryFrame, _ headers: NATSHeaders) -> JetStreamRefusal? {
        if let limit = settings.maximumMessageSize, frame.size > limit {
            return JetStreamRefusal(400, 10_054, "message size exceeds maximum allowed")
        }
        func expects(_ header: String, _ present: UInt64) -> Bool {
            headers[header].map { UInt64($0) == present } ?? true
        }
        let newest = store.newest(of: frame.subject)?.sequence ?? 0
        if !expects("Nats-Expected-Last-Subject-Sequence", newest) { return Self.wrongSequence(newest) }
        if !expects("Nats-Expected-Last-Sequence", store.last) { return Self.wrongSequence(store.last) }
        if let expected = headers["Nats-Expected-Last-Msg-Id"], expected != identifierQueue.last?.text ?? "" {
            return JetStreamRefusal(400, 10_070, "wrong last msg ID: \(identifierQueue.last?.text ?? "")")
        }
        if headers["Nats-Rollup"] != nil, !settings.allowsRollup {
            return JetStreamRefusal(500, JetStreamFailure.rollupRefused, "rollup not permitted")
        }
        if settings.refusesNew {
            if let limit = settings.maximumMessages, store.count >= limit {
                return JetStreamRefusal(503, 10_077, "maximum messages exceeded")
            }
            if let limit = settings.maximumBytes, store.bytes + frame.size > limit {
                return JetStreamRefusal(503, 10_077, "maximum bytes exceeded")
            }
        }
        return nil
    }

    private static func wrongSequence(_ present: UInt64) -> JetStreamRefusal {
        JetStreamRefusal(400, JetStreamFailure.wrongLastSequence, "wrong last sequence: \(present)")
    }

    private mutating func rollUp(_ frame: MemoryFrame, _ headers: NATSHeaders) {
        switch headers["Nats-Rollup"] {
        case "sub": purge(matching: SubjectPattern(frame.subject))
        case "all": purge()
        default: break
        }
    }

    private mutating func enforceLimits(subject: String) {
        if let limit = settings.maximumMessagesPerSubject {
            while store.count(of: subject) > limit, let oldest = store.oldest(of: subject) { remove(oldest.sequence) }
        }
        while isOverLimit, let oldest = store.oldest { remove(oldest.sequence) }
    }

    private var isOverLimit: Bool {
        settings.maximumMessages.map { store.count > $0 } ?? false
            || settings.maximumBytes.map { store.bytes > $0 && store.count > 1 } ?? false
    }

    private mutating func forgetIdentifiers(at now: Int64) {
        let surviving = identifierQueue.firstIndex { now - $0.time < settings.duplicateWindow }
        let count = surviving ?? identifierQueue.count
        guard count > 0 else { return }
        for identifier in identifierQueue[..<count] where identifiers[identifier.text] == identifier.sequence {
            identifiers[identifier.text] = nil
        }
        identifierQueue.removeFirst(count)
    }

    // MARK: Removing

    /// Removes one message; false when there is none.
    @discardableResult
    mutating func remove(_ sequence: UInt64) -> Bool {
        guard let message = store.remove(sequence) else { return false }
        for consumer in consumers.keys { consumers[consumer]?.removed(message) }
        return true
    }

    /// Removes messages that match, and returns how many.
    ///
    /// - Parameters:
    ///   - end: only those before this sequence.
    ///   - kept: all but so many of the newest.
    @discardableResult
    mutating func purge(matching filter: SubjectPattern? = nil, before end: UInt64? = nil, keeping kept: Int = 0) -> Int
    {
        var found = store.sequences(matching: filter)
        if let end { found.removeAll { $0 >= end } }
        found.removeLast(min(max(0, kept), found.count))
        for sequence in found { remove(sequence) }
        return found.count
    }

    /// Loses the newest messages: their sequences are given out again, and their identifiers are forgotten.
    mutating func loseNewest(_ count: Int) {
        for message in store.all.suffix(max(0, count)) {
            for consumer in consumers.keys { consumers[consumer]?.removed(message) }
        }
        store.removeNewest(count)
        for consumer in consumers.keys { consumers[consumer]?.rewind(to: store.last) }
        for identifier in identifierQueue where identifier.sequence > store.last { identifiers[identifier.text] = nil }
        identifierQueue.removeAll { $0.sequence > store.last }
    }

    mutating func update(_ settings: StreamSettings) {
        self.settings = settings
        for subject in store.counts(matching: SubjectPattern(">")).keys { enforceLimits(subject: subject) }
    }

    // MARK: Readers

    /// Makes a consumer, or finds the one that is there with the same configuration.
    mutating func addConsumer(_ name: String, _ configuration: [String: JSON], at now: Int64) throws(JetStreamRefusal) {
        let made = try MemoryConsumer(name: name, configuration, of: store, at: now)
        guard let present = consumers[name] else {
            consumers[name] = made
            return
        }
        guard present.configuration == made.configuration else {
            throw JetStreamRefusal(500, 10_012, "deliver policy can not be updated")
        }
    }

    /// Removes a consumer and tells those who wait for its messages; nil when there is none.
    mutating func removeConsumer(_ name: String) -> [Delivery]? {
        consumers.removeValue(forKey: name).map { consumer in consumer.farewell }
    }

    /// The answer to waiting requests when the stream goes.
    var farewell: [Delivery] { consumers.values.flatMap(\.farewell) }

    mutating func addPull(_ pull: MemoryConsumer.Pull, to consumer: String, at now: Int64) {
        consumers[consumer]?.add(pull, at: now)
    }

    mutating func acknowledge(_ sequence: UInt64, of consumer: String, _ words: String, at now: Int64) {
        consumers[consumer]?.acknowledge(sequence, words, at: now)
    }

    /// Has each consumer of the moment live on a copy that has stopped taking in what the others store.
    mutating func stallConsumers() {
        for consumer in consumers.keys { consumers[consumer]?.stall() }
    }

    mutating func hastenHeartbeats(at now: Int64) {
        for consumer in consumers.keys { consumers[consumer]?.hastenHeartbeats(at: now) }
    }

    /// What there is for those who wait.
    mutating func serve(_ index: SubscriptionIndex, at now: Int64) -> [Delivery] {
        let store = store
        var deliveries: [Delivery] = []
        for consumer in consumers.keys.sorted() {
            deliveries += consumers[consumer]?.serve(store, of: name, for: index, at: now) ?? []
        }
        return deliveries
    }

    // MARK: Time

    /// Does what is due, and returns what there is for those who wait.
    mutating func advance(_ index: SubscriptionIndex, to now: Int64) -> [Delivery] {
        if let age = settings.maximumAge {
            while let oldest = store.oldest, now - oldest.time >= age { remove(oldest.sequence) }
        }
        var deliveries: [Delivery] = []
        for consumer in consumers.keys.sorted() {
            deliveries += consumers[consumer]?.advance(for: index, to: now) ?? []
            if consumers[consumer]?.isForgotten(at: now) == true { consumers[consumer] = nil }
        }
        return deliveries + serve(index, at: now)
    }

    /// When something is due next.
    var due: Int64? {
        let age = settings.maximumAge.flatMap { age in store.oldest.map { $0.time + age } }
        return (consumers.values.compactMap(\.due) + [age].compactMap { $0 }).min()
    }

    // MARK: Answers

    /// Configuration and state, as answers show them.
    ///
    /// - Parameter filter: also counts the messages of each subject that matches.
    func description(counting filter: SubjectPattern? = nil) -> [String: JSON] {
        var state: [String: JSON] = [
            "messages": .integer(Int64(store.count)), "bytes": .integer(Int64(store.bytes)),
            "first_seq": .unsigned(store.first), "last_seq": .unsigned(store.last),
            "first_ts": .string(Self.time(store.oldest?.time)),
            "last_ts": .string(Self.time(lastTime == 0 ? nil : lastTime)),
            "consumer_count": .integer(Int64(consumers.count)),
        ]
        if store.subjectCount > 0 { state["num_subjects"] = .integer(Int64(store.subjectCount)) }
        let counts = filter.map { store.counts(matching: $0) } ?? [:]
        if !counts.isEmpty { state["subjects"] = .object(counts.mapValues { .integer(Int64($0)) }) }
        return [
            "config": .object(settings.fields), "created": .string(Self.time(created)), "state": .object(state),
        ]
    }

    private static func time(_ nanoseconds: Int64?) -> String {
        nanoseconds.map { ServerTime(nanoseconds: $0).description } ?? "0001-01-01T00:00:00Z"
    }
}
