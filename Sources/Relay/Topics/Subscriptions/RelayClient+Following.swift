import NATS

// What is brought back on every connection.
extension RelayClient {
    /// Follows a stream from now on, on this connection and on those to come.
    ///
    /// - Parameter onScreenOnly: whether it is let go while its view is off the screen.
    /// - Returns: the reader's end, and a completion that is fulfilled when the server knows of it; nil while not
    ///   connected.
    func follow<Event: Sendable>(
        _ stream: StreamSubscription<Event>, as name: String, onScreenOnly: Bool = false,
        _ source: @escaping @Sendable (RelayConfiguration.Namespace, JetStream) -> StreamSource
    ) -> (events: Subscription<Event>, opened: Completion<Void>?) {
        let follower = StreamFollower(name: name, stream: stream, source: source)
        let id = follower.id
        let opened = handleFollowing(.added(follower)).first
        let events = Subscription(stream, onScreen: onScreenOnly ? lease(id) : nil) { [weak self] in
            Task { await self?.unfollow(id) }
        }
        return (events, opened)
    }

    /// Carries out what becomes of something that is followed.
    ///
    /// - Returns: for what begins to be followed, a completion that is fulfilled once nothing of it can be missed.
    func perform(_ action: Following.Action) -> Completion<Void>? {
        switch action {
        case .follow(let follower, let namespace):
            guard let link else { return nil }
            let id = follower.id
            return follower.follow(over: link, namespace) { standing in
                await link.inClient { client in
                    _ = client.handleFollowing(.changed(id: id, standing))
                }
            }
        case .tell(let follower): follower.connectionChanged(status)
        case .pause(let follower): follower.pause()
        case .end(let follower): follower.end(.success(()))
        case .report(let failing, let isComplete):
            handle(.followingChanged(failing: failing, isComplete: isComplete))
        case .needConnection: connectionIsNeeded()
        case .releaseConnection: subscriptionsEnded()
        }
        return nil
    }

    private func unfollow(_ id: String) {
        handleScreen(.ended(id: id))
        handleFollowing(.removed(id: id))
    }
}
