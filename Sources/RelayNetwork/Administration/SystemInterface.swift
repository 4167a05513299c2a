import NATS
import NIOCore
import Relay

/// The system account's requests to the server.
struct SystemInterface: Sendable {
    struct UserConnection: Hashable, Sendable {
        var server: String
        var number: Int64
        var account: String
        var key: String
        var client: String?
        var address: String?
    }

    struct Server: Hashable, Sendable {
        var id: String
        var name: String
        var version: String
        /// Client connections of all accounts; nil if it does not say.
        var connections: Int?
    }

    /// The number of connections per request: each comes with its token, and the answer is one message.
    private static let pageLength: Int64 = 100
    private static let endedPages: Int64 = 10

    let address: ServerAddress
    let identity: NetworkIdentity
    private let connection: NATSConnection
    private let networkAccounts: Set<String>
    /// Signs the tokens of this network's users, but not those of other networks on the same servers.
    private let signingKey: String

    init(at address: ServerAddress, identity: NetworkIdentity) async throws(NetworkError) {
        guard let administrator = identity.administrator, let systemAccount = identity.systemAccount else {
            throw .invalidProvision(
                "This machine has no credentials for the system account: name them with --system-creds.")
        }
        (self.address, self.identity) = (address, identity)
        networkAccounts = [identity.account.text, systemAccount.text]
        signingKey = identity.signingKey.publicKey.text
        connection = try await .administrator(at: address, as: administrator)
    }

    func close() { connection.closeNow() }

    /// The connections of these accounts, or of all users of this network, to any of the servers.
    func connections(
        ofAccounts accounts: [String]? = nil, at known: [Server]? = nil
    ) async throws(NetworkError) -> [UserConnection] {
        let servers = if let known { known } else { try await servers() }
        var found: [UserConnection] = []
        for account in accounts?.map(Optional.some) ?? [nil] {
            var question: MessageMap = [:]
            question["acc"] = account.map(MessageValue.string)
            // Each server knows only its own.
            for server in servers {
                try await forEachConnection(question, at: server) { entry, claims in
                    // Older servers do not report a connection's account; its token does.
                    guard claims.issuer == signingKey, let holder = claims.grant.issuerAccount,
                        !networkAccounts.contains(holder), let number = entry["cid"]?.intValue
                    else { return }
                    found.append(
                        UserConnection(
                            server: server.id, number: number, account: holder, key: claims.subject,
                            client: entry["name"]?.stringValue, address: entry["ip"]?.stringValue))
                }
            }
        }
        return found
    }

    /// When the last connection of each public key of an account ended, in seconds since 1970, as far as the servers
    /// remember: since they started, and for their newest connections only.
    func endedConnections(ofAccount account: String) async throws(NetworkError) -> [String: Int64] {
        var found: [String: Int64] = [:]
        // State 1: closed connections.
        let question: MessageMap = ["acc": .string(account), "state": 1, "sort": "stop"]
        for server in try await servers() {
            try await forEachConnection(question, at: server, pages: Self.endedPages) { entry, claims in
                guard let end = entry["stop"]?.stringValue.flatMap(Timestamp.init(iso8601:)) else { return }
                found[claims.subject] = max(found[claims.subject] ?? .min, end.milliseconds / 1_000)
            }
        }
        return found
    }

    /// Fetches a server's connections page by page. An account unknown to it has none.
    private func forEachConnection(
        _ question: MessageMap, at server: Server, pages: Int64 = .max, _ body: (MessageValue, UserClaims) -> Void
    ) async throws(NetworkError) {
        var question = question
        (question["auth"], question["limit"]) = (true, .int(Self.pageLength))
        for page in 0..<pages {
            question["offset"] = .int(page * Self.pageLength)
            let answer: MessageValue
            do throws(NetworkError) {
                answer = try await ask(JSONText.text(.map(question)), "$SYS.REQ.SERVER.\(server.id).CONNZ")
            } catch {
                guard case .connection(.noResponders) = error, question["acc"] != nil else { throw error }
                return
            }
            if question["acc"] == nil { try Self.check(answer) }
            let entries = answer["data"]?["connections"]?.arrayValue ?? []
            for entry in entries {
                if let claims = entry["jwt"]?.stringValue.flatMap({ try? UserClaims.decode($0) }) {
                    body(entry, claims)
                }
            }
            guard entries.count >= Int(Self.pageLength) else { return }
        }
    }

    /// Closes a connection; false if the server cannot, as before 2.10.
    func disconnect(_ target: UserConnection) async throws(NetworkError) -> Bool {
        do throws(NATSError) {
            // An error in the answer means that the connection is already gone.
            _ = try await connection.request(
                ByteBuffer(string: #"{"cid":\#(target.number)}"#), to: "$SYS.REQ.SERVER.\(target.server).KICK")
            return true
        } catch {
            if case .noResponders = error { return false }
            throw .connection(error)
        }
    }

    /// Hands the server an account's token, which takes effect at once, for open connections too.
    func install(_ token: String) async throws(NetworkError) {
        try Self.check(await ask(token, "$SYS.REQ.CLAIMS.UPDATE"))
    }

    func token(ofAccount account: String) async throws(NetworkError) -> String? {
        try await ask("", "$SYS.REQ.ACCOUNT.\(account).INFO")["data"]?["jwt"]?.stringValue
    }

    /// The accounts whose tokens each server keeps, by the server's id. Asked for one account's token, servers before
    /// 2.10 stay silent if they have none; all of them answer this request.
    /// - Parameter servers: the servers to wait for.
    func keptAccounts(of servers: [Server]) async throws(NetworkError) -> [String: [String]] {
        var kept: [String: [String]] = [:]
        try await connection.askAll("$SYS.REQ.CLAIMS.LIST", within: .seconds(5)) { bytes in
            guard let answer = try? JSONText.parse(bytes: bytes), let server = answer["server"]?["id"]?.stringValue,
                let accounts = answer["data"]?.arrayValue
            else { return false }
            kept[server] = accounts.compactMap(\.stringValue)
            return kept.count >= servers.count
        }
        return kept
    }

    /// The token of an account that any server keeps; nil if none answers in time.
    func keptToken(ofAccount account: String) async throws(NetworkError) -> String? {
        var found: String?
        try await connection.askAll("$SYS.REQ.ACCOUNT.\(account).CLAIMS.LOOKUP", within: .seconds(5)) { bytes in
            if !bytes.isEmpty { found = String(decoding: bytes, as: UTF8.self) }
            return found != nil
        }
        return found
    }

    func servers() async throws(NetworkError) -> [Server] { try await roll().servers }

    /// All servers that answer, and how many they know of: a killed one counts for some minutes.
    func roll() async throws(NetworkError) -> (servers: [Server], count: Int) {
        var found: [Server] = []
        var expected = 1
        try await connection.askAll("$SYS.REQ.SERVER.PING", within: .seconds(5)) { bytes in
            guard let answer = try? JSONText.parse(bytes: bytes), let id = answer["server"]?["id"]?.stringValue else {
                return false
            }
            func text(_ name: String) -> String { answer["server"]?[name]?.stringValue ?? "" }
            func count(_ name: String) -> Int? { (answer["statsz"]?[name]?.intValue).map { Int(clamping: $0) } }
            found.append(Server(id: id, name: text("name"), version: text("ver"), connections: count("connections")))
            expected = max(expected, count("active_servers") ?? 1)
            return found.count >= expected
        }
        guard !found.isEmpty else { throw .timedOut("Finding the servers") }
        return (found.sorted { $0.name < $1.name }, max(expected, found.count))
    }

    private func ask(_ question: String, _ subject: String) async throws(NetworkError) -> MessageValue {
        let reply = try await reached {
            try await connection.request(ByteBuffer(string: question), to: subject, timeout: .seconds(10))
        }
        guard let answer = try? JSONText.parse(bytes: reply.bytes) else {
            throw .refused("its answer is invalid")
        }
        return answer
    }

    private static func check(_ answer: MessageValue) throws(NetworkError) {
        let error = answer["error"] ?? .null
        guard error.isNull, answer["data"]?.isNull == false else {
            throw .refused(error["description"]?.stringValue ?? "it gave no reason")
        }
    }
}

extension [ServerAddress] {
    /// Tries one server after another until the body succeeds.
    /// - Throws: the last error; that a server is unreachable only if they all are.
    func firstToTake<R>(_ body: (ServerAddress) async throws -> R) async throws(NetworkError) -> R {
        var failure: NetworkError?
        for address in self {
            do { return try await body(address) } catch {
                let error = NetworkError(error)
                if failure?.isUnreachableServer ?? true || !error.isUnreachableServer { failure = error }
            }
            if Task.isCancelled { throw .cancelled }
        }
        throw failure ?? .notRunning
    }
}

extension NATSConnection {
    /// Asks all listeners and hands over their answers until there are enough or the time is up.
    func askAll(_ subject: String, within limit: Duration, _ isEnough: ([UInt8]) -> Bool) async throws(NetworkError) {
        let inbox = newInbox()
        try await reached {
            let subscription = try subscribe(to: inbox)
            try publish(ByteBuffer(), to: subject, reply: inbox)
            let alarm = Task {
                try await Task.sleep(for: limit)
                subscription.unsubscribe()
            }
            defer { alarm.cancel() }
            var iterator = subscription.makeAsyncIterator()
            // Status 503: no responders.
            while let answer = try await iterator.next(isolation: nil), answer.status != 503 {
                if isEnough(answer.bytes) { return }
            }
        }
        if Task.isCancelled { throw .cancelled }
    }
}
