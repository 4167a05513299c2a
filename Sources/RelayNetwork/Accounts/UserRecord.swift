import NATS

/// What the network keeps of a user: the account's token is made from it, anew with each change.
struct UserRecord: Codable, Hashable, Sendable {
    /// The user's name.
    var name: String
    /// The public key of the user's account. Its secret is not kept: the host's signing key is used instead.
    var account: String
    /// The topics granted.
    var topics: [String]
    /// When the account ends, in seconds since 1970; nil means without end.
    var expires: Int64?
    /// When the user was made, in seconds since 1970.
    var created: Int64
    /// When the newest token of the account was signed, in seconds since 1970.
    var signed: Int64
    /// What the administrator decided.
    var standing = UserStanding()
    /// The newest invitation, as long as it was not revoked.
    var invitation: InvitationRecord?
    /// The keys that credentials were issued to; see ``keys``. Earlier versions did not keep them.
    var issued: [UserKey]?
}

extension UserRecord {
    /// The time by which all tokens of a user that is kept out are void: those, too, that a wrong clock dates later.
    private static let endOfTime: Int64 = 253_402_300_799

    /// The keys that credentials were issued to, oldest first.
    var keys: [UserKey] {
        get { issued ?? [] }
        set { issued = newValue }
    }

    /// The keys, with an invitation that nobody has used yet.
    var allKeys: [UserKey] {
        guard let invitation, invitation.usedBy == nil,
            !keys.contains(where: { $0.publicKey == invitation.key })
        else { return keys }
        let created = invitation.created ?? min(created, invitation.expires)
        return keys + [UserKey(invitation.key, .invitation, created: created, expires: invitation.expires)]
    }

    /// Whether this machine may make itself a key: not after the one that it had was revoked, or all that there were.
    var mayMakeIdentity: Bool {
        let own = keys.filter { $0.kind == .identity }
        let deciding = own.isEmpty ? keys : own
        return deciding.isEmpty || deciding.contains { $0.revoked == nil }
    }

    /// What voids single keys. Each act signs it again: a server takes a key whose entry is missing.
    private var revocations: [String: Int64] {
        Dictionary(keys.filter { $0.revoked != nil }.map { ($0.publicKey, Self.endOfTime) }) { first, _ in first }
    }

    /// The public key of the account.
    func accountKey() throws(NetworkError) -> NKey {
        do throws(CredentialsError) { return try NKey(account) } catch { throw .credentials(error) }
    }

    /// Whether the account has ended.
    func isOver(at now: Int64) -> Bool { expires.map { $0 <= now } ?? false }

    /// The claims of the account.
    ///
    /// An account that has ended is shut out as one that is banned: the server takes no notice of an end that has passed
    /// when it hears of it.
    /// - Parameters:
    ///   - isBlocked: whether the whole network is blocked for its users.
    ///   - now: seconds since 1970.
    func claims(
        of permissions: UserPermissions, _ identity: NetworkIdentity, limits: NetworkSettings.UserLimits,
        mappings: UserPermissions.MappingStyle, isBlocked: Bool, at now: Int64
    ) throws(NetworkError) -> AccountClaims {
        let isShutOut = isBlocked || !standing.isAdmitted || isOver(at: now)
        return AccountClaims(
            subject: try accountKey(), name: permissions.user.text, issuedAt: max(now, signed),
            expires: isShutOut ? nil : expires,
            grant: AccountGrant(
                limits: limits.account, signingKeys: [.key(identity.signingKey.publicKey.text)],
                revocations: isShutOut ? revocations.merging(["*": Self.endOfTime]) { $1 } : revocations,
                defaultPermissions: permissions.defaults(network: identity.account),
                imports: permissions.imports(from: identity.account), mappings: UserPermissions.mappings(mappings)))
    }
}
