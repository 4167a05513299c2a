import NATS
import NIOConcurrencyHelpers

/// A subscription that the client restores on every connection.
protocol Follower: Sendable {
    var id: String { get }
    /// The name for people.
    var name: String { get }
    /// Follows over this link.
    ///
    /// - Parameter report: Called with each change of the follower's standing.
    /// - Returns: Fulfilled once nothing stored later can be missed, or once it has failed.
    func follow(
        over link: LiveLink, _ namespace: RelayConfiguration.Namespace,
        report: @escaping @Sendable (FollowerStanding) async -> Void
    ) -> Completion<Void>
    func connectionChanged(_ status: ConnectionStatus)
    func pause()
    func end(_ ending: Result<Void, RelayError>)
}

/// Whether a subscription works on the present connection.
enum FollowerStanding: Hashable, Sendable {
    /// Nothing stored later can be missed.
    case live
    /// It failed and is retried. A temporary failure keeps the connection from counting as restored.
    case failed(passes: Bool)
}

/// The client's subscriptions and listeners: drives ``Following``. Belongs to the client's isolation.
final class Subscriptions {
    var listeners = Listeners()
    private var following: Following
    private var followers: [String: any Follower] = [:]
    private var timers = TimerSet<String>()

    init(_ namespace: RelayConfiguration.Namespace?) { following = Following(namespace) }

    deinit {
        timers.cancelAll()
        for follower in followers.values { follower.end(.success(())) }
    }

    /// The names of the network's topics, once known.
    var namespace: RelayConfiguration.Namespace? { following.namespace }
    var isFollowing: Bool { !following.isEmpty }

    /// Follows a stream on this connection and on later ones.
    ///
    /// - Parameter grace: How long the subscription's view may be off the screen; nil without a view.
    /// - Returns: Fulfilled once the server has the subscription; nil while not connected.
    func add(_ follower: any Follower, grace: Duration?, for client: isolated RelayClient) -> Completion<Void>? {
        followers[follower.id] = follower
        return handle(.added(id: follower.id, name: follower.name, grace: grace), for: client).first
    }

    /// Feeds the machine an event and carries out its actions.
    ///
    /// - Returns: For each subscription that starts to be followed, a completion that is fulfilled once none of its
    ///   messages can be missed.
    @discardableResult
    func handle(_ event: Following.Event, for client: isolated RelayClient) -> [Completion<Void>] {
        following.handle(event, at: client.surroundings.clock.now).compactMap { perform($0, for: client) }
    }

    private func perform(_ action: Following.Action, for client: isolated RelayClient) -> Completion<Void>? {
        switch action {
        case .follow(let id, let namespace):
            guard let link = client.link else { return nil }
            return followers[id]?.follow(over: link, namespace) { standing in
                await link.inOwner { client in
                    _ = client.subscriptions.handle(.changed(id: id, standing), for: client)
                }
            }
        case .tell(let id): followers[id]?.connectionChanged(client.status)
        case .pause(let id): followers[id]?.pause()
        case .end(let id): followers.removeValue(forKey: id)?.end(.success(()))
        case .startTimer(let id, let moment):
            timers.start(id, at: moment, on: client.surroundings.clock, for: client) { client in
                client.subscriptions.timers.cancel(id)
                client.subscriptions.handle(.timerFired(id: id), for: client)
            }
        case .cancelTimer(let id): timers.cancel(id)
        case .report(let failing, let isComplete):
            client.connection.handle(.followingChanged(failing: failing, isComplete: isComplete), for: client)
        case .needConnection: client.connectionIsNeeded()
        case .releaseConnection: client.lifecycle.handle(.subscriptionsEnded, for: client)
        }
        return nil
    }
}

extension RelayClient {
    /// Follows a stream on this connection and on later ones.
    ///
    /// - Parameter onScreenOnly: Whether it ends while its view is off the screen.
    /// - Returns: The reader's end, and a completion that is fulfilled once the server has the subscription; nil while
    ///   not connected.
    func follow<Event: Sendable>(
        _ stream: StreamSubscription<Event>, onScreenOnly: Bool = false
    ) -> (events: Subscription<Event>, opened: Completion<Void>?) {
        let id = stream.id
        let opened = subscriptions.add(stream, grace: onScreenOnly ? configuration.offScreenGrace : nil, for: self)
        let events = Subscription(stream, onScreen: onScreenOnly ? screenListener(id) : nil) { [weak self] in
            Task { await self?.run { $0.subscriptions.handle(.removed(id: id), for: $0) } }
        }
        return (events, opened)
    }

    /// Receives, on any thread, whether a subscription's view is on the screen.
    private func screenListener(_ id: String) -> @Sendable (Bool) -> Void {
        // The last call counts, in whatever order their tasks run.
        let latest = NIOLockedValueBox(true)
        return { [weak self] isOnScreen in
            latest.withLockedValue { $0 = isOnScreen }
            Task { await self?.run { $0.screenChanged(id, latest.withLockedValue(\.self)) } }
        }
    }

    private func screenChanged(_ id: String, _ isOnScreen: Bool) {
        subscriptions.handle(.shown(id: id, isOnScreen), for: self)
        // No timer runs while the connection is suspended.
        if status.state == .suspended { subscriptions.handle(.connectionRests, for: self) }
    }
}
