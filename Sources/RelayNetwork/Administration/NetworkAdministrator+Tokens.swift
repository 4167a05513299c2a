import NATS
import Relay

// Bearer tokens: each is a key of its own whose token is enough, and has an end.
extension NetworkAdministrator {
    /// Makes a bearer token of a user.
    /// - Parameters:
    ///   - rights: what it may do of what its user may; all of that where nothing is named.
    ///   - expires: its end, in seconds since 1970; the user's own end where that is before.
    ///   - makesUser: whether a user whom the network does not have is made, with every topic granted.
    /// - Returns: its key, and the token, which is kept nowhere.
    /// - Throws: as ``makeKey(of:for:rights:expires:isBearer:)``.
    public func makeToken(
        of user: String, rights: RightsChange = RightsChange(), expires: Int64, makesUser: Bool = false
    ) async throws(NetworkError) -> (key: UserKey, token: String) {
        let name = try UserName(user)
        if makesUser, try directory.record(of: name) == nil {
            try await alone { identity throws(NetworkError) in
                // Somebody may have been quicker.
                if try directory.record(of: name) == nil {
                    try directory.establish(name, rights: .all, expires: nil)
                }
                try await introduce(name, identity)
            }
        }
        let made = try await makeKey(of: user, for: .token, rights: rights, expires: expires, isBearer: true)
        return (made.key, made.credentials.jwt)
    }

    /// Revokes a bearer token, whoever's it is; other keys stay.
    /// - Parameter id: the id of its key, or the public key.
    /// - Returns: its user, and the key as it was before.
    /// - Throws: `NetworkError.unknownKey`, and as ``revoke(key:of:reason:)``.
    public func revokeToken(_ id: String) async throws(NetworkError) -> (user: UserName, key: UserKey) {
        for user in try directory.userNames() {
            let keys = try directory.record(of: user)?.keys ?? []
            guard let key = keys.first(where: { $0.kind == .token && ($0.id == id || $0.publicKey == id) }) else {
                continue
            }
            return (user, try await revoke(key: key.publicKey, of: user.text))
        }
        throw .unknownKey("There is no token \(id.debugDescription).")
    }
}
