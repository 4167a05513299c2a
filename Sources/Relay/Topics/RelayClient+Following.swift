import NATS

// What is brought back on every connection.
extension RelayClient {
    /// Follows a stream from now on, on this connection and on those to come.
    ///
    /// - Parameter onScreenOnly: whether it is let go while its view is off the screen.
    /// - Returns: the reader's end, and a completion that is fulfilled when the server knows of it; nil while not connected.
    func follow<Event: Sendable>(
        _ stream: StreamSubscription<Event>, as name: String, onScreenOnly: Bool = false,
        _ source: @escaping @Sendable (RelayConfiguration.Namespace, JetStream) -> StreamSource
    ) -> (events: Subscription<Event>, opened: Completion<Void>?) {
        let follower = StreamFollower(name: name, stream: stream, source: source)
        let key = following.add(follower)
        connectionIsNeeded()
        // Whoever subscribes while there is no connection to wait for learns it.
        follower.connectionChanged(status)
        var opened: Completion<Void>?
        if let link, let namespace, link.connection != nil {
            opened = follow(follower, key, over: link, namespace)
        }
        let events = Subscription(stream, onScreen: onScreenOnly ? lease(key) : nil) { [weak self] in
            Task { await self?.unfollow(key) }
        }
        return (events, opened)
    }

    private func follow(
        _ follower: any Follower, _ key: UInt64, over link: LiveLink, _ namespace: RelayConfiguration.Namespace
    ) -> Completion<Void> {
        follower.follow(over: link, namespace) { standing in
            await link.inClient { $0.followerChanged(key, standing) }
        }
    }

    /// Has everything followed over this link. All at once: a thousand topics cost a few round trips together, not a few
    /// each.
    func followAll(over link: LiveLink, _ namespace: RelayConfiguration.Namespace) -> [Completion<Void>] {
        self.namespace = namespace
        return following.held.map { follow($0.follower, $0.key, over: link, namespace) }
    }

    private func followerChanged(_ key: UInt64, _ standing: FollowerStanding) {
        if following.changed(key, standing) { reportFollowing() }
    }

    /// Lets a subscription go for now. Its place in the stream stays.
    func release(_ key: UInt64) {
        guard let follower = following.release(key) else { return }
        follower.pause()
        reportFollowing()
        subscriptionEnded()
    }

    /// Takes a subscription again that was let go, behind its place in the stream.
    func takeAgain(_ key: UInt64) {
        guard let follower = following.hold(key) else { return }
        connectionIsNeeded()
        guard let link, let namespace, link.connection != nil else { return }
        _ = follow(follower, key, over: link, namespace)
    }

    private func unfollow(_ key: UInt64) {
        endLease(of: key)
        following.remove(key)?.end(.success(()))
        reportFollowing()
        subscriptionEnded()
    }

    private func reportFollowing() {
        handle(.followingChanged(failing: following.failing, isComplete: following.isComplete))
    }
}
