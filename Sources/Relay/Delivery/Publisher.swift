import NATS
import NIOConcurrencyHelpers
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Drives ``Delivery``: does over the present connection what it decides. Any thread may call; no call waits.
final class Publisher: Sendable {
    /// The way that messages take on one connection.
    private struct Route: Sendable {
        let jetStream: JetStream
        let namespace: RelayConfiguration.Namespace
        /// Counts the connections.
        let number: UInt64
    }

    private struct State {
        var delivery: Delivery
        var route: Route?
        var lastRoute: UInt64 = 0
        /// Whether a session has begun, so that messages may wait for one.
        var hasBegun = false
        /// Puts the user's name under a line that came without one.
        var signature: (@Sendable (inout OutboxMessage) -> Void)?
        /// Where the newest message went, and the subject that this is: the next one mostly goes there too.
        var newestSubject: (destination: Destination, text: String)?
        var flushWaiters: [Completion<Bool>] = []
        var emptyWaiters: [Completion<Bool>] = []
        var alarm: Task<Void, Never>?
    }

    /// Where publishes are.
    let board = StatusBoard<PublishNews>(nil, bufferedValues: 65_536)
    private let state: NIOLockedValueBox<State>
    /// The server's answers that have not been taken in yet: one task takes many.
    private let answers = NIOLockedValueBox<[Answer]>([])

    private struct Answer {
        let id: String
        let result: Result<PublishAcknowledgement, NATSError>
        let route: UInt64
    }

    private let maximumMessageBytes: Int
    private let clock: any Timekeeper

    /// - Parameter maximumMessageBytes: the largest message to take; the server's own limit applies as well.
    init(policy: OutboxPolicy, maximumMessageBytes: Int, clock: any Timekeeper) {
        state = NIOLockedValueBox(State(delivery: Delivery(policy: policy)))
        self.maximumMessageBytes = maximumMessageBytes
        self.clock = clock
    }

    // MARK: Coming in

    /// How many messages wait or are under way.
    var count: Int { state.withLockedValue { $0.delivery.outbox.count } }

    /// A session begins: messages may wait for it from now on.
    func begin() { state.withLockedValue { $0.hasBegun = true } }

    /// Takes a message in.
    func submit(_ message: OutboxMessage) throws(RelayError) {
        let result = state.withLockedValue { state in submit(message, &state) }
        try result.get()
    }

    private func submit(_ message: OutboxMessage, _ state: inout State) -> Result<Void, RelayError> {
        guard state.hasBegun else { return .failure(.notConnected) }
        let serversLimit = state.route.map { $0.jetStream.connection.maximumPayload - 256 } ?? .max
        let limit = min(maximumMessageBytes, max(0, serversLimit))
        guard message.payload.count <= limit else {
            return .failure(.tooLarge(bytes: message.payload.count, limit: limit))
        }
        var message = message
        if message.unsigned != nil { state.signature?(&message) }
        do throws(RelayError) {
            perform(try state.delivery.submit(message, at: clock.now), &state)
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

    /// The subscriptions are live on a connection: what waits leaves over it.
    func open(_ jetStream: JetStream, _ namespace: RelayConfiguration.Namespace) {
        state.withLockedValue { state in
            state.lastRoute += 1
            state.route = Route(jetStream: jetStream, namespace: namespace, number: state.lastRoute)
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

    /// Discards what waits, whatever the policy says.
    func discardAll() {
        state.withLockedValue { state in perform(state.delivery.discardAll(.closedByUser), &state) }
    }

    /// What waited for the present connection, and what became of it; empty afterwards.
    func takeResent() -> [ResentMessage] { state.withLockedValue { $0.delivery.takeResent() } }

    /// The client is gone.
    func end() {
        let state = state.withLockedValue { state in
            state.route = nil
            state.alarm?.cancel()
            giveUpWaiting(&state)
            return state
        }
        for message in state.delivery.outbox.messages { message.pending?.end(.failed(.cancelled)) }
        board.finish()
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
            if isWatched {
                board.post(
                    PublishNews(id: resolution.id, state: PublishState(resolution.outcome)), keepsCurrent: false)
            }
            resolution.pending?.end(resolution.outcome)
        case .send(let message):
            guard let route = state.route else { return }
            if isWatched { board.post(PublishNews(id: message.id, state: .sending), keepsCurrent: false) }
            do throws(NATSError) { try send(message, over: route, &state) } catch {
                if route.jetStream.connection.isOpen { refused.append((message.id, .failure(error))) }
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
            Task { [weak self] in
                let finding = await Self.find(late, topic, route)
                self?.report(route) { $0.lookedUp(id: late.message.id, finding, at: $1) }
            }
        }
    }

    private func send(_ message: OutboxMessage, over route: Route, _ state: inout State) throws(NATSError) {
        let subject = Self.subject(of: message.destination, route.namespace, &state)
        let (id, number) = (message.id, route.number)
        // The connection lets go of this with the answer, or with its end.
        try route.jetStream.send(message.payload, to: subject, messageID: id) { [self] result in
            answered(Answer(id: id, result: result, route: number))
        }
    }

    private static func subject(
        of destination: Destination, _ namespace: RelayConfiguration.Namespace, _ state: inout State
    ) -> String {
        if let newest = state.newestSubject, newest.destination == destination { return newest.text }
        let text =
            switch destination {
            case .topic(let topic): "\(namespace.hash).\(topic)"
            case .postbox(let user, let postbox): "postbox.\(user).\(postbox)"
            }
        state.newestSubject = (destination, text)
        return text
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
            // The failure of a connection says nothing about its messages, which go back into the queue with the news of the
            // loss. A late acknowledgement still counts: the server has the message.
            let present = state.route.flatMap { $0.jetStream.connection.isOpen ? $0.number : nil }
            let heard = taken.lazy.filter { answer in
                if case .failure = answer.result { answer.route == present } else { true }
            }
            perform(state.delivery.answered(heard.lazy.map { ($0.id, $0.result) }, at: clock.now), &state)
        }
    }

    /// Takes in what was found out over a route, unless it is no longer the present one.
    private func report(_ route: Route, _ change: (inout Delivery, ContinuousClock.Instant) -> [Delivery.Action]) {
        state.withLockedValue { state in
            guard state.route?.number == route.number else { return }
            perform(change(&state.delivery, clock.now), &state)
        }
    }

    // MARK: Questions

    /// The state of a letter's postbox; nil if the network does not say.
    private static func recipient(
        _ user: String, _ postbox: String, _ route: Route, isRefused: Bool, _ clock: any Timekeeper
    ) async -> RecipientReply.State? {
        let answer = try? await route.jetStream.connection.request(
            ByteBuffer(), to: "relay.recipient.\(user).\(postbox)", timeout: .seconds(5))
        let reply = answer.flatMap { try? JSONDecoder().decode(RecipientReply.self, from: Data($0.bytes)) }
        // The letter may have been stored a moment before the postbox was closed.
        if !isRefused, let state = reply?.state, state != .accepting { try? await clock.sleep(for: .milliseconds(250)) }
        return reply?.state
    }

    private static func isStreamMissing(_ topic: String, _ route: Route) async -> Bool {
        guard let pattern = try? TopicPattern(topic) else { return false }
        do throws(NATSError) {
            _ = try await route.namespace.source(of: pattern, route.jetStream).extent()
            return false
        } catch .jetStream(let failure) {
            return failure.errorCode == JetStreamFailure.streamNotFound
        } catch {
            return false
        }
    }

    /// How many of a topic's messages are gone through for one.
    private static let searchLimit = 20_000
    private static let searchPage = 500
    private static let searchBytes = 16 << 20

    /// Looks for a message where it can have been stored.
    private static func find(_ late: Outbox.LateMessage, _ topic: String, _ route: Route) async -> Delivery.Finding {
        guard let pattern = try? TopicPattern(topic) else { return .unknown }
        let source = route.namespace.source(of: pattern, route.jetStream)
        do throws(NATSError) {
            let extent = try await source.extent()
            let oldest = max(1, extent.first)
            let isComplete: Bool
            var next: UInt64
            if let newest = late.newestBefore, newest <= extent.last {
                (next, isComplete) = (max(newest + 1, oldest), true)
            } else {
                next = try await source.sequence(before: extent.last + 1, newest: searchLimit, in: extent)
                isComplete = next <= oldest
            }
            var seen = 0
            while next <= extent.last {
                let page = try await route.jetStream.page(
                    of: source.name, filter: source.filter, from: .sequence(next), limit: searchPage,
                    bytes: searchBytes)
                for message in page.messages {
                    if message.headers["Nats-Msg-Id"] == late.message.id { return .stored(sequence: message.sequence) }
                }
                seen += page.messages.count
                guard let last = page.messages.last, page.pending > 0 else { break }
                guard seen < 2 * searchLimit else { return .unknown }
                next = last.sequence + 1
            }
            return isComplete ? .absent : .unknown
        } catch {
            if case .publishNotPermitted = error { return .unknown }
            if case .jetStream(let failure) = error, !failure.isRetryable { return .unknown }
            return .failed
        }
    }
}
