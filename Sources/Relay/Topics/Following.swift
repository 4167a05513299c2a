import NATS

/// Something that is brought back on every connection.
protocol Follower: Sendable {
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

/// What is brought back on every connection, and the standing of each, as a value.
struct Following: Sendable {
    private var followers: [UInt64: any Follower] = [:]
    private var failures: [UInt64: Bool] = [:]
    /// What was let go for now.
    private var released: Set<UInt64> = []
    private var next: UInt64 = 1

    /// Whether nothing is to be followed now.
    var isEmpty: Bool { followers.count == released.count }

    /// All that is followed, by its key.
    var all: [(key: UInt64, follower: any Follower)] { followers.map { ($0.key, $0.value) } }

    /// All that is to be followed now.
    var held: [(key: UInt64, follower: any Follower)] { all.filter { !released.contains($0.key) } }

    /// What is not live, by name.
    var failing: [String] { failures.keys.compactMap { followers[$0]?.name }.sorted() }

    /// Whether nothing is missing but what does not pass by itself.
    var isComplete: Bool { !failures.values.contains(true) }

    mutating func add(_ follower: any Follower) -> UInt64 {
        defer { next += 1 }
        followers[next] = follower
        return next
    }

    /// Follows something no more.
    mutating func remove(_ key: UInt64) -> (any Follower)? {
        failures[key] = nil
        released.remove(key)
        return followers.removeValue(forKey: key)
    }

    /// Lets something go for now: it is brought back on no connection.
    ///
    /// - Returns: what was held until now.
    mutating func release(_ key: UInt64) -> (any Follower)? {
        guard let follower = followers[key], released.insert(key).inserted else { return nil }
        failures[key] = nil
        return follower
    }

    /// Holds something again.
    ///
    /// - Returns: what had been let go.
    mutating func hold(_ key: UInt64) -> (any Follower)? { released.remove(key).flatMap { followers[$0] } }

    /// The standing of something has been reported; false when that is no news.
    mutating func changed(_ key: UInt64, _ standing: FollowerStanding) -> Bool {
        guard followers[key] != nil, !released.contains(key) else { return false }
        let failure: Bool? = if case .failed(let passes) = standing { passes } else { nil }
        guard failures[key] != failure else { return false }
        failures[key] = failure
        return true
    }

    /// The connection's status has changed.
    func connectionChanged(_ status: ConnectionStatus) {
        for follower in followers.values { follower.connectionChanged(status) }
    }

    /// The connection is gone, and with it what failed on it.
    mutating func pause() {
        failures = [:]
        for follower in followers.values { follower.pause() }
    }

    /// Ends all, and follows nothing any more.
    mutating func end() {
        for follower in followers.values { follower.end(.success(())) }
        (followers, failures, released) = ([:], [:], [])
    }
}
