import NATS
import NIOConcurrencyHelpers
import NIOCore

/// Drives ``Delivery`` over the present connection, and ``OutboxJournal`` over the local store. Any thread may call.
///
/// Each call decides under the lock; one thread at a time carries out the decisions outside it, in order. A thread that
/// finds another one doing so leaves its part to that one.
final class Publisher: StorageObserver {
    struct State {
        var delivery: Delivery
        var disk: Disk
        /// The callers that wait for the ends of messages, by identifier.
        var receipts: [String: PendingPublish] = [:]
        /// Decisions yet to be carried out.
        var due = Due()
        /// Whether a thread is carrying out decisions.
        var isCarryingOut = false
        var route: Route?
        var lastRoute: UInt64 = 0
        /// Whether a session has begun, so that messages may wait for one.
        var hasBegun = false
        /// The key for hashing identifiers; nil to send them as they are.
        var messageKey: MessageKey?
        /// Adds the user's name to a line without one.
        var signature: (@Sendable (inout OutboxMessage) -> Void)?
        var flushWaiters: [Completion<Bool>] = []
        var emptyWaiters: [Completion<Bool>] = []
        /// Whether messages were looked up since the outbox was last empty.
        var isSeeking = false
        /// Called after each submission, if set.
        var whenSubmitted: (@Sendable () -> Void)?

        mutating func take(_ actions: [Delivery.Action]) {
            note(actions)
            if due.actions.isEmpty { due.actions = actions } else { due.actions += actions }
        }

        /// Applies the actions' meaning for the disk, the receipts and the search.
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

        /// Leaves the route: nothing is sent any more.
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

        /// Adds what else is due once a change is complete.
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

    /// The work outside the lock: first the actions, in order, then the rest, in any order.
    struct Due {
        var actions: [Delivery.Action] = []
        /// Ends of messages, for the callers that wait for them.
        var receipts: [(waiter: PendingPublish, end: PublishNews.State)] = []
        /// Answers for waiting callers.
        var answers: [(waiter: Completion<Bool>, answer: Bool)] = []
        /// Identifiers that are no longer needed.
        var forgotten: StoredIdentifiers?
        /// Changes for the local store.
        var write: (changes: [StoreChange], store: LocalStore)?
        /// The delay until the next write.
        var writeAlarm: Duration?

        var isEmpty: Bool {
            actions.isEmpty && receipts.isEmpty && answers.isEmpty && forgotten == nil && write == nil
                && writeAlarm == nil
        }

        /// Keeps the capacity of the arrays that are used for each message.
        mutating func removeAll() {
            actions.removeAll(keepingCapacity: true)
            receipts.removeAll(keepingCapacity: true)
            (answers, forgotten, write, writeAlarm) = ([], nil, nil, nil)
        }
    }

    let board = StatusBoard<PublishNews>(nil, bufferedValues: 65_536)
    let state: NIOLockedValueBox<State>
    /// Hashes of messages sent without a key.
    private let sent = NIOLockedValueBox(RecentSet<Int>(capacity: 10_000))
    /// The server's answers that were not handled yet, and whether a task is handling them, many at a time.
    let answers = NIOLockedValueBox<(waiting: [Answer], isTaken: Bool)>(([], false))

    private let maximumMessageBytes: Int
    /// Whether messages may ever be stored, which spares other clients the question.
    let mayKeep: Bool
    let log: OutboxLog
    let clock: DeliveryClock

    /// - Parameters:
    ///   - maximumMessageBytes: The largest message accepted; the server's own limit applies as well.
    ///   - location: Where messages are stored; with `nowhere`, none outlives the client.
    ///   - choice: The identifiers of earlier runs' messages to send; nil for all.
    init(
        policy: OutboxPolicy, maximumMessageBytes: Int, clock: any Timekeeper, location: LocalStore.Location,
        choice: Set<String>? = nil, log: OutboxLog
    ) {
        state = NIOLockedValueBox(State(delivery: Delivery(policy: policy), disk: Disk(location, choice)))
        self.maximumMessageBytes = maximumMessageBytes
        mayKeep = location.isFile
        (self.clock, self.log) = (DeliveryClock(clock), log)
    }

    // MARK: Coming in

    var count: Int { state.withLockedValue { $0.delivery.count } }

    func holds(_ destination: Destination) -> Bool { state.withLockedValue { $0.delivery.holds(destination) } }

    /// Begins a session, for which messages may wait.
    func begin() { state.withLockedValue { $0.hasBegun = true } }

    /// Calls `hear` after each submission.
    func whenSubmitted(_ hear: @escaping @Sendable () -> Void) { state.withLockedValue { $0.whenSubmitted = hear } }

    /// Accepts a message, and returns once it is on the disk if it is stored there. It is reported from then on. A
    /// caller that is cancelled meanwhile still waits.
    ///
    /// - Parameters:
    ///   - pending: Receives the message's end.
    ///   - keepsRefused: Whether a refused message is stored with the reason, for the person's decision.
    nonisolated(nonsending) func submit(
        _ message: OutboxMessage, for pending: PendingPublish? = nil, keepsRefused: Bool = false
    ) async throws(RelayError) {
        try admit(message, for: pending, keepsRefused: keepsRefused)
        await kept()
    }

    /// Accepts a message for a caller that does not wait for the disk (``kept()``), unless the outbox is filling up:
    /// messages that are not on the disk cannot leave and make room. A refused message is stored for the person's
    /// decision.
    nonisolated(nonsending) func submitAhead(_ message: OutboxMessage) async throws(RelayError) {
        try admit(message, keepsRefused: true)
        if state.withLockedValue({ $0.delivery.isFilling }) { await kept() }
    }

    /// Sends everything that `body` submits together.
    func together<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        guard let connection = state.withLockedValue({ $0.route?.jetStream.connection }) else { return try body() }
        return try connection.together(body)
    }

    /// Accepts a message, which leaves once it is on the disk (``kept()``) if it is stored there.
    func admit(
        _ message: OutboxMessage, for pending: PendingPublish? = nil, keepsRefused: Bool = false
    ) throws(RelayError) {
        let one = CollectionOfOne((message: message, pending: pending))
        if let refusal = admit(one, keepsRefused: keepsRefused).refusal { throw refusal }
    }

    /// As ``admit(_:for:keepsRefused:)`` for several messages, up to the first that is refused.
    ///
    /// - Returns: How many were accepted, and why the next one was not.
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

    private func take(_ message: OutboxMessage, for pending: PendingPublish?, _ state: inout State) throws(RelayError) {
        if let objection = objection(to: message, state) { throw objection }
        let count = state.due.actions.count
        try state.delivery.submit(message, isKeptFirst: state.disk.keepsFirst, at: clock.now, into: &state.due.actions)
        if let pending { state.receipts[message.id] = pending }
        if state.due.actions.count > count { state.note(state.due.actions[count...]) }
        if state.disk.isOn {
            state.disk.journal.accepted(message, mayLeave: state.delivery.isOpen, since: .now)
            state.disk.changed(isUrgent: true, &state.due)
        }
    }

    /// Why a message is refused whatever the outbox says; nil if it is not.
    func objection(to message: OutboxMessage, _ state: State) -> RelayError? {
        guard state.hasBegun else { return .notConnected }
        let (size, largest) = (message.payload.count, serversLimit(state))
        let room = message.isOnKey ? 0 : Self.envelopeRoom(in: largest)
        guard size > min(maximumMessageBytes, largest - room) else { return nil }
        let content = message.contentBytes
        let limit = min(maximumMessageBytes, max(0, largest - max(room, size - content)))
        return content <= limit ? nil : .tooLarge(bytes: content, limit: limit)
    }

    /// The largest payload that the present server accepts, not counting headers.
    private func serversLimit(_ state: State) -> Int {
        state.route.map { max(0, $0.jetStream.connection.maximumPayload - Self.headerRoom) } ?? .max
    }

    /// The room for headers in the largest message that a server accepts.
    static let headerRoom = 256

    /// The room around the text in a payload, whoever writes to whom, so that one limit holds for all texts.
    private static func envelopeRoom(in payload: Int) -> Int { min(1_024, payload / 4) }

    /// The largest text in bytes that the present server accepts; more than any without one.
    var largestText: Int {
        state.withLockedValue { state in
            let largest = serversLimit(state)
            return largest - Self.envelopeRoom(in: largest)
        }
    }

    /// Takes back a message that has not left yet; false if it is too late.
    func cancel(id: String) -> Bool {
        decide { state in
            let actions = state.delivery.cancel(id: id, at: clock.now)
            state.take(actions)
            return !actions.isEmpty
        }
    }

    /// Adds the user's name to the lines that wait for it, and to later ones without a name.
    func sign(_ change: @escaping @Sendable (inout OutboxMessage) -> Void) {
        state.withLockedValue { state in
            state.signature = change
            state.delivery.sign(change)
        }
    }

    // MARK: Connections

    /// Sets the key for hashing identifiers; nil to send them as they are.
    func hashIdentifiers(with key: MessageKey?) { state.withLockedValue { $0.messageKey = key } }

    /// Whether a stored message is the user's own: sent with the user's key, by any device, or, without a key, by this
    /// client.
    func isOwn(_ id: String, on subject: String, under header: @autoclosure () -> String?) -> Bool {
        if let key = state.withLockedValue(\.messageKey) { return key.hash(of: id, on: subject) == header() }
        return sent.withLockedValue { !$0.isEmpty && $0.contains(Self.mark(of: id, on: subject)) }
    }

    /// Remembers a message sent without a key.
    func sends(_ id: String, on subject: String) {
        sent.withLockedValue { _ = $0.insert(Self.mark(of: id, on: subject)) }
    }

    private static func mark(of id: String, on subject: String) -> Int {
        var hasher = Hasher()
        hasher.combine(subject)
        hasher.combine(id)
        return hasher.finalize()
    }

    /// The subscriptions are live on a connection: waiting messages leave over it once the disk has recorded that.
    func open(_ jetStream: JetStream, _ namespace: RelayConfiguration.Namespace) {
        // Across an import, a server before 2.10 does not report that no stream stores the subject.
        let tells = jetStream.connection.info.isAtLeast(2, 10)
        let count = decide { state in
            let count = state.delivery.count
            state.lastRoute += 1
            state.route = Route(jetStream, namespace, state.messageKey, number: state.lastRoute)
            let isKeptFirst = state.disk.leave(&state.due)
            state.take(state.delivery.opened(tellsOfRecipients: tells, isKeptFirst: isKeptFirst, at: clock.now))
            return count
        }
        log.sending(count)
    }

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

    /// The session has ended; the policy decides about waiting messages.
    func sessionEnded(_ reason: ConnectionReason) {
        decide { state in
            state.leaveRoute()
            state.take(state.delivery.sessionEnded(reason))
        }
    }

    /// Another user signs in: discards all messages, whatever the policy says. Stored ones wait for the person's
    /// decision.
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

    /// The messages that waited for the present connection and their outcomes, once.
    func takeResent() -> [ResentMessage] { state.withLockedValue { $0.delivery.takeResent() } }

    /// The client is gone. Another run takes over the stored outbox.
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

    /// Returns once everything that waited when the connection opened has ended; false if the connection is gone.
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

    var isFlushAwaited: Bool { state.withLockedValue { !$0.flushWaiters.isEmpty } }

    /// Waits until everything has ended, the connection is gone or `limit` has passed.
    func waitUntilEmpty(_ limit: Duration) async {
        let waiter = Completion<Bool>()
        decide { $0.emptyWaiters.append(waiter) }
        let alarm = waiter.fulfil(false, after: limit)
        // A cancelled task still waits for its messages.
        _ = await waiter.value()
        alarm.cancel()
    }
}
