import NATS
import NIOConcurrencyHelpers
import NIOCore

/// Drives ``Delivery`` over the present connection, and ``OutboxJournal`` over the local store. Any thread may call.
///
/// What comes of a call is decided under the lock and carried out outside, by one thread at a time, so that it happens
/// in the order in which it was decided. A thread that finds another one at it leaves its part to that one.
final class Publisher: StorageObserver {
    struct State {
        var delivery: Delivery
        /// What of it is kept on the disk.
        var disk: Disk
        /// Who waits for the ends of messages, by their identifiers.
        var receipts: [String: PendingPublish] = [:]
        /// What was decided and is still to be carried out.
        var due = Due()
        /// Whether a thread carries out what is decided.
        var isCarryingOut = false
        var route: Route?
        var lastRoute: UInt64 = 0
        /// Whether a session has begun, so that messages may wait for one.
        var hasBegun = false
        /// What identifiers are hashed with; nil where they are sent as they are.
        var messageKey: MessageKey?
        /// Puts the user's name under a line that came without one.
        var signature: (@Sendable (inout OutboxMessage) -> Void)?
        var flushWaiters: [Completion<Bool>] = []
        var emptyWaiters: [Completion<Bool>] = []
        /// Whether messages have been looked for since the outbox was empty.
        var isSeeking = false
        /// Hears that there is something to send; nil where nobody has to know.
        var whenSubmitted: (@Sendable () -> Void)?

        /// Notes what ``Delivery`` wants done.
        mutating func take(_ actions: [Delivery.Action]) {
            note(actions)
            if due.actions.isEmpty { due.actions = actions } else { due.actions += actions }
        }

        /// Notes what its actions mean for the disk and for what is remembered.
        mutating func note(_ actions: some Sequence<Delivery.Action>) {
            for action in actions {
                switch action {
                case .end(let news):
                    if let pending = receipts.removeValue(forKey: news.id) {
                        due.receipts.append((pending, news.state))
                    }
                    if disk.isOn { disk.changed(isUrgent: disk.journal.ended(news), &due) }
                case .lookUp: isSeeking = true
                case .send, .tell, .wake, .probe, .askRecipient, .askStream, .lookUpKey: break
                }
            }
        }

        /// Nothing that was to be sent leaves any more.
        mutating func leaveRoute() {
            route = nil
            due.actions.removeAll { action in
                switch action {
                case .send, .probe, .askRecipient, .askStream, .lookUp, .lookUpKey: true
                case .tell, .end, .wake: false
                }
            }
            due.answers += (flushWaiters + emptyWaiters).map { ($0, false) }
            (flushWaiters, emptyWaiters) = ([], [])
        }

        /// What else is due after a change, now that all of it is known.
        mutating func conclude() {
            if isSeeking, delivery.isEmpty {
                isSeeking = false
                due.forgotten = route?.identifiers
            }
            if !flushWaiters.isEmpty, delivery.isFlushed {
                due.answers += flushWaiters.map { ($0, true) }
                flushWaiters = []
            }
            if !emptyWaiters.isEmpty, delivery.isEmpty {
                due.answers += emptyWaiters.map { ($0, true) }
                emptyWaiters = []
            }
            beginWriting()
        }
    }

    /// What is to be done outside the lock: first the actions, in order, and then the rest, whose order does not
    /// matter.
    struct Due {
        var actions: [Delivery.Action] = []
        /// Who hears how a message ended.
        var receipts: [(waiter: PendingPublish, end: PublishNews.State)] = []
        /// Who hears what.
        var answers: [(waiter: Completion<Bool>, answer: Bool)] = []
        /// What is not needed any more.
        var forgotten: StoredIdentifiers?
        /// What is to be written into the local store.
        var write: (changes: [StoreChange], store: LocalStore)?
        /// When to look again what is to be written.
        var writeAlarm: Duration?

        var isEmpty: Bool {
            actions.isEmpty && receipts.isEmpty && answers.isEmpty && forgotten == nil && write == nil
                && writeAlarm == nil
        }

        /// Keeps the room of what there is more of with each message.
        mutating func removeAll() {
            actions.removeAll(keepingCapacity: true)
            receipts.removeAll(keepingCapacity: true)
            (answers, forgotten, write, writeAlarm) = ([], nil, nil, nil)
        }
    }

    /// Where publishes are.
    let board = StatusBoard<PublishNews>(nil, bufferedValues: 65_536)
    let state: NIOLockedValueBox<State>
    /// The marks of what was sent without a key to hash identifiers with.
    private let sent = NIOLockedValueBox(RecentSet<Int>(capacity: 10_000))
    /// The server's answers that have not been taken in yet, and whether a task is at it: it takes many.
    let answers = NIOLockedValueBox<(waiting: [Answer], isTaken: Bool)>(([], false))

    private let maximumMessageBytes: Int
    /// Whether messages may ever be kept: a client without a store asks no further.
    let mayKeep: Bool
    let log: OutboxLog
    let clock: DeliveryClock

    /// - Parameters:
    ///   - maximumMessageBytes: the largest message to take; the server's own limit applies as well.
    ///   - location: where messages are kept; with `nowhere`, none outlives the client.
    ///   - choice: the identifiers of those that earlier runs left and this one is to send; nil for all.
    init(
        policy: OutboxPolicy, maximumMessageBytes: Int, clock: any Timekeeper, location: LocalStore.Location,
        choice: Set<String>? = nil, log: OutboxLog
    ) {
        state = NIOLockedValueBox(State(delivery: Delivery(policy: policy), disk: Disk(location, choice)))
        self.maximumMessageBytes = maximumMessageBytes
        mayKeep = location.keepsOutbox
        (self.clock, self.log) = (DeliveryClock(clock), log)
    }

    // MARK: Coming in

    /// How many messages wait or are under way.
    var count: Int { state.withLockedValue { $0.delivery.count } }

    /// Whether a message waits for a destination, or is under way to it.
    func holds(_ destination: Destination) -> Bool {
        state.withLockedValue { $0.delivery.holds(destination) }
    }

    /// A session begins: messages may wait for it from now on.
    func begin() { state.withLockedValue { $0.hasBegun = true } }

    /// Has somebody hear of each message that is taken in.
    func whenSubmitted(_ hear: @escaping @Sendable () -> Void) { state.withLockedValue { $0.whenSubmitted = hear } }

    /// Takes a message in, and returns when it is on the disk where it is kept there. What comes of it is told from
    /// then on alone. A caller that is cancelled meanwhile waits all the same.
    ///
    /// - Parameters:
    ///   - pending: hears of the message's end.
    ///   - keepsRefused: whether one that is not taken waits on the disk for the person, with the reason.
    nonisolated(nonsending) func submit(
        _ message: OutboxMessage, for pending: PendingPublish? = nil, keepsRefused: Bool = false
    ) async throws(RelayError) {
        try admit(message, for: pending, keepsRefused: keepsRefused)
        await kept()
    }

    /// Takes a message in for a caller that goes on before the disk has it (``kept()``), unless the outbox is filling
    /// up: what the disk lacks cannot leave and make room. One that is not taken waits on the disk for the person.
    nonisolated(nonsending) func submitAhead(_ message: OutboxMessage) async throws(RelayError) {
        try admit(message, keepsRefused: true)
        if state.withLockedValue({ $0.delivery.isFilling }) { await kept() }
    }

    /// Has what `body` admits leave together.
    func together<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        guard let connection = state.withLockedValue({ $0.route?.jetStream.connection }) else { return try body() }
        return try connection.together(body)
    }

    /// Takes a message in, which leaves when the disk has it (``kept()``) where it is kept there.
    func admit(
        _ message: OutboxMessage, for pending: PendingPublish? = nil, keepsRefused: Bool = false
    ) throws(RelayError) {
        let one = CollectionOfOne((message: message, pending: pending))
        if let refusal = admit(one, keepsRefused: keepsRefused).refusal { throw refusal }
    }

    /// As ``admit(_:for:keepsRefused:)`` for messages that come together, up to the first that is refused.
    ///
    /// - Returns: how many were taken, and why the next one was not.
    func admit(
        _ messages: some Collection<(message: OutboxMessage, pending: PendingPublish?)>, keepsRefused: Bool = false
    ) -> (count: Int, refusal: RelayError?) {
        let (count, refusal, hear) = decide { state -> (Int, RelayError?, (@Sendable () -> Void)?) in
            var count = 0
            for (unsigned, pending) in messages {
                var message = unsigned
                if message.unsigned != nil { state.signature?(&message) }
                do throws(RelayError) {
                    try take(message, for: pending, &state)
                    count += 1
                } catch {
                    if keepsRefused, state.disk.isOn {
                        state.disk.journal.refused(message, because: error.words, since: .now)
                        state.disk.changed(isUrgent: true, &state.due)
                    }
                    return (count, error, count > 0 ? state.whenSubmitted : nil)
                }
            }
            return (count, nil, state.whenSubmitted)
        }
        hear?()
        return (count, refusal)
    }

    private func take(
        _ message: OutboxMessage, for pending: PendingPublish?, _ state: inout State
    ) throws(RelayError) {
        if let objection = objection(to: message, state) { throw objection }
        let count = state.due.actions.count
        try state.delivery.submit(
            message, isKeptFirst: state.disk.keepsFirst, at: clock.now, into: &state.due.actions)
        if let pending { state.receipts[message.id] = pending }
        if state.due.actions.count > count { state.note(state.due.actions[count...]) }
        if state.disk.isOn {
            state.disk.journal.accepted(message, mayLeave: state.delivery.isOpen, since: .now)
            state.disk.changed(isUrgent: true, &state.due)
        }
    }

    /// Why a message is not taken, whatever the outbox says; nil when it is.
    func objection(to message: OutboxMessage, _ state: State) -> RelayError? {
        guard state.hasBegun else { return .notConnected }
        let (size, largest) = (message.payload.count, serversLimit(state))
        let room = message.isOnKey ? 0 : Self.envelopeRoom(in: largest)
        guard size > min(maximumMessageBytes, largest - room) else { return nil }
        let content = message.contentBytes
        let limit = min(maximumMessageBytes, max(0, largest - max(room, size - content)))
        return content <= limit ? nil : .tooLarge(bytes: content, limit: limit)
    }

    /// The largest payload that the present server takes, beside the headers that come with it.
    private func serversLimit(_ state: State) -> Int {
        state.route.map { max(0, $0.jetStream.connection.maximumPayload - Self.headerRoom) } ?? .max
    }

    /// What the largest message that a server takes leaves to the headers.
    static let headerRoom = 256

    /// What a payload leaves to what is around its text, whoever writes where: so one limit is told of all texts.
    private static func envelopeRoom(in payload: Int) -> Int { min(1_024, payload / 4) }

    /// The largest text in bytes that the present server takes; more than any without one.
    var largestText: Int {
        state.withLockedValue { state in
            let largest = serversLimit(state)
            return largest - Self.envelopeRoom(in: largest)
        }
    }

    /// Takes a message back that has not left yet; false when it is too late.
    func cancel(id: String) -> Bool {
        decide { state in
            let actions = state.delivery.cancel(id: id, at: clock.now)
            state.take(actions)
            return !actions.isEmpty
        }
    }

    /// Puts the user's name under the lines that wait for it, and under those that come without one from now on.
    func sign(_ change: @escaping @Sendable (inout OutboxMessage) -> Void) {
        state.withLockedValue { state in
            state.signature = change
            state.delivery.sign(change)
        }
    }

    // MARK: Connections

    /// Names what identifiers are hashed with from now on; nil to send them as they are.
    func hashIdentifiers(with key: MessageKey?) { state.withLockedValue { $0.messageKey = key } }

    /// Whether a message that the network has is the user's own: sent with the user's key, by any device, or by this
    /// client where there is no such key.
    func isOwn(_ id: String, on subject: String, under header: @autoclosure () -> String?) -> Bool {
        if let key = state.withLockedValue(\.messageKey) { return key.hash(of: id, on: subject) == header() }
        return sent.withLockedValue { !$0.isEmpty && $0.contains(Self.mark(of: id, on: subject)) }
    }

    /// Notes what leaves without a key to hash its identifier with.
    func sends(_ id: String, on subject: String) {
        sent.withLockedValue { _ = $0.insert(Self.mark(of: id, on: subject)) }
    }

    private static func mark(of id: String, on subject: String) -> Int {
        var hasher = Hasher()
        hasher.combine(subject)
        hasher.combine(id)
        return hasher.finalize()
    }

    /// The subscriptions are live on a connection: what waits leaves over it, as soon as the disk has it that it may.
    func open(_ jetStream: JetStream, _ namespace: RelayConfiguration.Namespace) {
        // Through an import, a server before 2.10 does not say that no stream takes the subject.
        let tells = jetStream.connection.info.isAtLeast(2, 10)
        let count = decide { state in
            let count = state.delivery.count
            state.lastRoute += 1
            state.route = Route(jetStream, namespace, state.messageKey, number: state.lastRoute)
            let isKeptFirst = state.disk.leave(&state.due)
            state.take(
                state.delivery.opened(tellsOfRecipients: tells, isKeptFirst: isKeptFirst, at: clock.now))
            return count
        }
        log.sending(count)
    }

    /// The connection is gone.
    func connectionLost() {
        let count = decide { state in
            let count = state.delivery.inFlightCount
            state.leaveRoute()
            state.take(state.delivery.connectionLost())
            return count
        }
        log.lost(count)
        clock.remove(.delivery)
    }

    /// The session ended; the policy decides about what waits.
    func sessionEnded(_ reason: ConnectionReason) {
        decide { state in
            state.leaveRoute()
            state.take(state.delivery.sessionEnded(reason))
        }
    }

    /// Another user signs in: discards what waits, whatever the policy says. What is kept of it waits for the person.
    func discardAll() {
        sent.withLockedValue { $0 = RecentSet(capacity: 10_000) }
        decide { state in
            let actions = state.delivery.discardAll(.closedByUser)
            state.take(actions)
            guard state.disk.isOn else { return }
            for case .end(let end) in actions {
                state.disk.journal.notSent(end.id, because: "Another user signed in.", mayBeStored: end.mayBeStored)
            }
        }
    }

    /// What waited for the present connection, and what became of it; empty afterwards.
    func takeResent() -> [ResentMessage] { state.withLockedValue { $0.delivery.takeResent() } }

    /// The client is gone. What is kept of the outbox is for another run.
    func end() {
        let receipts = decide { state in
            defer { state.receipts = [:] }
            state.leaveRoute()
            return state.receipts.values
        }
        // Nothing is sent from here on.
        turnOffKeeping()
        clock.remove(.delivery)
        for pending in receipts { pending.end(.failed(.cancelled)) }
        board.finish()
    }

    // MARK: Waiting

    /// Returns when everything that waited when the connection was opened has ended; false when the connection is gone.
    func flushed() async -> Bool {
        let waiter = Completion<Bool>()
        decide { state in
            if state.route == nil {
                state.due.answers.append((waiter, false))
            } else {
                state.flushWaiters.append(waiter)
            }
        }
        return await waiter.value()
    }

    /// Whether a caller waits in ``flushed()``.
    var isFlushAwaited: Bool { state.withLockedValue { !$0.flushWaiters.isEmpty } }

    /// Waits until everything has ended, as long as the connection is open and `limit` has not passed.
    func waitUntilEmpty(_ limit: Duration) async {
        let waiter = Completion<Bool>()
        decide { $0.emptyWaiters.append(waiter) }
        let alarm = waiter.fulfil(false, after: limit)
        // A cancelled task, too, waits for what it sent.
        _ = await waiter.value()
        alarm.cancel()
    }
}
