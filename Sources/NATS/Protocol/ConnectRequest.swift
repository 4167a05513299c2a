#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The CONNECT operation's fields. The server's own defaults differ, so every choice is sent.
struct ConnectRequest: Encodable {
    var verbose = false
    var pedantic = false
    var tlsRequired = false
    var name: String?
    var language = "swift"
    var version = "0.1.0"
    /// 1 asks the server for later INFOs.
    var protocolLevel = 1
    var echo = true
    var headers = true
    var noResponders = true
    var user: String?
    var password: String?
    var token: String?
    var nkey: String?
    var jwt: String?
    var signature: String?

    private enum CodingKeys: String, CodingKey {
        case verbose, pedantic, name, version, echo, headers, user, nkey, jwt
        case tlsRequired = "tls_required"
        case language = "lang"
        case protocolLevel = "protocol"
        case noResponders = "no_responders"
        case password = "pass"
        case token = "auth_token"
        case signature = "sig"
    }

    /// The operation as it is written on the wire.
    func line() throws(NATSError) -> [UInt8] {
        do {
            return Array("CONNECT ".utf8) + Array(try JSONEncoder().encode(self)) + [0x0D, 0x0A]
        } catch {
            throw .invalidArgument("The login cannot be written as JSON.")
        }
    }
}
