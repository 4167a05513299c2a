import NATS
import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the server does for its operator: the requests of the system account.
struct SystemInterface: Sendable {
    /// A client's connection to a server.
    struct UserConnection: Hashable, Sendable {
        var server: String
        var number: UInt64
        /// The public key of its user.
        var user: String
        /// The name in its token.
        var name: String?
    }

    /// How many connections are asked for at once: each comes with its token, and an answer is one message.
    private static let pageLength = 100

    private let connection: NATSConnection
    private let account: NKey

    /// Connects as the system account's user.
    init(url: String, identity: NetworkIdentity) async throws(NetworkError) {
        account = identity.account
        connection = try await .administrator(at: url, as: identity.administrator)
    }

    /// The server's version.
    var version: String { connection.info.version }

    /// Ends the interface's own connection.
    func close() { connection.closeNow() }

    /// The connections of the application account's users, or of one of them.
    func connections(of user: NKey? = nil) async throws(NetworkError) -> [UserConnection] {
        var found: [UserConnection] = []
        var offset = 0
        while true {
            let question = #"{"auth":true,"limit":\#(Self.pageLength),"offset":\#(offset)}"#
            let answer: Answer<ConnectionPage> = try await ask(question, connectionSubject)
            let page = try answer.content()
            for entry in page.connections ?? [] {
                // Older servers do not say whose connection it is; its token does.
                guard let token = entry.jwt, let claims = try? UserClaims.decode(token) else { continue }
                guard user == nil || claims.subject == user?.text else { continue }
                found.append(
                    UserConnection(
                        server: answer.server?.id ?? "", number: entry.cid, user: claims.subject, name: claims.name))
            }
            guard (page.connections?.count ?? 0) >= Self.pageLength else { return found }
            offset += Self.pageLength
        }
    }

    /// How many connections the application account has, the host's own included.
    func connectionCount() async throws(NetworkError) -> Int {
        let answer: Answer<ConnectionPage> = try await ask(#"{"limit":1}"#, connectionSubject)
        return try answer.content().total
    }

    private var connectionSubject: String { "$SYS.REQ.ACCOUNT.\(account).CONNZ" }

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

    /// Hands the server an account's token; it holds from then on, and for connections that stand too.
    func install(_ token: String) async throws(NetworkError) {
        let answer: Answer<Acceptance> = try await ask(token, "$SYS.REQ.CLAIMS.UPDATE")
        _ = try answer.content()
    }

    /// Has the server close every connection of the application account soon, and let nobody in until it starts anew.
    func withdrawAccount(of identity: NetworkIdentity, in directory: NetworkDirectory) async throws(NetworkError) {
        for lifetime in [1, 2, 4, 8, 16] as [Int64] {
            let now = NetworkAdministrator.now
            try await install(identity.endingAccountToken(in: directory, at: now, after: lifetime))
            // The server closes connections when a token ends that it has, and none for one that has ended on arrival.
            if NetworkAdministrator.now < now + lifetime { return }
        }
        throw .timedOut("Blocking the private network")
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
        }

        var total: Int
        var connections: [Entry]?
    }

    private struct Acceptance: Decodable {}
}
