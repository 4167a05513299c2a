import NIOConcurrencyHelpers

/// One dial and the connection that it leads to, until their end.
///
/// An ended link reports nothing to its owner (``inOwner(_:)``). While it waits it holds the owner weakly, so that the
/// owner can be deallocated at any time.
package final class ConnectionLink<Owner: ConnectionOwner>: Sendable {
    private struct State {
        var connection: NATSConnection?
        var tasks: [Task<Void, Never>] = []
        /// Tasks that hear what was said before the connection's end, and so why it ended.
        var lastToHear: [Task<Void, Never>] = []
        var hasEnded = false
        /// When a slow reader was last reported, which happens at most once a second.
        var slowReaderTold: ContinuousClock.Instant?
    }

    package let generation: UInt64
    package let surroundings: Surroundings
    package let attachment: Owner.Attachment
    private let owner: @Sendable () -> Owner?
    private let state = NIOLockedValueBox(State())

    init(_ generation: UInt64, of owner: Owner, _ attachment: Owner.Attachment, _ surroundings: Surroundings) {
        self.generation = generation
        self.attachment = attachment
        self.surroundings = surroundings
        self.owner = { [weak owner] in owner }
    }

    /// The connection, once the server has taken the login.
    package var connection: NATSConnection? { state.withLockedValue(\.connection) }

    /// Runs `body` in the owner's isolation, the only way there. Nil if this link has ended or its owner is gone.
    package func inOwner<Value: Sendable>(_ body: @Sendable (isolated Owner) -> Value) async -> Value? {
        guard let owner = owner() else { return nil }
        return await owner.run { owner in owner.connection.link === self ? body(owner) : nil }
    }

    /// Runs `work` until the link's end, which cancels it. A loss first waits for the last to hear, which ends once it
    /// has heard everything before the loss and so knows why the server closed the connection.
    package func start(isLastToHear: Bool = false, _ work: @escaping @Sendable (ConnectionLink) async -> Void) {
        let task = Task { await work(self) }
        let isLate = state.withLockedValue { state in
            guard !state.hasEnded else { return true }
            state.tasks.append(task)
            if isLastToHear { state.lastToHear.append(task) }
            return false
        }
        if isLate { task.cancel() }
    }

    package func lost(_ reason: ConnectionReason) async {
        let (connection, lastToHear) = state.withLockedValue { ($0.connection, $0.lastToHear) }
        if connection?.isOpen == false { for task in lastToHear { await task.value } }
        await failed(LinkFailure(reason), at: connection?.address)
    }

    /// Ends everything that belongs to this link except the socket.
    func end() {
        let tasks = state.withLockedValue { state in
            state.hasEnded = true
            defer { (state.tasks, state.lastToHear) = ([], []) }
            return state.tasks
        }
        for task in tasks { task.cancel() }
    }

    private func failed(_ failure: LinkFailure, at address: ServerAddress? = nil) async {
        await inOwner { $0.connection.failed(failure, at: address, for: $0) }
    }

    // MARK: The dial

    /// Dials once the owner is ready and the previous connection has said its last words.
    func dial(after farewell: Task<Void, Never>?) {
        start { link in
            await farewell?.value
            do throws(ConnectionReason) {
                if let plan = try await Owner.dialPlan(for: link) { await link.dial(plan) }
            } catch {
                await link.failed(LinkFailure(error))
            }
        }
    }

    private func dial(_ plan: DialPlan) async {
        guard let next = await inOwner({ $0.connection.nextServer(of: plan) }) else { return }
        guard let next else { return await failed(LinkFailure(ConnectionReason.unreachable("no server is known"))) }
        do throws(NATSError) {
            let connection = try await surroundings.dial(next, plan.options)
            // A dial that is no longer wanted closes its socket.
            guard adopt(connection), await inOwner({ $0.connection.dialSucceeded(self, connection, for: $0) }) != nil
            else { return connection.closeNow() }
        } catch {
            await failed(LinkFailure(error), at: next)
        }
    }

    private func adopt(_ connection: NATSConnection) -> Bool {
        state.withLockedValue { state in
            guard !state.hasEnded else { return false }
            state.connection = connection
            return true
        }
    }

    // MARK: The connection's events

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
        case .roundTrip(let duration): await handle(.roundTrip(generation: generation, duration))
        case .silent(let duration):
            await handle(.silence(generation: generation, since: surroundings.clock.now - duration))
        case .heardAgain: await handle(.silence(generation: generation, since: nil))
        case .infoChanged(let info): await inOwner { $0.connection.advertised(info, by: connection) }
        case .slowConsumer: if isSlowReaderNews() { await handle(.readerFellBehind(generation: generation)) }
        case .notice: break
        }
    }

    private func handle(_ event: ConnectionMachine.Event) async {
        await inOwner { $0.connection.handle(event, for: $0) }
    }

    private func isSlowReaderNews() -> Bool {
        let now = surroundings.clock.now
        return state.withLockedValue { state in
            if let told = state.slowReaderTold, now - told < .seconds(1) { return false }
            state.slowReaderTold = now
            return true
        }
    }
}

struct LinkFailure: Sendable {
    let reason: ConnectionReason
    /// The longest wait before the next attempt; nil leaves that to the policy.
    var retryLimit: Duration?
    /// Whether the settings do not fit this server.
    var isOfSettings = false

    init(_ reason: ConnectionReason) { self.reason = reason }

    init(_ error: NATSError) {
        reason = ConnectionReason(error)
        switch error {
        // Connections of an account that was closed free their places within seconds.
        case .connectionLimit: retryLimit = .seconds(10)
        case .tlsFirst, .speaksBeforeTLS: isOfSettings = true
        default: break
        }
    }
}
