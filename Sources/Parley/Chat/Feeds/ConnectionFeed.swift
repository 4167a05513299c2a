import Relay

/// The connection and its state, and who the person is.
actor ConnectionFeed {
    /// What it is asked for.
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

    private let client: RelayClient
    private let connector: Connector
    private let queue: EventQueue
    private let letters: LettersFeed
    private var user: String
    /// Why there was no access token; shown when the session ends because of it.
    private var tokenFailure: String?

    init(_ client: RelayClient, _ connector: Connector, _ queue: EventQueue, _ letters: LettersFeed) {
        (self.client, self.connector, self.queue, self.letters) = (client, connector, queue, letters)
        user = connector.user
    }

    func perform(_ request: Request) async {
        switch request {
        case .setActive(let isActive): await client.setAppStateActive(isActive)
        case .setSuspension(let policy): await client.setLifecyclePolicy(policy)
        case .nudge: await client.nudge()
        case .probe: await client.lifecycleChanged(.probe)
        case .disconnect: await client.disconnect()
        case .reconnect: await client.reconnect()
        }
    }

    func follow(_ statuses: AsyncStream<ConnectionStatus>) async {
        for await status in statuses { await statusChanged(status) }
    }

    func followTokenFailures() async {
        guard let failures = connector.tokenCommand?.failures else { return }
        for await words in failures { await tokenFailed(words) }
    }

    private func statusChanged(_ status: ConnectionStatus) async {
        if status.state == .connected, let name = client.user, name != user || !connector.isNamed {
            // A token names its user; until one arrives the user is not known.
            user = name
            await queue.send(.identified(.init(user: name, network: connector.network)))
        }
        if status.state == .connected {
            await queue.send(.bounded(messageBytes: client.largestText))
            await queue.send(.permitted(client.accessRights))
        }
        await queue.send(.statusChanged(status))
        if status.state == .disconnected, let words = tokenFailure {
            tokenFailure = nil
            await queue.send(.notice("\(words) /reconnect tries again.", isFailure: true))
        } else if status.state == .connected {
            tokenFailure = nil
        }
        if status.state == .connected { await letters.connected() }
    }

    private func tokenFailed(_ words: String) async {
        tokenFailure = words
        await queue.send(.log(words))
        // The end of the session may have been quicker.
        if client.status.state == .disconnected { await statusChanged(client.status) }
    }
}
