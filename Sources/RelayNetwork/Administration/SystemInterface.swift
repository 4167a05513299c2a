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
        /// The public key of its account.
        var account: String
        /// What the client calls itself.
        var client: String?
        /// The address it comes from.
        var address: String?
    }

    /// How many connections are asked for at once: each comes with its token, and an answer is one message.
    private static let pageLength = 100

    private let connection: NATSConnection
    private let networkAccounts: Set<String>

    /// Connects as the system account's user.
    init(url: String, identity: NetworkIdentity) async throws(NetworkError) {
        networkAccounts = [identity.account.text, identity.systemAccount.text]
        connection = try await .administrator(at: url, as: identity.administrator)
    }

    /// The server's version.
    var version: String { connection.info.version }

    /// Ends the interface's own connection.
    func close() { connection.closeNow() }

    /// The connections of all users, or of one account.
    func connections(ofAccount account: String? = nil) async throws(NetworkError) -> [UserConnection] {
        var found: [UserConnection] = []
        var offset = 0
        let subject = account.map { "$SYS.REQ.ACCOUNT.\($0).CONNZ" } ?? "$SYS.REQ.SERVER.PING.CONNZ"
        while true {
            let question = #"{"auth":true,"limit":\#(Self.pageLength),"offset":\#(offset)}"#
            let answer: Answer<ConnectionPage>
            do throws(NetworkError) {
                answer = try await ask(question, subject)
            } catch .connection(.noResponders) where account != nil {
                // An account that the server does not know has no connections.
                return []
            }
            let page = try answer.content()
            for entry in page.connections ?? [] {
                // Older servers do not say whose connection it is; its token does.
                guard let token = entry.jwt, let claims = try? UserClaims.decode(token),
                    let holder = claims.grant.issuerAccount ?? claims.issuer, !networkAccounts.contains(holder)
                else { continue }
                found.append(
                    UserConnection(
                        server: answer.server?.id ?? "", number: entry.cid, account: holder, client: entry.name,
                        address: entry.ip))
            }
            guard (page.connections?.count ?? 0) >= Self.pageLength else { return found }
            offset += Self.pageLength
        }
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
        }

        var connections: [Entry]?
    }

    private struct Acceptance: Decodable {}

    private struct AccountInformation: Decodable { var jwt: String? }
}
