/// How a network on several servers is doing: a pure value. What could not be asked is said in ``troubles``.
package struct NetworkReport: Hashable, Sendable {
    package struct Server: Hashable, Sendable {
        /// What it calls itself; where it is meant to be, for one that nobody reached.
        package var name: String
        package var version: String?
        /// How many connections of clients it has, those of the network's own too; nil where it did not say.
        package var connections: Int?
        package var answers: Bool
    }

    /// A copy of a stream besides its leader's.
    package struct Copy: Hashable, Sendable {
        package var server: String
        /// Whether it has all that the leader has.
        package var isCurrent: Bool
        /// Whether the leader does not hear of that server.
        package var isOffline: Bool
        /// How many operations of the leader's it is behind.
        package var lag: UInt64
    }

    package struct Stream: Hashable, Sendable {
        package var name: String
        /// The server that leads it; nil where none does, so that it takes and gives nothing.
        package var leader: String?
        /// The other copies, by their servers' names.
        package var copies: [Copy] = []
        package var messages: UInt64 = 0
        package var bytes: UInt64 = 0
        package var limit: Int64?

        /// Whether each copy is there and has everything.
        package var isWhole: Bool { leader != nil && copies.allSatisfy { $0.isCurrent && !$0.isOffline } }
    }

    /// The streams of all users' letters together.
    package struct Postboxes: Hashable, Sendable {
        package var streams = 0
        package var messages: UInt64 = 0
        package var bytes: UInt64 = 0
        /// The first of those that nobody leads.
        package var leaderless: [String] = []
        package var leaderlessCount = 0
        /// How many lack a copy, or have one that is behind.
        package var partial = 0

        static let limit = 20

        mutating func add(_ stream: Stream) {
            streams += 1
            // Postboxes are many: a server that reports absurd figures gets an absurd sum.
            messages &+= stream.messages
            bytes &+= stream.bytes
            if stream.leader == nil {
                leaderlessCount += 1
                if leaderless.count < Self.limit { leaderless.append(stream.name) }
            } else if !stream.isWhole {
                partial += 1
            }
        }
    }

    package struct Service: Hashable, Sendable {
        package var id: String
        package var started: String
        package var requests: UInt64
        /// How many of them were left without an answer.
        package var errors: UInt64
    }

    package var network: String
    package var servers: [Server] = []
    /// The streams that the network has without users, in the order in which they are made; nil where nobody told.
    package var streams: [Stream]?
    package var postboxes: Postboxes?
    /// The processes that answer for the network; nil where nobody could be asked.
    package var services: [Service]?
    /// How many users are connected; nil where that is not known.
    package var users: Int?
    package var clients: Int?
    /// What could not be found out, and why, each as a sentence.
    package var troubles: [String] = []

    /// Whether all servers answer, and everything is there and answered for.
    package var isWhole: Bool {
        troubles.isEmpty && servers.allSatisfy(\.answers) && streams?.allSatisfy(\.isWhole) == true
            && postboxes?.leaderlessCount == 0 && postboxes?.partial == 0 && services?.isEmpty == false
    }

    init(network: String) { self.network = network }

    mutating func take(_ list: StreamStandings, planned: [String]) {
        let found = Dictionary(list.streams.map { ($0.name, $0) }) { first, _ in first }
        let missing = Set(list.missing)
        streams = planned.map { name in
            if let stream = found[name] { return stream }
            if !missing.contains(name), list.untold == 0 {
                troubles.append("There is no stream \(name): `parley network provision \(network)` makes it.")
            }
            return Stream(name: name)
        }
        postboxes = list.postboxes
        if list.untold > 0 {
            troubles.append("\(list.untold) more streams were not told of in time.")
        }
        if list.isClosed {
            troubles.append(
                "Nothing more is stored, as the disk has no room beyond what is reserved: make room, and it goes on by itself."
            )
        }
    }

    /// Puts together what each server said of itself, by its place, and what those say who answered the system account.
    mutating func take(_ reached: [(place: String, answer: Result<Server, NetworkError>)], told: [Server]?) {
        var known: [String: Server] = [:]
        var lost: [Server] = []
        for server in told ?? [] { known[server.name] = server }
        // Those that others tell of and nobody has reached, as one that has just begun: their place is not known.
        var unplaced = Set(known.keys)
        for (place, answer) in reached {
            switch answer {
            case .success(let server):
                unplaced.remove(server.name)
                if known[server.name] == nil { known[server.name] = server }
            case .failure(let error):
                lost.append(Server(name: place, version: nil, connections: nil, answers: false))
                troubles.append("\(place) is not reached: \(error)")
            }
        }
        // A server counts once, by its place where all of those can be at places, and else by its name.
        if unplaced.count <= lost.count { for name in unplaced { known[name] = nil } } else { lost = [] }
        servers = known.values.sorted { $0.name < $1.name } + lost
    }
}
