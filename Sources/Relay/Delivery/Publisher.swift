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
                case .end(let news, _): if disk.isOn { disk.changed(isUrgent: disk.journal.ended(news), &due) }
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
        fileprivate mutating func conclude() {
            if isSeeking, delivery.outbox.isEmpty {
                isSeeking = false
                due.forgotten = route?.identifiers
            }
            if !flushWaiters.isEmpty, delivery.outbox.isFlushed {
                due.answers += flushWaiters.map { ($0, true) }
                flushWaiters = []
            }
            if !emptyWaiters.isEmpty, delivery.outbox.isEmpty {
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
        /// Who hears what.
        var answers: [(waiter: Completion<Bool>, answer: Bool)] = []
        /// What is not needed any more.
        var forgotten: StoredIdentifiers?
        /// What is to be written into the local store.
        var write: (changes: [StoreChange], store: LocalStore)?
        /// When to look again what is to be written.
        var writeAlarm: Duration?

        var isEmpty: Bool {
            actions.isEmpty && answers.isEmpty && forgotten == nil && write == nil && writeAlarm == nil
        }

        /// Keeps the room of the actions, of which there are more with each message.
        mutating func removeAll() {
            actions.removeAll(keepingCapacity: true)
            (answers, forgotten, write, writeAlarm) = ([], nil, nil, nil)
        }
    }

    /// Where publishes are.
    let board = StatusBoard<PublishNews>(nil, bufferedValues: 65_536)
    private let state: NIOLockedValueBox<State>
    /// The subjects and identifiers of what was sent without a key to hash them with.
    private let sent = NIOLockedValueBox(RecentSet<String>(capacity: 10_000))
    private let alarm = NIOLockedValueBox<Task<Void, Never>?>(nil)
    /// The server's answers that have not been taken in yet, and whether a task is at it: it takes many.
    private let answers = NIOLockedValueBox<(waiting: [Answer], isTaken: Bool)>(([], false))

    /// What the server said of a message, and over which route.
    private typealias Answer = (id: String, result: Result<PublishAcknowledgement, NATSError>, route: UInt64)

    private let maximumMessageBytes: Int
    private let log: OutboxLog
    let clock: any Timekeeper
    /// Limits how long callers wait for what they have sent.
    let receiptClock: ReceiptClock

    /// - Parameters:
    ///   - maximumMessageBytes: the largest message to take; the server's own limit applies as well.
    ///   - location: where messages are kept; in memory, nothing of it outlives the client.
    ///   - choice: the identifiers of those that earlier runs left and this one is to send; nil for all.
    init(
        policy: OutboxPolicy, maximumMessageBytes: Int, clock: any Timekeeper, location: LocalStore.Location,
        choice: Set<String>? = nil, log: OutboxLog
    ) {
        state = NIOLockedValueBox(State(delivery: Delivery(policy: policy), disk: Disk(location, choice)))
        self.maximumMessageBytes = maximumMessageBytes
        (self.clock, self.log) = (clock, log)
        receiptClock = ReceiptClock(clock)
    }

    // MARK: Coming in

    /// How many messages wait or are under way.
    var count: Int { state.withLockedValue { $0.delivery.outbox.count } }

    /// Whether a message waits for a destination, or is under way to it.
    func holds(_ destination: Destination) -> Bool {
        state.withLockedValue { $0.delivery.outbox.holds(destination) }
    }

    /// A session begins: messages may wait for it from now on.
    func begin() { state.withLockedValue { $0.hasBegun = true } }

    /// Has somebody hear of each message that is taken in.
    func whenSubmitted(_ hear: @escaping @Sendable () -> Void) { state.withLockedValue { $0.whenSubmitted = hear } }

    /// Takes a message in, and returns when it is on the disk where it is kept there. What comes of it is told from
    /// then on alone. A caller that is cancelled meanwhile waits all the same.
    ///
    /// - Parameter keepsRefused: whether one that is not taken waits on the disk for the person, with the reason.
    nonisolated(nonsending) func submit(
        _ message: OutboxMessage, keepsRefused: Bool = false
    ) async throws(RelayError) {
        try admit(message, keepsRefused: keepsRefused)
        await kept()
    }

    /// Has what `body` admits leave together.
    func together<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        guard let connection = state.withLockedValue({ $0.route?.jetStream.connection }) else { return try body() }
        return try connection.together(body)
    }

    /// Takes a message in, which leaves when the disk has it (``kept()``) where it is kept there.
    func admit(_ message: OutboxMessage, keepsRefused: Bool = false) throws(RelayError) {
        let (refusal, hear) = decide { state -> (RelayError?, (@Sendable () -> Void)?) in
            var message = message
            if message.unsigned != nil { state.signature?(&message) }
            do throws(RelayError) {
                if let objection = objection(to: message, state) { throw objection }
                let isKeptFirst = state.disk.keepsFirst
                let count = state.due.actions.count
                try state.delivery.submit(
                    message, isKeptFirst: isKeptFirst, at: clock.now, into: &state.due.actions)
                if state.due.actions.count > count { state.note(state.due.actions[count...]) }
                if state.disk.isOn {
                    state.disk.journal.accepted(message, mayLeave: state.delivery.outbox.isOpen, since: .now)
                    state.disk.changed(isUrgent: true, &state.due)
                }
                return (nil, state.whenSubmitted)
            } catch {
                if keepsRefused, state.disk.isOn {
                    state.disk.journal.refused(message, because: error.words, since: .now)
                    state.disk.changed(isUrgent: true, &state.due)
                }
                return (error, nil)
            }
        }
        if let refusal { throw refusal }
        hear?()
    }

    /// Why a message is not taken, whatever the outbox says; nil when it is.
    private func objection(to message: OutboxMessage, _ state: State) -> RelayError? {
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
        return sent.withLockedValue { !$0.isEmpty && $0.contains("\(subject) \(id)") }
    }

    /// The subscriptions are live on a connection: what waits leaves over it, as soon as the disk has it that it may.
    func open(_ jetStream: JetStream, _ namespace: RelayConfiguration.Namespace) {
        // Through an import, a server before 2.10 does not say that no stream takes the subject.
        let tells = jetStream.connection.info.isAtLeast(2, 10)
        let count = decide { state in
            let count = state.delivery.outbox.count
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
            let count = state.delivery.outbox.inFlightCount
            state.leaveRoute()
            state.take(state.delivery.connectionLost())
            return count
        }
        log.lost(count)
        setAlarm(nil)
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
            for case .end(let end, _) in actions {
                state.disk.journal.notSent(end.id, because: "Another user signed in.", mayBeStored: end.mayBeStored)
            }
        }
    }

    /// What waited for the present connection, and what became of it; empty afterwards.
    func takeResent() -> [ResentMessage] { state.withLockedValue { $0.delivery.takeResent() } }

    /// The client is gone. What is kept of the outbox is for another run.
    func end() {
        let messages = decide { state in
            state.leaveRoute()
            return state.delivery.outbox.messages
        }
        // Nothing is sent from here on.
        turnOffKeeping()
        setAlarm(nil)
        for message in messages { message.pending?.end(.failed(.cancelled)) }
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

    // MARK: Carrying out

    /// Decides under the lock, and carries out outside what comes of it, unless another thread is at it.
    @discardableResult
    func decide<Value>(_ change: (inout State) -> Value) -> Value {
        let (value, isFree) = state.withLockedValue { state in
            let value = change(&state)
            state.conclude()
            guard !state.isCarryingOut, !state.due.isEmpty else { return (value, false) }
            state.isCarryingOut = true
            return (value, true)
        }
        if isFree { carryOut() }
        return value
    }

    private func carryOut() {
        var due = Due()
        var refused: [(id: String, result: Result<PublishAcknowledgement, NATSError>)] = []
        while true {
            due.removeAll()
            let route = state.withLockedValue { state -> Route? in
                if !refused.isEmpty {
                    state.take(state.delivery.answered(refused, at: clock.now))
                    state.conclude()
                }
                swap(&due, &state.due)
                state.isCarryingOut = !due.isEmpty
                return state.route
            }
            if due.isEmpty { return }
            refused = []
            carryOut(due, over: route, refused: &refused)
        }
    }

    private func carryOut(
        _ due: Due, over route: Route?, refused: inout [(id: String, result: Result<PublishAcknowledgement, NATSError>)]
    ) {
        let isWatched = board.isWatched
        for action in due.actions { perform(action, over: route, isWatched: isWatched, refused: &refused) }
        due.forgotten?.removeAll()
        for (waiter, answer) in due.answers { waiter.fulfil(answer) }
        if let (changes, store) = due.write { write(changes, into: store) }
        if let delay = due.writeAlarm { lookAgain(after: delay) }
    }

    private func perform(
        _ action: Delivery.Action, over route: Route?, isWatched: Bool,
        refused: inout [(id: String, result: Result<PublishAcknowledgement, NATSError>)]
    ) {
        switch action {
        case .tell(let news): if isWatched { board.post(news, keepsCurrent: false) }
        case .end(let news, let pending):
            log.ended(news)
            if isWatched { board.post(news, keepsCurrent: false) }
            pending?.end(news.state)
        case .send(let message):
            guard let route else { return }
            if isWatched { board.post(PublishNews(id: message.id, state: .sending), keepsCurrent: false) }
            do throws(NATSError) { try send(message, over: route) } catch {
                guard route.jetStream.connection.isOpen else { return }
                var error = error
                // The person is told the bound of what they wrote, and no other.
                if case .payloadTooLarge = error,
                    case .tooLarge(let bytes, let limit)? = state.withLockedValue({ objection(to: message, $0) })
                {
                    error = .payloadTooLarge(bytes: bytes, limit: limit)
                }
                log.refused(message.id, error)
                refused.append((message.id, .failure(error)))
            }
        case .wake(let moment):
            setAlarm(
                Task { [weak self, clock] in
                    try? await clock.sleep(until: moment)
                    guard !Task.isCancelled, let self else { return }
                    self.decide { $0.take($0.delivery.moment(at: clock.now)) }
                })
        case .probe: route?.jetStream.connection.probe()
        case .askRecipient(let id, let user, let postbox, let isRefused):
            ask(over: route) { [clock] route in
                let answer = await route.recipient(user, postbox, isRefused: isRefused, clock)
                return { $0.recipientAnswered(id: id, answer, isRefused: isRefused, at: $1) }
            }
        case .askStream(let id, let topic):
            ask(over: route) { route in
                guard await route.isStreamMissing(topic) else { return nil }
                return { $0.streamIsMissing(id: id, at: $1) }
            }
        case .lookUp(let late, let topic):
            ask(over: route) { route in
                let finding = await route.find(late, on: topic)
                return { $0.lookedUp(id: late.message.id, finding, at: $1) }
            }
        case .lookUpKey(let late, let key):
            ask(over: route) { route in
                let finding = await route.look(at: key, before: late)
                return { $0.keyLookedUp(id: late.message.id, finding, at: $1) }
            }
        }
    }

    private func setAlarm(_ new: Task<Void, Never>?) {
        let old = alarm.withLockedValue { alarm in
            defer { alarm = new }
            return alarm
        }
        old?.cancel()
    }

    /// What was found out, for ``Delivery``.
    private typealias Report = @Sendable (inout Delivery, ContinuousClock.Instant) -> [Delivery.Action]

    /// Asks the network something, and takes the answer in, unless its route is no longer the present one.
    private func ask(over route: Route?, _ question: @escaping @Sendable (Route) async -> Report?) {
        guard let route else { return }
        Task { [weak self, clock] in
            guard let report = await question(route) else { return }
            self?.decide { state in
                guard state.route === route else { return }
                state.take(report(&state.delivery, clock.now))
            }
        }
    }

    private func send(_ message: OutboxMessage, over route: Route) throws(NATSError) {
        let subject = route.subject(sendingTo: message.destination)
        let (id, number) = (message.id, route.number)
        let header = route.header(of: message, on: subject)
        if route.messageKey == nil { sent.withLockedValue { _ = $0.insert("\(subject) \(id)") } }
        if message.payload.isEmpty, message.isOnKey {
            return try route.jetStream.send(
                ByteBuffer(), to: subject, messageID: header, headers: KeyValueStore.deletion
            ) { [self] result in
                answered((id, result, number))
            }
        }
        // The connection lets go of this with the answer, or with its end.
        try route.jetStream.send(
            message.payload, to: subject, messageID: header, id: id, tag: number, observer: self)
    }

    // MARK: Answers

    func answered(_ id: String, tag: UInt64, _ result: Result<PublishAcknowledgement, NATSError>) {
        guard case .success(let told) = result, told.isDuplicate, told.sequence > 0,
            let (message, route) = doubt(id, tag)
        else { return answered((id, result, tag)) }
        Task { [weak self] in
            let isTaken = await route.isTaken(message, by: told.sequence, in: told.stream)
            let refusal = NATSError.invalidArgument(
                "The identifier \(id) is taken: another message is stored under it. Choose another one.")
            self?.answered((id, isTaken ? .failure(refusal) : result, tag))
        }
    }

    /// The message, and the way it went, of which the server's word that it is stored already does not say that it is
    /// this one which is: others may use its identifier.
    private func doubt(_ id: String, _ number: UInt64) -> (OutboxMessage, Route)? {
        state.withLockedValue { state in
            guard let route = state.route, route.number == number, route.messageKey == nil,
                let message = state.delivery.outbox.message(underWay: id), message.isOnTopic
            else { return nil }
            return (message, route)
        }
    }

    /// An answer has come, on the connection's event loop. Those that come together are taken in together.
    private func answered(_ answer: Answer) {
        let isFirst = answers.withLockedValue { answers in
            answers.waiting.append(answer)
            defer { answers.isTaken = true }
            return !answers.isTaken
        }
        if isFirst { Task { [weak self] in self?.takeAnswers() } }
    }

    private func takeAnswers() {
        while true {
            let taken = answers.withLockedValue { answers in
                defer { answers = ([], !answers.waiting.isEmpty) }
                return answers.waiting
            }
            if taken.isEmpty { return }
            for case (let id, .failure(let error), _) in taken { log.refused(id, error) }
            let route = state.withLockedValue(\.route)
            let isOpen = route?.jetStream.connection.isOpen ?? false
            decide { state in
                // The failure of a connection says nothing about its messages, which go back into the queue with the
                // news of the loss. A late acknowledgement still counts: the server has the message.
                let present = isOpen && state.route === route ? route?.number : nil
                let heard = taken.lazy.filter { answer in
                    if case .success = answer.result { true } else { answer.route == present }
                }
                state.take(state.delivery.answered(heard.map { ($0.id, $0.result) }, at: clock.now))
            }
        }
    }
}
