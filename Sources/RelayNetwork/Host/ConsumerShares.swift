import Relay

/// Who has made which consumers since the host began to watch, and which are beyond a user's share: a pure value.
///
/// A server bounds the consumers of a stream, not those of one user; what it reports of each call names the account
/// that called.
struct ConsumerShares: Sendable {
    /// A consumer.
    struct Place: Hashable, Sendable {
        var stream: String
        var name: String
    }

    /// How many a user may have at once in each stream.
    let bound: Int
    private var owners: [Place: UserName] = [:]
    private var owned: [UserName: Set<Place>] = [:]
    /// Users who were shut out a moment ago, and until when what they make goes at once.
    private var out: [UserName: ContinuousClock.Instant] = [:]

    init(bound: Int) { self.bound = bound }

    /// A consumer was made, or changed by whoever knows its name.
    /// - Returns: whether it has to go.
    mutating func made(_ place: Place, by user: UserName, at now: ContinuousClock.Instant) -> Bool {
        if owners[place] == nil {
            owners[place] = user
            owned[user, default: []].insert(place)
        }
        return isBeyond(place, of: user, at: now)
    }

    /// Whether a user's consumer has to go.
    mutating func isBeyond(_ place: Place, of user: UserName, at now: ContinuousClock.Instant) -> Bool {
        guard let all = owned[user], all.contains(place) else { return false }
        if let until = out[user] {
            if now < until { return true }
            out[user] = nil
        }
        return all.count > bound && all.count { $0.stream == place.stream } > bound
    }

    /// The consumers of a stream that are known.
    func known(in stream: String) -> Set<Place> { Set(owners.keys.filter { $0.stream == stream }) }

    /// A consumer has gone, or is about to.
    mutating func ended(_ place: Place) {
        guard let user = owners.removeValue(forKey: place) else { return }
        owned[user]?.remove(place)
        if owned[user]?.isEmpty == true { owned[user] = nil }
    }

    /// A user is shut out.
    /// - Returns: the user's consumers, which have to go.
    mutating func shut(_ user: UserName, until: ContinuousClock.Instant) -> [Place] {
        out[user] = until
        return Array(owned[user] ?? [])
    }
}
