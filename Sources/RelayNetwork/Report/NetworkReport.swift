/// The state of a network on several servers; ``troubles`` says what could not be queried.
package struct NetworkReport: Hashable, Sendable {
    package struct Server: Hashable, Sendable {
        /// Its name, or its address if no one reached it.
        package var name: String
        package var version: String?
        /// The number of client connections, including the network's own; nil if it did not say.
        package var connections: Int?
        package var answers: Bool
    }

    /// A copy of a stream besides its leader's.
    package struct Copy: Hashable, Sendable {
        package var server: String
        /// Whether it is up to date.
        package var isCurrent: Bool
        /// Whether the leader has lost contact with that server.
        package var isOffline: Bool
        /// How many operations it is behind the leader.
        package var lag: UInt64
    }

    package struct Stream: Hashable, Sendable {
        package var name: String
        /// The server that leads it; nil if there is none, so that the stream is unavailable.
        package var leader: String?
        /// The other copies, sorted by server name.
        package var copies: [Copy] = []
        package var messages: UInt64 = 0
        package var bytes: UInt64 = 0
        package var limit: Int64?

        /// Whether every copy exists and is up to date.
        package var isWhole: Bool { leader != nil && copies.allSatisfy { $0.isCurrent && !$0.isOffline } }
    }

    /// All users' postbox streams together.
    package struct Postboxes: Hashable, Sendable {
        package var streams = 0
        package var messages: UInt64 = 0
        package var bytes: UInt64 = 0
        /// The first few that have no leader.
        package var leaderless: [String] = []
        package var leaderlessCount = 0
        /// The number with a copy that is missing or behind.
        package var partial = 0

        static let limit = 20

        mutating func add(_ stream: Stream) {
            streams += 1
            // Wrapping, since a server may report absurd figures.
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
        /// The number of requests without an answer.
        package var errors: UInt64
    }

    package var network: String
    package var servers: [Server] = []
    /// The streams of the network itself, in the order in which they are made; nil if unknown.
    package var streams: [Stream]?
    package var postboxes: Postboxes?
    /// The processes that answer for the network; nil if none could be queried.
    package var services: [Service]?
    /// The number of connected users; nil if unknown.
    package var users: Int?
    package var clients: Int?
    /// What could not be determined, and why, each as a sentence.
    package var troubles: [String] = []

    /// Whether all servers and services answer and no stream lacks anything.
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
                "Nothing more is stored: the disk has only its reserved space left. Free some space, and it resumes automatically."
            )
        }
    }

    /// Merges what each address answered with the servers that answered the system account.
    mutating func take(_ reached: [(place: String, answer: Result<Server, NetworkError>)], told: [Server]?) {
        var known: [String: Server] = [:]
        var lost: [Server] = []
        for server in told ?? [] { known[server.name] = server }
        // Servers that others know and no one reached, such as one just started: their addresses are unknown.
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
        // Each server counts once: by address if all unknown ones may be at those, otherwise by name.
        if unplaced.count <= lost.count { for name in unplaced { known[name] = nil } } else { lost = [] }
        servers = known.values.sorted { $0.name < $1.name } + lost
    }
}
