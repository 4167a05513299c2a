import NATS
import NIOConcurrencyHelpers
import NIOCore

/// Drives ``Delivery``: does over the present connection what it decides. Any thread may call, and no call waits but
/// for the disk, where messages are kept in a file.
final class Publisher: StorageObserver {
    /// The way that messages take on one connection.
    struct Route: Sendable {
        let jetStream: JetStream
        let namespace: RelayConfiguration.Namespace
        /// What identifiers are hashed with; nil where they are sent as they are.
        let messageKey: MessageKey?
        /// Counts the connections.
        let number: UInt64
        /// What looking for messages has come by.
        let identifiers = StoredIdentifiers()

        /// The subject of a destination.
        func subject(of destination: Destination) -> String {
            switch destination {
            case .topic(let topic): "\(namespace.hash).\(topic)"
            case .postbox(let user, let postbox): NetworkNames.letters(to: user, postbox)
            case .key(let key): NetworkNames.key(key, in: namespace.name)
            }
        }

        /// What is sent as a message's `Nats-Msg-Id`: the same on every retry, from any device of the user.
        func header(of message: OutboxMessage, on subject: String? = nil) -> String {
            messageKey?.hash(of: message.id, on: subject ?? self.subject(of: message.destination)) ?? message.id
        }
    }

    private struct State {
        var delivery: Delivery
        var route: Route?
        var lastRoute: UInt64 = 0
        /// Whether a session has begun, so that messages may wait for one.
        var hasBegun = false
        /// What identifiers are hashed with; nil where they are sent as they are.
        var messageKey: MessageKey?
        /// The subjects and identifiers of what was sent without that.
        var sent = RecentSet<String>(capacity: 10_000)
        /// Puts the user's name under a line that came without one.
        var signature: (@Sendable (inout OutboxMessage) -> Void)?
        /// Where the newest message went, and the subject that this is: the next one mostly goes there too.
        var newestSubject: (destination: Destination, text: String)?
        var flushWaiters: [Completion<Bool>] = []
        var emptyWaiters: [Completion<Bool>] = []
        var alarm: Task<Void, Never>?
        /// Whether messages have been looked for since the outbox was empty.
        var isSeeking = false
        /// Hears that there is something to send; nil where nobody has to know.
        var whenSubmitted: (@Sendable () -> Void)?
    }

    /// Where publishes are.
    let board = StatusBoard<PublishNews>(nil, bufferedValues: 65_536)
    private let state: NIOLockedValueBox<State>
    /// The server's answers that have not been taken in yet: one task takes many.
    private let answers = NIOLockedValueBox<[Answer]>([])

    /// An answer; a failure is apart from it, as each is copied several times and few fail.
    private struct Answer {
        final class Failure: Sendable {
            let error: NATSError

            init(_ error: NATSError) { self.error = error }
        }

        let id: String
        let sequence: UInt64
        let isDuplicate: Bool
        let failure: Failure?
        let route: UInt64

        init(id: String, _ result: Result<PublishAcknowledgement, NATSError>, route: UInt64) {
            self.id = id
            self.route = route
            switch result {
            case .success(let acknowledgement):
                (sequence, isDuplicate, failure) = (acknowledgement.sequence, acknowledgement.isDuplicate, nil)
            case .failure(let error): (sequence, isDuplicate, failure) = (0, false, Failure(error))
            }
        }

        /// As ``Delivery`` takes it, which does not look at the stream's name.
        var result: Result<PublishAcknowledgement, NATSError> {
            if let failure { return .failure(failure.error) }
            return .success(PublishAcknowledgement(stream: "", sequence: sequence, isDuplicate: isDuplicate))
        }
    }

    private let maximumMessageBytes: Int
    private let clock: any Timekeeper
    /// Limits how long callers wait for what they have sent.
    let receiptClock: ReceiptClock
    /// Keeps what is accepted; nil where nothing outlives the client, which costs nothing then.
    let keeper: OutboxKeeper?

    /// - Parameters:
    ///   - maximumMessageBytes: the largest message to take; the server's own limit applies as well.
    ///   - keeper: keeps what is accepted; nil where nothing outlives the client.
    init(policy: OutboxPolicy, maximumMessageBytes: Int, clock: any Timekeeper, keeper: OutboxKeeper? = nil) {
        self.keeper = keeper
        state = NIOLockedValueBox(State(delivery: Delivery(policy: policy)))
        self.maximumMessageBytes = maximumMessageBytes
        self.clock = clock
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

    /// Takes a message in.
    func submit(_ message: OutboxMessage) throws(RelayError) {
        guard let keeper else {
            let result = state.withLockedValue { state in submit(message, &state) }
            return try result.get()
        }
        let result: Result<Void, RelayError> = keeper.inOrder { submit(message, keptBy: keeper) }
        try result.get()
    }

    /// Has what `body` submits leave together. Where each waits for the disk first, the connection does not wait for
    /// all.
    func together<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        guard keeper == nil, let connection = state.withLockedValue({ $0.route?.jetStream.connection }) else {
            return try body()
        }
        return try connection.together(body)
    }

    /// Takes a message in that is committed before it leaves. Only what the outbox will take is written.
    private func submit(_ message: OutboxMessage, keptBy keeper: OutboxKeeper) -> Result<Void, RelayError> {
        var message = message
        let (refusal, isOpen) = state.withLockedValue { state -> (RelayError?, Bool) in
            if message.unsigned != nil { state.signature?(&message) }
            let found = objection(to: message, state) ?? state.delivery.outbox.refusal(of: message)
            return (found, state.delivery.outbox.isOpen)
        }
        if let refusal { return .failure(refusal) }
        keeper.accept(message, mayLeave: isOpen)
        let result = state.withLockedValue { state in submit(message, &state) }
        if case .failure = result { keeper.forget(message.id) }
        return result
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

    private func submit(_ message: OutboxMessage, _ state: inout State) -> Result<Void, RelayError> {
        if let refusal = objection(to: message, state) { return .failure(refusal) }
        var message = message
        if message.unsigned != nil { state.signature?(&message) }
        var actions: [Delivery.Action] = []
        do throws(RelayError) {
            let leaves = try state.delivery.submit(message, at: clock.now, into: &actions)
            if leaves {
                // The usual way of a message takes no list. One that the connection refuses takes the other.
                if actions.isEmpty, !board.isWatched, let route = state.route, isSent(message, over: route, &state) {
                    state.whenSubmitted?()
                    return .success(())
                }
                actions.append(.send(message))
            }
            perform(actions, &state)
            state.whenSubmitted?()
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Takes a message back that has not left yet; false when it is too late.
    func cancel(id: String) -> Bool {
        state.withLockedValue { state in
            let actions = state.delivery.cancel(id: id, at: clock.now)
            perform(actions, &state)
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
    func isOwn(_ id: String, on subject: String, under header: String?) -> Bool {
        let (key, isSent) = state.withLockedValue { state in
            (state.messageKey, state.messageKey == nil && state.sent.contains("\(subject) \(id)"))
        }
        return key.map { $0.hash(of: id, on: subject) == header } ?? isSent
    }

    /// The subscriptions are live on a connection: what waits leaves over it.
    func open(_ jetStream: JetStream, _ namespace: RelayConfiguration.Namespace) {
        guard let keeper else { return opened(jetStream, namespace) }
        keeper.inOrder {
            keeper.leave()
            opened(jetStream, namespace)
        }
    }

    private func opened(_ jetStream: JetStream, _ namespace: RelayConfiguration.Namespace) {
        state.withLockedValue { state in
            state.lastRoute += 1
            state.route = Route(
                jetStream: jetStream, namespace: namespace, messageKey: state.messageKey, number: state.lastRoute)
            state.newestSubject = nil
            // Through an import, a server before 2.10 does not say that no stream takes the subject.
            let tells = jetStream.connection.info.isAtLeast(2, 10)
            perform(state.delivery.opened(tellsOfRecipients: tells, at: clock.now), &state)
        }
    }

    /// The connection is gone.
    func connectionLost() {
        state.withLockedValue { state in
            state.route = nil
            state.alarm?.cancel()
            perform(state.delivery.connectionLost(), &state)
            giveUpWaiting(&state)
        }
    }

    /// The session ended; the policy decides about what waits.
    func sessionEnded(_ reason: ConnectionReason) {
        state.withLockedValue { state in
            state.route = nil
            perform(state.delivery.sessionEnded(reason), &state)
            giveUpWaiting(&state)
        }
    }

    /// Another user signs in: discards what waits, whatever the policy says. What is kept of it waits for the person.
    func discardAll() {
        state.withLockedValue { state in
            state.sent = RecentSet(capacity: 10_000)
            let actions = state.delivery.discardAll(.closedByUser)
            perform(actions, &state)
            for case .end(let end) in actions {
                keeper?.notSent(end.id, because: "Another user signed in.", mayBeStored: end.mayBeStored)
            }
        }
    }

    /// What waited for the present connection, and what became of it; empty afterwards.
    func takeResent() -> [ResentMessage] { state.withLockedValue { $0.delivery.takeResent() } }

    /// The client is gone. What is kept of the outbox is for another run.
    func end() {
        let state = state.withLockedValue { state in
            state.route = nil
            state.alarm?.cancel()
            giveUpWaiting(&state)
            return state
        }
        // Nothing is sent from here on.
        keeper?.turnOff()
        for message in state.delivery.outbox.messages { message.pending?.end(.failed(.cancelled)) }
        board.finish()
    }

    // MARK: Keeping

    /// The local store is open: what earlier runs of the program left there goes in front of all that waits. Blocks for
    /// as long as the disk takes; to be called before the first connection.
    func keep(in store: LocalStore) {
        keeper?.open(store) { earlier in
            state.withLockedValue { state in
                let messages = earlier.map { message -> OutboxMessage in
                    var message = message
                    if message.unsigned != nil { state.signature?(&message) }
                    return message
                }
                perform(state.delivery.restore(messages), &state)
            }
        }
    }

    // MARK: Waiting

    /// Returns when everything that waited when the connection was opened has ended; false when the connection is gone.
    func flushed() async -> Bool {
        let waiter = Completion<Bool>()
        state.withLockedValue { state in
            if state.route == nil {
                waiter.fulfil(false)
            } else if state.delivery.outbox.isFlushed {
                waiter.fulfil(true)
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
        let waits = state.withLockedValue { state in
            guard !state.delivery.outbox.isEmpty else { return false }
            state.emptyWaiters.append(waiter)
            return true
        }
        guard waits else { return }
        let alarm = waiter.fulfil(false, after: limit)
        // A cancelled task, too, waits for what it sent.
        _ = await waiter.value()
        alarm.cancel()
    }

    private func giveUpWaiting(_ state: inout State) {
        for waiter in state.flushWaiters + state.emptyWaiters { waiter.fulfil(false) }
        (state.flushWaiters, state.emptyWaiters) = ([], [])
    }

    // MARK: Actions

    private func perform(_ actions: [Delivery.Action], _ state: inout State) {
        guard !actions.isEmpty || !state.flushWaiters.isEmpty || !state.emptyWaiters.isEmpty else { return }
        var actions = actions
        let isWatched = board.isWatched
        while !actions.isEmpty {
            var refused: [(id: String, result: Result<PublishAcknowledgement, NATSError>)] = []
            for action in actions { perform(action, &state, isWatched: isWatched, refused: &refused) }
            actions = refused.isEmpty ? [] : state.delivery.answered(refused, at: clock.now)
        }
        if state.isSeeking, state.delivery.outbox.isEmpty {
            state.isSeeking = false
            state.route?.identifiers.removeAll()
        }
        if !state.flushWaiters.isEmpty, state.delivery.outbox.isFlushed {
            for waiter in state.flushWaiters { waiter.fulfil(true) }
            state.flushWaiters = []
        }
        if !state.emptyWaiters.isEmpty, state.delivery.outbox.isEmpty {
            for waiter in state.emptyWaiters { waiter.fulfil(true) }
            state.emptyWaiters = []
        }
    }

    private func perform(
        _ action: Delivery.Action, _ state: inout State, isWatched: Bool,
        refused: inout [(id: String, result: Result<PublishAcknowledgement, NATSError>)]
    ) {
        switch action {
        case .tell(let news): if isWatched { board.post(news, keepsCurrent: false) }
        case .end(let resolution):
            if isWatched { board.post(PublishNews(resolution), keepsCurrent: false) }
            resolution.pending?.end(resolution.outcome)
            keeper?.ended(resolution)
        case .send(let message):
            guard let route = state.route else { return }
            if isWatched { board.post(PublishNews(id: message.id, state: .sending), keepsCurrent: false) }
            do throws(NATSError) { try send(message, over: route, &state) } catch {
                guard route.jetStream.connection.isOpen else { return }
                var error = error
                // The person is told the bound of what they wrote, and no other.
                if case .payloadTooLarge = error, case .tooLarge(let bytes, let limit)? = objection(to: message, state)
                {
                    error = .payloadTooLarge(bytes: bytes, limit: limit)
                }
                refused.append((message.id, .failure(error)))
            }
        case .wake(let moment):
            state.alarm?.cancel()
            state.alarm = Task { [weak self, clock] in
                try? await clock.sleep(until: moment)
                guard !Task.isCancelled, let self else { return }
                self.state.withLockedValue { self.perform($0.delivery.moment(at: clock.now), &$0) }
            }
        case .probe: state.route?.jetStream.connection.probe()
        case .askRecipient(let id, let user, let postbox, let isRefused):
            guard let route = state.route else { return }
            Task { [weak self, clock] in
                let answer = await Self.recipient(user, postbox, route, isRefused: isRefused, clock)
                self?.report(route) { $0.recipientAnswered(id: id, answer, isRefused: isRefused, at: $1) }
            }
        case .askStream(let id, let topic):
            guard let route = state.route else { return }
            Task { [weak self] in
                guard await Self.isStreamMissing(topic, route) else { return }
                self?.report(route) { $0.streamIsMissing(id: id, at: $1) }
            }
        case .lookUp(let late, let topic):
            guard let route = state.route else { return }
            state.isSeeking = true
            Task { [weak self] in
                let finding = await Self.find(late, topic, route)
                self?.report(route) { $0.lookedUp(id: late.message.id, finding, at: $1) }
            }
        case .lookUpKey(let late, let key):
            guard let route = state.route else { return }
            Task { [weak self] in
                let finding = await Self.look(at: key, before: late, route)
                self?.report(route) { $0.keyLookedUp(id: late.message.id, finding, at: $1) }
            }
        }
    }

    private func isSent(_ message: OutboxMessage, over route: Route, _ state: inout State) -> Bool {
        do throws(NATSError) { try send(message, over: route, &state) } catch { return false }
        return true
    }

    private func send(_ message: OutboxMessage, over route: Route, _ state: inout State) throws(NATSError) {
        let subject = Self.subject(of: message.destination, route, &state)
        let (id, number) = (message.id, route.number)
        let header = route.header(of: message, on: subject)
        if route.messageKey == nil { _ = state.sent.insert("\(subject) \(id)") }
        if message.payload.isEmpty, message.isOnKey {
            return try route.jetStream.send(
                ByteBuffer(), to: subject, messageID: header, headers: KeyValueStore.deletion
            ) { [self] result in
                answered(Answer(id: id, result, route: number))
            }
        }
        // The connection lets go of this with the answer, or with its end.
        try route.jetStream.send(
            message.payload, to: subject, messageID: header, id: id, tag: number, observer: self)
    }

    private static func subject(of destination: Destination, _ route: Route, _ state: inout State) -> String {
        if let newest = state.newestSubject, newest.destination == destination { return newest.text }
        let text = route.subject(of: destination)
        state.newestSubject = (destination, text)
        return text
    }

    func answered(_ id: String, tag: UInt64, _ result: Result<PublishAcknowledgement, NATSError>) {
        guard case .success(let told) = result, told.isDuplicate, told.sequence > 0,
            let (message, route) = doubt(id, tag)
        else { return answered(Answer(id: id, result, route: tag)) }
        Task { [weak self] in
            let isTaken = await Self.isTaken(message, by: told.sequence, in: told.stream, route)
            let refusal = NATSError.invalidArgument(
                "The identifier \(id) is taken: another message is stored under it. Choose another one.")
            self?.answered(Answer(id: id, isTaken ? .failure(refusal) : result, route: tag))
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
            answers.append(answer)
            return answers.count == 1
        }
        if isFirst { Task { [weak self] in self?.takeAnswers() } }
    }

    private func takeAnswers() {
        state.withLockedValue { state in
            let taken = answers.withLockedValue { answers in
                defer { answers = [] }
                return answers
            }
            // The failure of a connection says nothing about its messages, which go back into the queue with the news
            // of the loss. A late acknowledgement still counts: the server has the message.
            let present = state.route.flatMap { $0.jetStream.connection.isOpen ? $0.number : nil }
            let heard = taken.lazy.filter { $0.failure == nil || $0.route == present }
            perform(state.delivery.answered(heard.map { ($0.id, $0.result) }, at: clock.now), &state)
        }
    }

    /// Takes in what was found out over a route, unless it is no longer the present one.
    private func report(_ route: Route, _ change: (inout Delivery, ContinuousClock.Instant) -> [Delivery.Action]) {
        state.withLockedValue { state in
            guard state.route?.number == route.number else { return }
            perform(change(&state.delivery, clock.now), &state)
        }
    }
}
