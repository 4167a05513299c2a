/// The lanes of the outbox, found by destination.
struct OutboxLanes: Sendable {
    var all: [OutboxLane] = []
    private var places: [Destination: Int] = [:]
    /// The lane of the newest message, where the next one mostly goes too.
    private(set) var newest = 0

    private static let kept = 64

    func holds(_ destination: Destination) -> Bool { places[destination].map { !all[$0].isEmpty } ?? false }

    /// All messages, oldest first.
    var entries: [OutboxEntry] { all.flatMap { $0.underWay + $0.waiting }.sorted { $0.number < $1.number } }

    /// The index of the lane to a destination. An empty lane stays, because the pace of its destination is worth
    /// remembering, until another destination needs its room.
    mutating func lane(to destination: Destination) -> Int {
        if all.indices.contains(newest), all[newest].destination == destination { return newest }
        if let place = places[destination] {
            newest = place
            return place
        }
        let empty = all.count >= Self.kept ? all.firstIndex { $0.isEmpty } : nil
        if let empty {
            places[all[empty].destination] = nil
            all[empty] = OutboxLane(to: destination)
        } else {
            all.append(OutboxLane(to: destination))
        }
        newest = empty ?? all.count - 1
        places[destination] = newest
        return newest
    }

    /// The lanes that may send a message below a number, each with the number of its next message; the one that has
    /// waited longest is last.
    func ready(below end: UInt64, limit: Int, at now: ContinuousClock.Instant) -> [(number: UInt64, lane: Int)] {
        var ready: [(number: UInt64, lane: Int)] = []
        for lane in all.indices {
            if let number = all[lane].readyNumber(limit: limit, at: now), number < end { ready.append((number, lane)) }
        }
        if ready.count > 1 { ready.sort { $0.number > $1.number } }
        return ready
    }
}
