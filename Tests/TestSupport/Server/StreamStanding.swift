import Foundation

/// How a stream stands on the servers of a cluster.
public struct StreamStanding: Equatable, Sendable {
    /// The server that leads it; nil while none does.
    public var leader: String?
    /// Whether its leader calls all copies current.
    public var isCurrent = false
    /// What the leader says of the other copies, or whoever answered first.
    public var copies: [String] = []
    /// The last sequence that each server has.
    public var ends: [String: Int] = [:]
    /// How many messages each server has, and how many bytes they take.
    public var contents: [String: [Int]] = [:]
    /// Whether a server may number the messages in its own way. Before 2.10 one that was killed runs the newest changes
    /// of a bucket once more, as many as were refused since its last snapshot, and is ahead by so many from then on.
    public var mayDiffer = false
    /// Whether a server is older than 2.10. One that was killed may then stop to fetch what it missed, and call its
    /// copy current all the same, until it starts again.
    public var mayStandStill = false

    /// The servers whose copies are behind the leader's, though all are called current.
    public var stuck: [String] {
        guard isCurrent, mayStandStill, !mayDiffer, let end = leader.flatMap({ ends[$0] }) else { return [] }
        return ends.filter { $0.value < end }.keys.sorted()
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
    /// ten seconds, as those do that only have other numbers. A server whose copy stands still for as long, though it
    /// is called current, is started once more, and twice again at most, as its operator would.
    public func wholeStreams(atLeast count: Int) async throws -> Set<String> {
        var standings: [String: StreamStanding] = [:]
        var lacking: [String: StreamStanding] = [:]
        var since = ContinuousClock.now
        var restarts: [String: Int] = [:]
        do {
            try await eventually("all copies", deadline: .seconds(90)) {
                standings = try await self.standings()
                let lackingNow = standings.filter { !$0.value.isWhole }
                if lackingNow != lacking { (lacking, since) = (lackingNow, .now) }
                let standsStill = since.duration(to: .now) > .seconds(10)
                let areWhole = lacking.isEmpty || standsStill && lacking.values.allSatisfy(\.differsInNumbers)
                if standings.count >= count, areWhole { return true }
                if standsStill, let server = lacking.values.flatMap(\.stuck).first, restarts[server, default: 0] < 3 {
                    restarts[server, default: 0] += 1
                    for (place, one) in servers.enumerated() where "s\(place + 1)" == server {
                        try await one.kill9()
                        try await one.restart()
                    }
                    since = .now
                }
                // Each answer is work for servers that have much to do now.
                try await Task.sleep(for: .milliseconds(250))
                return false
            }
        } catch {
            let words = lacking.map { "\($0.key): \($0.value.words)" }.sorted().joined(separator: "; ")
            throw TestFailure("\(error); of \(standings.count) streams: \(words)")
        }
        return Set(standings.keys)
    }
}
