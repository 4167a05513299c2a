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
}

extension UserRecord {
    /// The time by which all tokens of a user that is kept out are void: those, too, that a wrong clock dates later.
    private static let endOfTime: Int64 = 253_402_300_799

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
        let key: NKey
        do throws(CredentialsError) { key = try NKey(account) } catch { throw .credentials(error) }
        return AccountClaims(
            subject: key, name: permissions.user.text, issuedAt: max(now, signed), expires: isShutOut ? nil : expires,
            grant: AccountGrant(
                limits: limits.account, signingKeys: [.key(identity.signingKey.publicKey.text)],
                revocations: isShutOut ? ["*": Self.endOfTime] : [:],
                defaultPermissions: permissions.defaults(network: identity.account),
                imports: permissions.imports(from: identity.account), mappings: UserPermissions.mappings(mappings)))
    }
}
