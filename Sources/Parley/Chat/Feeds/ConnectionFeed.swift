import Relay

/// The connection and its state, and who the person is.
actor ConnectionFeed {
    enum Request: Equatable, Sendable {
        /// The person is here, or is not.
        case setActive(Bool)
        /// What becomes of the connection while the person is not here.
        case setSuspension(LifecyclePolicy)
        /// Try to connect at once rather than when the wait is over.
        case nudge
        /// See whether the connection still lives: it may have died without a word.
        case probe
        case disconnect
        case reconnect
    }

    private let core: FeedCore
    private let letters: LettersFeed
    private var user: String
    /// Why there was no access token; shown when the session ends because of it.
    private var tokenFailure: String?

    init(_ core: FeedCore, _ letters: LettersFeed) {
        (self.core, self.letters, user) = (core, letters, core.connector.user)
    }

    nonisolated func perform(_ request: Request) async {
        switch request {
        case .setActive(let isActive): await core.client.setAppStateActive(isActive)
        case .setSuspension(let policy): await core.client.setLifecyclePolicy(policy)
        case .nudge: await core.client.nudge()
        case .probe: await core.client.lifecycleChanged(.probe)
        case .disconnect:
            // What was typed before leaves first.
            await core.client.outboxKept()
            await core.client.disconnect()
        case .reconnect:
            await core.client.outboxKept()
            await core.client.reconnect()
        }
    }

    func follow(_ statuses: AsyncStream<ConnectionStatus>) async {
        for await status in statuses { await statusChanged(status) }
    }

    func followTokenFailures() async {
        guard let failures = core.connector.tokenCommand?.failures else { return }
        for await words in failures {
            tokenFailure = words
            await core.send(.log(words))
            // The end of the session may have been quicker.
            if core.client.status.state == .disconnected { await statusChanged(core.client.status) }
        }
    }

    private func statusChanged(_ status: ConnectionStatus) async {
        let isConnected = status.state == .connected
        if isConnected {
            if let name = core.client.user, name != user || !core.connector.isNamed {
                // A token names its user; until one arrives the user is not known.
                user = name
                await core.send(.identified(.init(user: name, network: core.connector.network)))
            }
            await core.send(.bounded(messageBytes: core.client.largestText))
            await core.send(.permitted(core.client.accessRights))
        }
        await core.send(.statusChanged(status))
        guard isConnected || status.state == .disconnected else { return }
        if let words = exchange(&tokenFailure, with: nil), !isConnected {
            await core.send(.notice("\(words) /reconnect tries again.", isFailure: true))
        }
        if isConnected { await letters.connected() }
    }
}
