import NATS
import NIOConcurrencyHelpers

/// One dial and the connection that it leads to, until their end: the login, the session that is held over it, what is
/// said on it, and what is brought back over it.
///
/// Once it has ended it reports nothing to its client any more (``inClient(_:)``). It holds only a weak reference to
/// the client while it waits, so that the client can be deallocated at any time.
final class LiveLink: Sendable {
    private struct State {
        var connection: NATSConnection?
        var apiPrefix = JetStream.standardPrefix
        var readsBatches = false
        var tasks: [Task<Void, Never>] = []
        /// The one that hears the administrator; it ends when all that came before the connection's end is heard.
        var control: Task<Void, Never>?
        var hasEnded = false
        /// When a slow reader was last reported: one that stays slow is news once a second.
        var slowReaderTold: ContinuousClock.Instant?
    }

    /// Which dial this is, for the machine.
    let generation: UInt64
    let surroundings: Surroundings
    /// Whose each of the user's postboxes is.
    let personas: Personas
    /// Which of their letters were deleted over this connection.
    let deletedLetters: DeletedLetters
    private let pullLimit: PullLimit
    private let leftConsumers: LeftConsumers
    private let client: @Sendable () -> RelayClient?
    private let state = NIOLockedValueBox(State())

    init(
        _ generation: UInt64, of client: RelayClient, _ personas: Personas, _ pullLimit: PullLimit,
        _ leftConsumers: LeftConsumers, _ surroundings: Surroundings
    ) {
        self.pullLimit = pullLimit
        self.leftConsumers = leftConsumers
        self.generation = generation
        self.personas = personas
        self.surroundings = surroundings
        deletedLetters = DeletedLetters(clock: surroundings.clock)
        self.client = { [weak client] in client }
    }

    /// The connection, once the server has taken the login.
    var connection: NATSConnection? { state.withLockedValue(\.connection) }

    /// JetStream over this connection, as the network has it.
    var jetStream: JetStream? {
        state.withLockedValue { state in
            guard let connection = state.connection else { return nil }
            var jetStream = JetStream(
                connection, apiPrefix: state.apiPrefix, timeout: surroundings.answerLimit)
            jetStream.readsBatches = state.readsBatches
            jetStream.pullLimit = pullLimit
            jetStream.leftConsumers = leftConsumers
            return jetStream
        }
    }

    /// Runs `body` where the client's state is: the one way there. Nil when this link has ended or its client is gone.
    func inClient<Value: Sendable>(_ body: @Sendable (isolated RelayClient) -> Value) async -> Value? {
        guard let client = client() else { return nil }
        return await client.run(body, for: self)
    }

    /// Has something done until the link's end, which cancels it.
    @discardableResult
    func start(_ work: @escaping @Sendable (LiveLink) async -> Void) -> Task<Void, Never> {
        let task = Task { await work(self) }
        let isLate = state.withLockedValue { state in
            if !state.hasEnded { state.tasks.append(task) }
            return state.hasEnded
        }
        if isLate { task.cancel() }
        return task
    }

    /// The login has succeeded; false when it is no longer waited for.
    func adopt(_ connection: NATSConnection) -> Bool {
        state.withLockedValue { state in
            guard !state.hasEnded else { return false }
            state.connection = connection
            return true
        }
    }

    /// Speaks to JetStream as the network has it from now on.
    func speak(as namespace: RelayConfiguration.Namespace) {
        state.withLockedValue { ($0.apiPrefix, $0.readsBatches) = (namespace.apiPrefix, namespace.readsBatches) }
    }

    /// Ends everything that belongs to this link, but for the socket.
    func end() {
        let tasks = state.withLockedValue { state in
            state.hasEnded = true
            defer { (state.tasks, state.control) = ([], nil) }
            return state.tasks
        }
        for task in tasks { task.cancel() }
    }

    // MARK: What is said on the connection

    /// Listens to the connection's own news.
    func follow(_ connection: NATSConnection) {
        let events = connection.events
        start { link in
            for await event in events { await link.heard(event, on: connection) }
        }
    }

    private func heard(_ event: NATSConnectionEvent, on connection: NATSConnection) async {
        switch event {
        case .closed(let error): await lost(ConnectionReason(error ?? .closed))
        // Its JetStream has stopped already, so nothing is gained by staying.
        case .lameDuck: await lost(.connectionLost("the server is shutting down"))
        case .roundTrip(let duration):
            await inClient { [generation] in $0.handle(.roundTrip(generation: generation, duration)) }
        case .silent(let duration):
            let since = surroundings.clock.now - duration
            await inClient { [generation] in $0.handle(.silence(generation: generation, since: since)) }
        case .heardAgain: await inClient { [generation] in $0.handle(.silence(generation: generation, since: nil)) }
        case .infoChanged(let info): await inClient { $0.advertised(by: connection, info) }
        case .slowConsumer:
            let now = surroundings.clock.now
            let isNews = state.withLockedValue { state in
                if let told = state.slowReaderTold, now - told < .seconds(1) { return false }
                state.slowReaderTold = now
                return true
            }
            if isNews { await inClient { [generation] in $0.handle(.readerFellBehind(generation: generation)) } }
        case .notice: break
        }
    }

    /// Listens to the administrator. As long as the server does not permit it, nothing is heard.
    func followControl(_ connection: NATSConnection, for user: String) {
        guard
            let subscription = try? connection.subscribe(
                to: ControlMessage.subject(for: user), limits: BufferLimits(messages: 64, bytes: 1 << 20),
                isStanding: true)
        else { return }
        let control = start { link in
            do throws(NATSError) {
                var messages = subscription.makeAsyncIterator()
                while let message = try await messages.next(isolation: nil) {
                    let bytes = message.bytes
                    await link.inClient { $0.heardControl(bytes, for: user) }
                }
            } catch {
                // The end of the connection has its own news.
            }
        }
        state.withLockedValue { $0.control = control }
    }

    /// A connection that was open is of no use any more.
    func lost(_ reason: ConnectionReason) async {
        let (connection, control) = state.withLockedValue { ($0.connection, $0.control) }
        // What the administrator said before the server closed it is why it was closed.
        if connection?.isOpen == false { await control?.value }
        await inClient { [generation] in $0.linkLost(reason, from: connection?.address, generation: generation) }
    }
}
