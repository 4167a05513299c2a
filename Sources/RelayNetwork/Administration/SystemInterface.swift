import NATS
import NIOCore
import Platform
import Relay

/// What the server does for its operator: the requests of the system account.
struct SystemInterface: Sendable {
    /// A client's connection to a server.
    struct UserConnection: Hashable, Sendable {
        var server: String
        var number: UInt64
        /// The public key of its account.
        var account: String
        /// The public key that it logged in by.
        var key: String
        /// What the client calls itself.
        var client: String?
        /// The address it comes from.
        var address: String?
    }

    /// How many connections are asked for at once: each comes with its token, and an answer is one message.
    private static let pageLength = 100
    /// How many pages of ended connections are looked through.
    private static let endedPages = 10

    private let connection: NATSConnection
    private let networkAccounts: Set<String>
    /// The key that signs the tokens of this network's users, and of no other network's on the same servers.
    private let signingKey: String

    /// Connects as the system account's user.
    init(at address: ServerAddress, identity: NetworkIdentity) async throws(NetworkError) {
        guard let administrator = identity.administrator, let systemAccount = identity.systemAccount else {
            throw .invalidProvision(
                "Nobody has given this machine a user of the system account: name its credentials by --system-creds.")
        }
        networkAccounts = [identity.account.text, systemAccount.text]
        signingKey = identity.signingKey.publicKey.text
        connection = try await .administrator(at: address, as: administrator)
    }

    /// The server's version.
    var version: String { connection.info.version }

    /// Ends the interface's own connection.
    func close() { connection.closeNow() }

    /// The connections of all users of this network, or of one account, to whichever server.
    /// - Parameter known: the servers that answer, where they were asked a moment ago.
    func connections(
        ofAccount account: String? = nil, at known: [Server]? = nil
    ) async throws(NetworkError) -> [UserConnection] {
        let servers = if let known { known } else { try await servers() }
        guard servers.count > 1 else {
            let subject = account.map { "$SYS.REQ.ACCOUNT.\($0).CONNZ" } ?? "$SYS.REQ.SERVER.PING.CONNZ"
            return try await connections(ofAccount: account, subject)
        }
        // Each server knows its own alone.
        var found: [UserConnection] = []
        for server in servers {
            found += try await connections(ofAccount: account, "$SYS.REQ.SERVER.\(server.id).CONNZ")
        }
        return found
    }

    /// The connections of some accounts, or of all users of this network where none are named.
    func connections(ofAccounts accounts: [String]?) async throws(NetworkError) -> [UserConnection] {
        guard let accounts else { return try await connections() }
        var found: [UserConnection] = []
        for account in accounts { found += try await connections(ofAccount: account) }
        return found
    }

    private func connections(
        ofAccount account: String?, _ subject: String
    ) async throws(NetworkError) -> [UserConnection] {
        var found: [UserConnection] = []
        var offset = 0
        while true {
            let filter = account.map { #""acc":"\#($0)","# } ?? ""
            let question = #"{"auth":true,\#(filter)"limit":\#(Self.pageLength),"offset":\#(offset)}"#
            let answer: Answer<ConnectionPage>
            do throws(NetworkError) {
                answer = try await ask(question, subject)
            } catch .connection(.noResponders) where account != nil {
                // An account that the server does not know has no connections.
                return []
            }
            // A server that is asked by its own name says so in words.
            if account != nil, answer.data == nil, answer.error != nil { return found }
            let page = try answer.content()
            for entry in page.connections ?? [] {
                // Older servers do not say whose connection it is; its token does.
                guard let token = entry.jwt, let claims = try? UserClaims.decode(token),
                    claims.issuer == signingKey, let holder = claims.grant.issuerAccount,
                    !networkAccounts.contains(holder)
                else { continue }
                found.append(
                    UserConnection(
                        server: answer.server?.id ?? "", number: entry.cid, account: holder, key: claims.subject,
                        client: entry.name, address: entry.ip))
            }
            guard (page.connections?.count ?? 0) >= Self.pageLength else { return found }
            offset += Self.pageLength
        }
    }

    /// When the newest connections of an account ended, in seconds since 1970, by the public key that each logged in
    /// by: as far as the servers remember, which is since they started and the newest of all their connections.
    func endedConnections(ofAccount account: String) async throws(NetworkError) -> [String: Int64] {
        var found: [String: Int64] = [:]
        for server in try await servers() {
            for page in 0..<Self.endedPages {
                // The state 1 means connections that have ended.
                let question =
                    #"{"auth":true,"acc":"\#(account)","state":1,"sort":"stop","limit":\#(Self.pageLength),"offset":\#(page * Self.pageLength)}"#
                let answer: Answer<ConnectionPage>
                do throws(NetworkError) {
                    answer = try await ask(question, "$SYS.REQ.SERVER.\(server.id).CONNZ")
                } catch .connection(.noResponders) {
                    break
                }
                // In words it says that it does not know the account.
                let entries = answer.data?.connections ?? []
                for entry in entries {
                    guard let key = entry.jwt.flatMap({ try? UserClaims.decode($0) })?.subject,
                        let end = entry.stop.flatMap(Timestamp.init(iso8601:))
                    else { continue }
                    found[key] = max(found[key] ?? .min, end.milliseconds / 1_000)
                }
                guard entries.count >= Self.pageLength else { break }
            }
        }
        return found
    }

    /// Has the server close a connection.
    /// - Returns: false when the server cannot, which it can from 2.10 on.
    func disconnect(_ target: UserConnection) async throws(NetworkError) -> Bool {
        do throws(NATSError) {
            // An error in the answer means that the connection has gone by itself.
            _ = try await connection.request(
                ByteBuffer(string: #"{"cid":\#(target.number)}"#), to: "$SYS.REQ.SERVER.\(target.server).KICK")
            return true
        } catch {
            if case .noResponders = error { return false }
            throw .connection(error)
        }
    }

    /// Hands the server an account's token, which holds from then on, for open connections too.
    func install(_ token: String) async throws(NetworkError) {
        let answer: Answer<Acceptance> = try await ask(token, "$SYS.REQ.CLAIMS.UPDATE")
        _ = try answer.content()
    }

    /// The token that holds for an account; nil while the server has not had to do with the account.
    func token(ofAccount account: String) async throws(NetworkError) -> String? {
        let answer: Answer<AccountInformation> = try await ask("", "$SYS.REQ.ACCOUNT.\(account).INFO")
        return answer.data?.jwt
    }

    /// A server, as it describes itself.
    struct Server: Hashable, Sendable {
        var id: String
        var name: String
        var version: String
        /// How many clients are connected to it, of all accounts; nil where it does not say.
        var connections: Int?
    }

    /// All servers that answer.
    func servers() async throws(NetworkError) -> [Server] { try await roll().servers }

    /// All servers that answer, and how many there are by what they know of each other. One that was killed is counted
    /// among them for some minutes.
    func roll() async throws(NetworkError) -> (servers: [Server], count: Int) {
        var found: [Server] = []
        var expected = 1
        try await answers("", "$SYS.REQ.SERVER.PING", within: .seconds(5)) { bytes in
            guard let answer = try? JSONDecoder().decode(Ping.self, from: Data(bytes)) else { return false }
            found.append(
                Server(
                    id: answer.server.id, name: answer.server.name ?? "", version: answer.server.ver ?? "",
                    connections: answer.statsz?.connections))
            expected = max(expected, answer.statsz?.activeServers ?? 1)
            return found.count >= expected
        }
        guard !found.isEmpty else { throw .timedOut("Asking who of the servers is there") }
        return (found.sorted { $0.name < $1.name }, max(expected, found.count))
    }

    private struct Ping: Decodable {
        struct Server: Decodable {
            var id: String
            var name: String?
            var ver: String?
        }
        struct Statistics: Decodable {
            var activeServers: Int?
            var connections: Int?

            private enum CodingKeys: String, CodingKey {
                case connections
                case activeServers = "active_servers"
            }
        }
        var server: Server
        var statsz: Statistics?
    }

    /// Asks all servers of which accounts they keep tokens. Asked for one account's token, servers before 2.10 say
    /// nothing when they have none, and so cannot be told from those that do not answer; this question each answers.
    /// - Parameters:
    ///   - servers: those that answer; others are not waited for.
    ///   - count: how many there are.
    func keptAccounts(
        of servers: [Server], outOf count: Int
    ) async throws(NetworkError) -> KeptAccounts {
        var kept = KeptAccounts(servers: count)
        try await answers("", "$SYS.REQ.CLAIMS.LIST", within: .seconds(5)) { bytes in
            guard let answer = try? JSONDecoder().decode(Answer<[String]>.self, from: Data(bytes)) else { return false }
            if let server = answer.server?.id, let accounts = answer.data { kept.answered(server, accounts) }
            return kept.answers >= servers.count
        }
        return kept
    }

    /// The token of an account that the servers keep.
    /// - Parameter kept: what they said to ``keptAccounts(of:outOf:)``.
    func storedToken(ofAccount account: String, _ kept: KeptAccounts) async throws(NetworkError) -> StoredToken {
        if let known = kept.standing(of: account) { return known }
        var found: String?
        try await answers("", "$SYS.REQ.ACCOUNT.\(account).CLAIMS.LOOKUP", within: .seconds(5)) { bytes in
            if !bytes.isEmpty { found = String(decoding: bytes, as: UTF8.self) }
            return found != nil
        }
        return found.map(StoredToken.token) ?? .unknown
    }

    /// Asks all servers, and hands over one answer after the other.
    /// - Parameters:
    ///   - limit: how long answers are waited for.
    ///   - isEnough: takes an answer in, and says whether no more are needed.
    private func answers(
        _ question: String, _ subject: String, within limit: Duration = .seconds(2),
        _ isEnough: ([UInt8]) -> Bool
    ) async throws(NetworkError) {
        let inbox = connection.newInbox()
        do throws(NATSError) {
            let subscription = try connection.subscribe(to: inbox)
            try connection.publish(ByteBuffer(string: question), to: subject, reply: inbox)
            let alarm = Task {
                try await Task.sleep(for: limit)
                subscription.unsubscribe()
            }
            defer { alarm.cancel() }
            var iterator = subscription.makeAsyncIterator()
            while let answer = try await iterator.next(isolation: nil) {
                // Nobody hears the question.
                if answer.status == 503 { return }
                if isEnough(answer.bytes) { return }
            }
        } catch {
            throw .connection(error)
        }
        if Task.isCancelled { throw .cancelled }
    }

    private func ask<Content: Decodable>(
        _ question: String, _ subject: String
    ) async throws(NetworkError) -> Answer<Content> {
        let reply: NATSMessage
        do throws(NATSError) {
            reply = try await connection.request(ByteBuffer(string: question), to: subject, timeout: .seconds(10))
        } catch {
            throw .connection(error)
        }
        guard let answer = try? JSONDecoder().decode(Answer<Content>.self, from: Data(reply.bytes)) else {
            throw .refused("its answer is not understood")
        }
        return answer
    }

    /// The frame of the server's answers.
    private struct Answer<Content: Decodable>: Decodable {
        struct Server: Decodable { var id: String }
        struct Failure: Decodable { var description: String? }

        var server: Server?
        var data: Content?
        var error: Failure?

        func content() throws(NetworkError) -> Content {
            guard let data, error == nil else { throw .refused(error?.description ?? "it gave no reason") }
            return data
        }
    }

    private struct ConnectionPage: Decodable {
        struct Entry: Decodable {
            var cid: UInt64
            var jwt: String?
            var name: String?
            var ip: String?
            /// When the connection ended.
            var stop: String?
        }

        var connections: [Entry]?
    }

    private struct Acceptance: Decodable {}

    private struct AccountInformation: Decodable { var jwt: String? }
}
