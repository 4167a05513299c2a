import NATS

/// Something that is brought back on every connection.
protocol Follower: Sendable {
    /// Tells it from everything else that is followed.
    var id: String { get }
    /// How a person calls it.
    var name: String { get }
    /// Follows over this link.
    ///
    /// - Parameter report: called with each change of the follower's standing.
    /// - Returns: fulfilled once nothing that is stored later can be missed, or once it has failed.
    func follow(
        over link: LiveLink, _ namespace: RelayConfiguration.Namespace,
        report: @escaping @Sendable (FollowerStanding) async -> Void
    ) -> Completion<Void>
    /// The connection's status has changed.
    func connectionChanged(_ status: ConnectionStatus)
    func pause()
    func end(_ ending: Result<Void, RelayError>)
}

/// Whether something that is followed works on the present connection.
enum FollowerStanding: Hashable, Sendable {
    /// Nothing that is stored later can be missed.
    case live
    /// It failed and is tried again. What passes by itself keeps the connection from counting as restored.
    case failed(passes: Bool)
}

/// What is brought back on every connection, under which names, and the standing of each, as a pure value: what happens
/// comes in, and what to do goes out.
struct Following: Sendable {
    /// What can happen.
    enum Event: Sendable {
        /// Something is followed from now on.
        case added(any Follower)
        /// Something is not needed for now, and is followed on no connection until it is. Its place in the stream
        /// stays.
        case letGo(id: String)
        /// Something that was let go is needed again, behind its place in the stream.
        case takenAgain(id: String)
        /// Something is followed no more.
        case removed(id: String)
        /// A follower has reported how it stands.
        case changed(id: String, FollowerStanding)
        /// There is a connection over which everything can be followed, and the network's names are these.
        case opened(RelayConfiguration.Namespace)
        /// The connection's status has changed.
        case connectionChanged
        /// The connection is gone, and with it what failed on it.
        case connectionLost
        /// Another user signs in. The names are these; nil where the network has to be asked for them.
        case userChanged(RelayConfiguration.Namespace?)
        /// The client follows nothing any more.
        case closed
    }

    /// What the driver does, in order.
    enum Action: Sendable {
        /// Follow this over the present link, and report each ``Event/changed(id:_:)``.
        case follow(any Follower, RelayConfiguration.Namespace)
        /// Tell this how the connection stands now.
        case tell(any Follower)
        /// Have this stop reading; it goes on with the next connection.
        case pause(any Follower)
        /// End this.
        case end(any Follower)
        /// Hand these to the connection's machine: what is not live, by name, and whether none of it passes by itself.
        case report(failing: [String], isComplete: Bool)
        /// See that there is a connection, which may be at rest.
        case needConnection
        /// Let the connection rest, unless something else needs it.
        case releaseConnection
    }

    private var followers: [String: any Follower] = [:]
    private var failures: [String: Bool] = [:]
    /// What was let go for now.
    private var released: Set<String> = []
    /// Whether what is added can be followed at once.
    private var isOpen = false
    /// The names of the network's topics, as far as they are known.
    private(set) var namespace: RelayConfiguration.Namespace?

    /// - Parameter namespace: the configured names; nil where the network has to be asked for them.
    init(_ namespace: RelayConfiguration.Namespace? = nil) { self.namespace = namespace }

    /// Whether nothing is to be followed now.
    var isEmpty: Bool { followers.count == released.count }

    /// All that is followed, also what was let go for now.
    var all: [any Follower] { Array(followers.values) }

    /// Takes in what happened and says what to do.
    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .added(let follower):
            followers[follower.id] = follower
            // Whoever subscribes while there is no connection to wait for learns it.
            let actions: [Action] = [.needConnection, .tell(follower)]
            guard isOpen, let namespace else { return actions }
            return actions + [.follow(follower, namespace)]
        case .letGo(let id):
            guard let follower = followers[id], released.insert(id).inserted else { return [] }
            failures[id] = nil
            let actions: [Action] = [.pause(follower), report]
            return isEmpty ? actions + [.releaseConnection] : actions
        case .takenAgain(let id):
            guard released.remove(id) != nil, let follower = followers[id] else { return [] }
            guard isOpen, let namespace else { return [.needConnection] }
            return [.needConnection, .follow(follower, namespace)]
        case .removed(let id):
            failures[id] = nil
            released.remove(id)
            guard let follower = followers.removeValue(forKey: id) else { return [] }
            let actions: [Action] = [.end(follower), report]
            return isEmpty ? actions + [.releaseConnection] : actions
        case .changed(let id, let standing):
            guard followers[id] != nil, !released.contains(id) else { return [] }
            let failure: Bool? = if case .failed(let passes) = standing { passes } else { nil }
            guard failures[id] != failure else { return [] }
            failures[id] = failure
            return [report]
        case .opened(let namespace):
            (self.namespace, isOpen) = (namespace, true)
            return all.filter { !released.contains($0.id) }.map { .follow($0, namespace) }
        case .connectionChanged: return all.map { .tell($0) }
        case .connectionLost:
            (failures, isOpen) = ([:], false)
            return all.map { .pause($0) }
        case .userChanged(let namespace):
            self.namespace = namespace
            return []
        case .closed:
            defer { (followers, failures, released) = ([:], [:], []) }
            return all.map { .end($0) }
        }
    }

    private var report: Action {
        .report(
            failing: failures.keys.compactMap { followers[$0]?.name }.sorted(),
            isComplete: !failures.values.contains(true))
    }
}
