import NATS
import Relay

/// A key of a user, as the network's administrator sees it.
public struct NetworkKey: Hashable, Sendable {
    /// The last known use of a key.
    public enum Use: Hashable, Sendable {
        /// A connection that uses it is open.
        case connected
        /// The last connection that used it ended then, in seconds since 1970.
        case ended(Int64)
    }

    /// The user.
    public var user: UserName
    /// The key.
    public var key: UserKey
    /// Its current rights.
    public var rights: AccessRights
    /// Its last use, as far as the running servers remember: since they started, and for their newest connections only.
    /// Nil if they know of none or none is running.
    public var lastUse: Use?
}

extension NetworkAdministrator {
    /// All keys of a user, oldest first.
    public func keys(of user: String) async throws(NetworkError) -> [NetworkKey] {
        let user = try UserName(user)
        let identity = try NetworkIdentity.open(in: directory)
        let record = try await currentRecord(of: user, identity)
        let lastUse = try await onServer(identity) { system throws(NetworkError) in
            var use: [String: NetworkKey.Use] = [:]
            for account in record.accounts {
                let ended = try await system.endedConnections(ofAccount: account)
                use.merge(ended.mapValues(NetworkKey.Use.ended)) { $1 }
                for connection in try await system.connections(ofAccounts: [account]) {
                    use[connection.key] = .connected
                }
            }
            return use
        }
        return record.allKeys.map {
            NetworkKey(user: user, key: $0, rights: record.rights(of: $0), lastUse: lastUse?[$0.publicKey])
        }
    }

    /// Makes a key of a user, and credentials for it. Their secret is not stored, except for this machine's own key.
    /// - Parameters:
    ///   - rights: a subset of the user's rights; all of them if empty.
    ///   - expires: when the credentials expire, in seconds since 1970; nil for when the user does.
    ///   - isBearer: whether the token is enough, without a signature by the key.
    /// - Throws: `NetworkError.userBanned`, `.userDeactivated`, `.userExpired`, `.tooManyKeys`, `.keyInUse`,
    ///   `.invalidGrant` for rights that the user does not have.
    public func makeKey(
        of user: String, for kind: UserKey.Kind = .file, rights: RightsChange = RightsChange(), expires: Int64? = nil,
        isBearer: Bool = false
    ) async throws(NetworkError) -> (key: UserKey, credentials: Credentials) {
        let user = try UserName(user)
        return try await alone { identity throws(NetworkError) in
            if kind == .identity, try directory.hasOwnKey(of: user) { throw .keyInUse(user.text) }
            let made = try directory.issueKey(
                of: user, kind, rights: rights.isEmpty ? nil : rights, expires: expires, isBearer: isBearer)
            logMade(made.key, of: user)
            if made.key.account != nil { try await introduce(user, identity) }
            return made
        }
    }

    /// Revokes a key permanently: its connections are told why and end at once, and it never admits anyone again,
    /// whatever happens to its user later. The user's other keys stay valid.
    /// - Parameter key: the key's id, an unambiguous beginning of it, or the public key.
    /// - Returns: the key as it was before.
    /// - Throws: `NetworkError.unknownKey`.
    @discardableResult
    public func revoke(key: String, of user: String, reason: String? = nil) async throws(NetworkError) -> UserKey {
        let user = try UserName(user)
        let reason = try Self.checked(reason)
        return try await alone { identity throws(NetworkError) in
            let record = try await currentRecord(of: user, identity)
            let meant = try record.allKeys.meant(by: key, of: user)
            if let invitation = record.invitation, invitation.key == meant.publicKey,
                try await close(invitation, of: user, identity) == .used
            {
                throw .unknownKey(
                    "The invitation \(meant.id) has just been used: `parley network key list \(user)` shows the key that it was exchanged for."
                )
            }
            try await revoke([meant], of: user, reason, identity)
            return meant
        }
    }

    /// Revokes all valid keys of a user, this machine's own and an invitation too, and returns them. None is replaced.
    @discardableResult
    public func revokeAllKeys(of user: String, reason: String? = nil) async throws(NetworkError) -> [UserKey] {
        let user = try UserName(user)
        let reason = try Self.checked(reason)
        return try await alone { identity throws(NetworkError) in
            // First the invitation: anyone using it at this moment either has a key by the time this ends, or never
            // gets one.
            if let invitation = try directory.knownRecord(of: user).invitation {
                _ = try await close(invitation, of: user, identity)
            }
            let holding = try await currentRecord(of: user, identity).allKeys.filter { $0.holds(at: Self.now) }
            try await revoke(holding, of: user, reason, identity)
            return holding
        }
    }

    // MARK: Bearer tokens

    /// Makes a bearer token of a user: a key of its own. The token is not stored.
    /// - Parameters:
    ///   - rights: a subset of the user's rights; all of them if empty.
    ///   - expires: when it expires, in seconds since 1970, or when the user does if that is sooner.
    ///   - makesUser: whether to make an unknown user, with every topic granted.
    public func makeToken(
        of user: String, rights: RightsChange = RightsChange(), expires: Int64, makesUser: Bool = false
    ) async throws(NetworkError) -> (key: UserKey, token: String) {
        let name = try UserName(user)
        if makesUser, try directory.record(of: name) == nil {
            try await alone { identity throws(NetworkError) in
                // Another process may have been quicker.
                if try directory.record(of: name) == nil {
                    try directory.establish(name, rights: .all, expires: nil)
                    log("user made", name)
                }
                try await introduce(name, identity)
            }
        }
        let made = try await makeKey(of: user, for: .token, rights: rights, expires: expires, isBearer: true)
        return (made.key, made.credentials.jwt)
    }

    /// Revokes a bearer token of any user by its key's id or public key; other keys stay.
    /// - Returns: its user, and the key as it was before.
    /// - Throws: `NetworkError.unknownKey`.
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

    func logMade(_ key: UserKey, of user: UserName) {
        log("key made", user, ["key": "\(key.id)", "kind": "\(key.kind.rawValue)"])
    }

    /// Makes an invitation unusable, but keeps it among the keys.
    private func close(
        _ invitation: InvitationRecord, of user: UserName, _ identity: NetworkIdentity
    ) async throws(NetworkError) -> InvitationRevocation {
        guard try directory.cluster() == nil else { return try await end(invitation, identity) }
        return try directory.changeUser(user, signs: false) { record in
            guard record.invitation?.usedBy == nil else { return .used }
            record.invitation?.isRevoked = true
            return .revoked
        }
    }

    private func revoke(
        _ keys: [UserKey], of user: UserName, _ reason: String?, _ identity: NetworkIdentity
    ) async throws(NetworkError) {
        try directory.changeUser(user) { $0.revoke(keys, at: Self.now) }
        log("keys revoked", user, ["keys": "\(keys.map(\.id).joined(separator: " "))"])
        try await enact(identity) { system throws(NetworkError) in
            let messages = keys.map { key in
                (user, ControlMessage(kind: .revoked, reason: reason, administrator: name, key: key.publicKey))
            }
            // Clients that miss the message are shut out all the same.
            try? await tell(messages, on: system)
            try await install([user], on: system)
        }
    }

    /// The record of a user, with the keys for which the services of a network on a cluster have issued credentials.
    private func currentRecord(of user: UserName, _ identity: NetworkIdentity) async throws(NetworkError) -> UserRecord
    {
        var record = try directory.knownRecord(of: user)
        guard try directory.cluster() != nil else { return record }
        let invitation = record.invitation
        record.take(
            try await withUserRegister(identity) { register throws(NetworkError) in
                try await register.keys(of: user, joinedBy: invitation, at: Self.now)
            })
        return record
    }
}

extension UserRecord {
    /// Adds keys for which services have issued credentials, and records the use of the invitation.
    mutating func take(_ issued: (keys: [UserKey], joined: String?)) {
        keys += issued.keys.filter { key in !keys.contains { $0.publicKey == key.publicKey } }
        if let joined = issued.joined { invitation?.wasUsed(by: joined) }
    }

    /// A revoked invitation becomes one of the keys.
    mutating func revoke(_ revoked: [UserKey], at now: Int64) {
        take((revoked, nil))
        for index in keys.indices where keys[index].revoked == nil {
            if revoked.contains(where: { $0.publicKey == keys[index].publicKey }) { keys[index].revoked = now }
        }
        if let invitation, revoked.contains(where: { $0.publicKey == invitation.key }) {
            self.invitation?.isRevoked = true
        }
    }
}
