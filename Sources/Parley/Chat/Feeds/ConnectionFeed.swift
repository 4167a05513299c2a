import Relay

/// The connection, its state, and the user's identity.
actor ConnectionFeed {
    enum Request: Equatable, Sendable {
        case setActive(Bool)
        /// What happens to the connection while the user is away.
        case setSuspension(LifecyclePolicy)
        /// Retry at once rather than after the wait.
        case nudge
        /// Check whether the connection is still alive: it may have died silently.
        case probe
        case disconnect
        case reconnect
    }

    private let core: FeedCore
    private let letters: LettersFeed
    private var user: String
    /// Why there was no access token; shown if the session ends because of it.
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
            // Lines typed before are sent first.
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
            // The session may already have ended.
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
