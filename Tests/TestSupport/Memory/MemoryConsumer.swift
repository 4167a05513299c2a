import NATS

/// A consumer: how far it has read, what waits for an acknowledgement, and which requests wait for messages.
struct MemoryConsumer: Sendable {
    typealias Delivery = MemoryStream.Delivery

    /// A request for messages.
    struct Pull: Sendable {
        /// Where they are to go.
        var inbox: String
        /// Messages that it still allows.
        var left: Int
        /// Bytes that it still allows.
        var room: Int?
        /// When its time is up.
        var expires: Int64?
        /// Nanoseconds between two signs of life.
        var heartbeat: Int64?
        var nextHeartbeat: Int64?
        /// Whether only what is there already is wanted.
        var isImpatient = false
    }

    private enum Acknowledgement: String, Sendable {
        case none, all, explicit
    }

    /// A message that was delivered and not acknowledged.
    private struct Unacknowledged: Sendable {
        /// When it is to be delivered again; never while it waits for that.
        var deadline: Int64
        var deliveries: Int
    }

    let name: String
    /// As answers show it, so that two configurations can be compared.
    let configuration: [String: JSON]
    private let created: Int64
    private let filter: SubjectPattern?
    private let acknowledgement: Acknowledgement
    private let acknowledgementWait: Int64
    private let maximumUnacknowledged: Int
    /// After how long without a reader it goes; nil for one that stays.
    private let inactiveThreshold: Int64?

    /// Single messages to deliver before all others.
    private var initial: [UInt64] = []
    /// Where to look for the message after those.
    private var next: UInt64
    /// How many messages it has not delivered yet.
    private var pending: Int
    /// The sequence of the last message that it delivered, or the one before the first.
    private var delivered: UInt64
    /// How many deliveries there were.
    private var deliveries: UInt64 = 0
    private var unacknowledged: [UInt64: Unacknowledged] = [:]
    private var redeliveries: [UInt64] = []
    private var pulls: [Pull] = []
    private var lastActive: Int64
    /// Whether its server's copy of the stream has stopped taking in what the others store.
    private var isStalled = false

    init(
        name: String, _ given: [String: JSON], of store: MessageStore, at now: Int64
    ) throws(JetStreamRefusal) {
        let isDurable = given["durable_name"]?.stringValue != nil
        let policy = given["deliver_policy"]?.stringValue ?? "all"
        let filter = given["filter_subject"]?.stringValue.flatMap { $0.isEmpty ? nil : SubjectPattern($0) }
        let wait = given["ack_wait"]?.integerValue ?? 30_000_000_000
        let threshold = given["inactive_threshold"]?.integerValue ?? (isDurable ? 0 : 5_000_000_000)
        let ownInitial = policy == "last_per_subject" ? store.newestOfEach(matching: filter) : []
        let start = try Self.start(policy, given, of: store, filter)
        self.name = name
        self.filter = filter
        created = now
        lastActive = now
        acknowledgement = given["ack_policy"]?.stringValue.flatMap(Acknowledgement.init) ?? Acknowledgement.none
        acknowledgementWait = wait
        maximumUnacknowledged = given["max_ack_pending"]?.integerValue.map { $0 > 0 ? Int($0) : .max } ?? 1_000
        inactiveThreshold = threshold > 0 ? threshold : nil
        initial = ownInitial
        next = start
        pending = ownInitial.count + store.count(from: start, matching: filter)
        delivered = (ownInitial.first ?? start) - 1
        var configuration = given
        configuration["name"] = .string(name)
        configuration["deliver_policy"] = .string(policy)
        configuration["replay_policy"] = "instant"
        configuration["max_deliver"] = configuration["max_deliver"] ?? -1
        configuration["max_waiting"] = configuration["max_waiting"] ?? 512
        if acknowledgement != .none { configuration["ack_wait"] = .integer(wait) }
        if threshold > 0 { configuration["inactive_threshold"] = .integer(threshold) }
        self.configuration = configuration
    }

    /// The first sequence to look at, behind the messages that are picked one by one.
    private static func start(
        _ policy: String, _ given: [String: JSON], of store: MessageStore, _ filter: SubjectPattern?
    ) throws(JetStreamRefusal) -> UInt64 {
        let first = max(1, store.first)
        switch policy {
        case "all": return first
        case "new", "last_per_subject": return store.last + 1
        case "last": return store.sequences(matching: filter).last ?? first
        case "by_start_sequence":
            guard let sequence = given["opt_start_seq"]?.unsignedValue, sequence > 0 else { break }
            return max(sequence, first)
        case "by_start_time":
            guard let text = given["opt_start_time"]?.stringValue, let time = ServerTime(parsing: text) else { break }
            return store.all.first { $0.time >= time.nanoseconds }?.sequence ?? store.last + 1
        default: break
        }
        throw JetStreamRefusal(400, 10_012, "consumer delivery policy is not usable")
    }

    private func isMeant(_ message: MessageStore.Message) -> Bool { filter?.matches(message.frame.subject) ?? true }

    // MARK: Changes of the stream

    mutating func stored(_ message: MessageStore.Message) {
        if message.sequence >= next, isMeant(message) { pending += 1 }
    }

    mutating func removed(_ message: MessageStore.Message) {
        if let place = initial.firstIndex(of: message.sequence) {
            initial.remove(at: place)
            pending -= 1
        } else if message.sequence >= next, isMeant(message) {
            pending -= 1
        }
        unacknowledged[message.sequence] = nil
        redeliveries.removeAll { $0 == message.sequence }
    }

    /// The stream has lost what was behind this sequence, and gives out the sequences anew.
    mutating func rewind(to last: UInt64) {
        next = min(next, last + 1)
        delivered = min(delivered, last)
    }

    /// From here on it says that there is nothing, whatever is stored.
    mutating func stall() { isStalled = true }

    // MARK: Pulls

    /// Has the next signs of life be due at once.
    mutating func hastenHeartbeats(at now: Int64) {
        for index in pulls.indices where pulls[index].heartbeat != nil { pulls[index].nextHeartbeat = now }
    }

    mutating func add(_ pull: Pull, at now: Int64) {
        var pull = pull
        pull.nextHeartbeat = pull.heartbeat.map { now + $0 }
        lastActive = now
        pulls.append(pull)
    }

    /// Delivers what there is to those who wait, in turn.
    mutating func serve(
        _ store: MessageStore, of stream: String, for index: SubscriptionIndex, at now: Int64
    ) -> [Delivery] {
        var sent: [Delivery] = []
        // A client that has unsubscribed, or is gone, must not swallow a message.
        pulls.removeAll { !index.hasInterest(in: $0.inbox) }
        while !isStalled, !pulls.isEmpty, let message = nextMessage(store) {
            var pull = pulls.removeFirst()
            let frame = numbered(message, stream: stream)
            let size = frame.subject.utf8.count + (frame.reply?.utf8.count ?? 0) + frame.size
            if let room = pull.room, size > room {
                sent.append(Self.ending("409 Message Size Exceeds MaxBytes", of: pull))
                continue
            }
            commit(message, at: now)
            sent.append(Delivery(route: pull.inbox, frame: frame))
            pull.left -= 1
            pull.room = pull.room.map { $0 - size }
            if pull.left > 0 { pulls.append(pull) }
        }
        for pull in pulls where pull.isImpatient { sent.append(Self.status("404 No Messages", to: pull.inbox)) }
        pulls.removeAll(where: \.isImpatient)
        return sent
    }

    /// The message that is to be delivered next.
    private mutating func nextMessage(_ store: MessageStore) -> MessageStore.Message? {
        while let sequence = redeliveries.first {
            if let message = store[sequence] { return message }
            redeliveries.removeFirst()
        }
        guard acknowledgement == .none || unacknowledged.count < maximumUnacknowledged else { return nil }
        while let sequence = initial.first {
            if let message = store[sequence] { return message }
            initial.removeFirst()
        }
        guard let message = store.next(from: next, matching: filter) else {
            next = max(next, store.last + 1)
            return nil
        }
        next = message.sequence
        return message
    }

    private func isRedelivery(_ message: MessageStore.Message) -> Bool { redeliveries.first == message.sequence }

    /// A message as it is delivered: its reply subject tells its place.
    private func numbered(_ message: MessageStore.Message, stream: String) -> MemoryFrame {
        let count = (unacknowledged[message.sequence]?.deliveries ?? 0) + 1
        let left = isRedelivery(message) ? pending : pending - 1
        var frame = message.frame
        frame.reply =
            "$JS.ACK.\(stream).\(name).\(count).\(message.sequence).\(deliveries + 1).\(message.time).\(max(0, left))"
        return frame
    }

    private mutating func commit(_ message: MessageStore.Message, at now: Int64) {
        deliveries += 1
        if isRedelivery(message) {
            redeliveries.removeFirst()
        } else {
            pending -= 1
            delivered = message.sequence
            if initial.first == message.sequence { initial.removeFirst() } else { next = message.sequence + 1 }
        }
        if acknowledgement != .none {
            let count = (unacknowledged[message.sequence]?.deliveries ?? 0) + 1
            unacknowledged[message.sequence] = Unacknowledged(deadline: now + acknowledgementWait, deliveries: count)
        }
        for index in pulls.indices { pulls[index].nextHeartbeat = pulls[index].heartbeat.map { now + $0 } }
    }

    private static func status(
        _ words: String, _ fields: [(name: String, value: String)] = [], to inbox: String
    ) -> Delivery {
        Delivery(route: inbox, frame: MemoryFrame(subject: inbox, block: HeaderText.block(status: words, fields)))
    }

    /// Tells that a pull has ended, and what it still allowed.
    private static func ending(_ words: String, of pull: Pull) -> Delivery {
        let fields = [("Nats-Pending-Messages", "\(pull.left)"), ("Nats-Pending-Bytes", "\(pull.room ?? 0)")]
        return status(words, fields.map { (name: $0.0, value: $0.1) }, to: pull.inbox)
    }

    /// The answer to waiting requests when the consumer goes.
    var farewell: [Delivery] { pulls.map { Self.status("409 Consumer Deleted", to: $0.inbox) } }

    // MARK: Acknowledgements

    /// A reader has said something of a message.
    mutating func acknowledge(_ sequence: UInt64, _ words: String, at now: Int64) {
        if words.hasPrefix("-NAK") {
            guard unacknowledged[sequence] != nil, !redeliveries.contains(sequence) else { return }
            unacknowledged[sequence]?.deadline = .max
            redeliveries.append(sequence)
        } else if words.hasPrefix("+WPI") {
            unacknowledged[sequence]?.deadline = now + acknowledgementWait
        } else {
            for known in unacknowledged.keys where known == sequence || acknowledgement == .all && known < sequence {
                unacknowledged[known] = nil
                redeliveries.removeAll { $0 == known }
            }
        }
    }

    // MARK: Time

    /// Does what is due: ends pulls, shows signs of life, and has messages delivered again.
    mutating func advance(for index: SubscriptionIndex, to now: Int64) -> [Delivery] {
        pulls.removeAll { !index.hasInterest(in: $0.inbox) }
        if !pulls.isEmpty { lastActive = now }
        var sent: [Delivery] = []
        for (place, pull) in pulls.enumerated() {
            if let expires = pull.expires, expires <= now {
                sent.append(Self.ending("408 Request Timeout", of: pull))
            } else if let heartbeat = pull.heartbeat, let moment = pull.nextHeartbeat, moment <= now {
                let fields = [("Nats-Last-Consumer", "\(deliveries)"), ("Nats-Last-Stream", "\(delivered)")]
                sent.append(
                    Self.status("100 Idle Heartbeat", fields.map { (name: $0.0, value: $0.1) }, to: pull.inbox))
                pulls[place].nextHeartbeat = now + heartbeat
            }
        }
        pulls.removeAll { pull in pull.expires.map { $0 <= now } ?? false }
        for sequence in unacknowledged.filter({ $0.value.deadline <= now }).keys.sorted() {
            unacknowledged[sequence]?.deadline = .max
            redeliveries.append(sequence)
        }
        return sent
    }

    /// Whether it has not been read for so long that it goes.
    func isForgotten(at now: Int64) -> Bool {
        inactiveThreshold.map { pulls.isEmpty && now - lastActive >= $0 } ?? false
    }

    /// When something is due next.
    var due: Int64? {
        var moments = pulls.flatMap { pull in [pull.expires, pull.nextHeartbeat].compactMap { $0 } }
        moments += unacknowledged.values.map(\.deadline).filter { $0 < .max }
        if let inactiveThreshold { moments.append(lastActive + inactiveThreshold) }
        return moments.min()
    }

    // MARK: Answers

    /// As answers show it.
    func description(stream: String) -> [String: JSON] {
        let floor = unacknowledged.keys.min().map { $0 - 1 } ?? delivered
        return [
            "stream_name": .string(stream), "name": .string(name),
            "created": .string(ServerTime(nanoseconds: created).description), "config": .object(configuration),
            "delivered": .object(["consumer_seq": .unsigned(deliveries), "stream_seq": .unsigned(delivered)]),
            "ack_floor": .object(["consumer_seq": 0, "stream_seq": .unsigned(floor)]),
            "num_ack_pending": .integer(Int64(unacknowledged.count)),
            "num_redelivered": .integer(Int64(unacknowledged.values.filter { $0.deliveries > 1 }.count)),
            "num_waiting": .integer(Int64(pulls.count)), "num_pending": .integer(Int64(max(0, pending))),
        ]
    }
}
