import NATS
import Relay

/// Tells users' clients why their connections are about to end. It alone may publish on the network's
/// `relay.control.*`. Its credentials are made for the occasion and not kept.
struct ControlSender: Sendable {
    /// What it is called; not a possible user's name.
    private static let name = "~administrator"
    /// How long its credentials hold, in seconds.
    private static let lifetime: Int64 = 300

    private let connection: NATSConnection
    private let identity: NetworkIdentity

    /// Connects as a user who may do nothing else.
    init(at address: ServerAddress, identity: NetworkIdentity) async throws(NetworkError) {
        self.identity = identity
        let credentials = try identity.issuer.issue(
            name: Self.name,
            permissions: Permissions(
                pub: SubjectRules(allow: [NetworkNames.control(of: "*")]),
                sub: SubjectRules(allow: ["_INBOX_\(Self.name).>"])),
            expires: NetworkAdministrator.now + Self.lifetime)
        connection = try await .administrator(at: address, as: credentials)
    }

    /// Sends messages, each to a user, and returns when the server has handed them on.
    func send(_ messages: [(user: String, message: ControlMessage)]) async throws(NetworkError) {
        for (user, message) in messages {
            let bytes: [UInt8]
            do throws(RelayError) {
                bytes = try message.encoded(for: user, signedBy: identity.signingKey, at: NetworkAdministrator.now)
            } catch {
                throw .refused(error.description)
            }
            do throws(NATSError) {
                try connection.publish(bytes, to: ControlMessage.subject(for: user))
            } catch {
                throw .connection(error)
            }
        }
        do throws(NATSError) {
            try await connection.flush()
        } catch {
            throw .connection(error)
        }
    }

    /// Ends the connection.
    func close() { connection.closeNow() }
}
