import Foundation

/// How a stream stands on the servers of a cluster.
public struct StreamStanding: Equatable, Sendable {
    /// The server that leads it; nil while none does.
    public var leader: String?
    /// Whether its leader calls all copies current.
    public var isCurrent = false
    /// What the leader says of the other copies, or whoever answered first.
    public var copies: [String] = []
    /// The servers whose copies it calls behind, though it reaches them.
    public var lagging: [String] = []
    /// The last sequence that each server has.
    public var ends: [String: Int] = [:]
    /// How many messages each server has, and how many bytes they take.
    public var contents: [String: [Int]] = [:]
    /// Whether a server may number the messages in its own way. Before 2.10 one that was killed runs the newest changes
    /// of a bucket once more, as many as were refused since its last snapshot, and is ahead by so many from then on.
    public var mayDiffer = false
    /// Whether a server is older than 2.10. One that was killed may then stop to fetch what it missed, and call its
    /// copy current all the same, until it starts again; even when it leads the stream by then.
    public var mayStandStill = false

    /// The servers whose copies would stand still: those that lag, a leader behind another server, or servers behind
    /// the leader although all are called current.
    public var stuck: [String] {
        guard mayStandStill else { return [] }
        guard lagging.isEmpty, !mayDiffer, let leader, let end = ends[leader] else { return lagging.sorted() }
        if ends.values.contains(where: { $0 > end }) { return [leader] }
        return isCurrent ? ends.filter { $0.value < end }.keys.sorted() : []
    }

    /// Whether all copies are current and have the same.
    public var isWhole: Bool { isCurrent && Set(ends.values).count == 1 }
    /// Whether all copies are current and have as much, though numbered otherwise.
    public var differsInNumbers: Bool { isCurrent && mayDiffer && Set(contents.values).count == 1 }

    /// All of it in a line.
    public var words: String { "leader \(leader ?? "none"), ends \(ends), contents \(contents), copies \(copies)" }
}

extension TestOperatorCluster {
    /// How each stream of each account stands, by its name.
    ///
    /// A server that has just started may call its copy current while it still fetches what it missed.
    public func standings() async throws -> [String: StreamStanding] {
        let answers = try await answers(
            to: "$SYS.REQ.SERVER.PING.JSZ", #"{"accounts":true,"streams":true,"config":true}"#,
            count: servers.count { $0.isRunning })
        var found: [String: StreamStanding] = [:]
        for answer in answers {
            let who = answer["server"] as? [String: Any]
            let server = who?["name"] as? String ?? "?"
            let version = who?["ver"] as? String
            let isOld = version.map { $0.compare("2.10", options: .numeric) == .orderedAscending } ?? false
            let data = answer["data"] as? [String: Any]
            for account in data?["account_details"] as? [[String: Any]] ?? [] {
                for stream in account["stream_detail"] as? [[String: Any]] ?? [] {
                    guard let name = stream["name"] as? String, let group = stream["cluster"] as? [String: Any] else {
                        continue
                    }
                    let leader = group["leader"] as? String
                    let state = stream["state"] as? [String: Any]
                    let others = group["replicas"] as? [[String: Any]] ?? []
                    var standing = found[name] ?? StreamStanding(leader: leader)
                    standing.ends[server] = (state?["last_seq"] as? NSNumber)?.intValue ?? -1
                    standing.contents[server] = ["messages", "bytes"].map { (state?[$0] as? NSNumber)?.intValue ?? -1 }
                    if isOld, name.hasPrefix("KV_") { standing.mayDiffer = true }
                    standing.mayStandStill = standing.mayStandStill || isOld
                    if server == leader || standing.copies.isEmpty {
                        standing.leader = leader
                        standing.copies = others.map { copy in
                            let state = copy["offline"] as? Bool == true ? "offline" : "lag \(copy["lag"] ?? 0)"
                            return "\(copy["name"] ?? "?") \(copy["current"] as? Bool == true ? "current" : state)"
                        }
                        standing.lagging = others.compactMap { copy in
                            let isBehind = copy["current"] as? Bool != true && copy["offline"] as? Bool != true
                            return isBehind ? copy["name"] as? String : nil
                        }
                        standing.isCurrent =
                            server == leader && others.count == servers.count - 1
                            && others.allSatisfy { $0["current"] as? Bool == true && $0["offline"] as? Bool != true }
                    }
                    found[name] = standing
                }
            }
        }
        return found
    }

    /// The names of all streams, once all copies are whole. One that is still being fetched does not stand still for
    /// ten seconds, as those do that only have other numbers. A server whose copy stands still is started once more.
    public func wholeStreams(atLeast count: Int) async throws -> Set<String> {
        var standings: [String: StreamStanding] = [:]
        var standstill = Standstill()
        do {
            try await eventually("all copies", deadline: .seconds(90)) {
                standings = try await self.standings()
                if let server = standstill.next(standings) { try await startAgain(server) }
                let areWhole =
                    standstill.lacking.isEmpty
                    || standstill.isLong && standstill.lacking.values.allSatisfy(\.differsInNumbers)
                if standings.count >= count, areWhole { return true }
                // Each answer is work for servers that have much to do now.
                try await Task.sleep(for: .milliseconds(250))
                return false
            }
        } catch {
            let words = standstill.lacking.map { "\($0.key): \($0.value.words)" }.sorted().joined(separator: "; ")
            throw TestFailure(
                "\(error); of \(standings.count) streams: \(words); started again: \(standstill.restarts)")
        }
        return Set(standings.keys)
    }

    /// Does something, and meanwhile starts a server once more whose copy stands still, as its operator would.
    public func tended<Value: Sendable>(_ work: () async throws -> Value) async throws -> Value {
        async let _ = tend()
        return try await work()
    }

    private func tend() async {
        var standstill = Standstill()
        // Servers that start do not all answer.
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            guard let standings = try? await standings() else { continue }
            guard let server = standstill.next(standings) else { continue }
            // The end of the work leaves no server killed.
            await Task { try? await startAgain(server) }.value
        }
    }

    private func startAgain(_ server: String) async throws {
        for (place, one) in servers.enumerated() where "s\(place + 1)" == server {
            try await one.kill9()
            try await one.restart()
        }
    }
}

/// Finds which copies stand still, by looks at them one after the other.
private struct Standstill {
    /// The streams whose copies are not whole.
    private(set) var lacking: [String: StreamStanding] = [:]
    /// Since when each of them is as it is. One that moves says nothing of the others.
    private var since: [String: ContinuousClock.Instant] = [:]
    private(set) var restarts: [String: Int] = [:]

    /// Whether nothing of any has changed for ten seconds.
    var isLong: Bool { lacking.keys.allSatisfy(isLong) }

    private func isLong(_ name: String) -> Bool {
        since[name].map { $0.duration(to: .now) > .seconds(10) } ?? false
    }

    /// Takes another look.
    ///
    /// - Returns: a server that is to be started once more, three times at most: first one whose copy stands still, and
    ///   where that has not helped the one that leads the stream, so that another comes to lead it.
    mutating func next(_ standings: [String: StreamStanding]) -> String? {
        let now = standings.filter { !$0.value.isWhole }
        for (name, standing) in now where standing != lacking[name] { since[name] = .now }
        lacking = now
        let still = lacking.filter { isLong($0.key) && !$0.value.stuck.isEmpty }.values
        let servers = still.flatMap(\.stuck) + still.compactMap(\.leader)
        let next = servers.min { restarts[$0, default: 0] < restarts[$1, default: 0] }
        guard let server = next, restarts[server, default: 0] < 3 else { return nil }
        restarts[server, default: 0] += 1
        since = lacking.mapValues { _ in .now }
        return server
    }
}
