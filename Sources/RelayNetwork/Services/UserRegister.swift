/// Where the services of a network find its users: the folder of a network on one machine, or a bucket of one on a
/// cluster, whose services keep nothing.
protocol UserRegister: Sendable {
    /// What is kept of a user; nil for a user whom the network does not have.
    func found(_ user: UserName) async throws(NetworkError) -> UserRecord?
    /// The decision that closes the whole network to its users; nil while it is open.
    func block() async throws(NetworkError) -> UserStanding.Decision?
    /// The user of an account; nil for an account that is no user's.
    func owner(ofAccount account: String) async -> UserName?
    /// Takes a key of a user into the register, before anything is issued to it.
    /// - Throws: `NetworkError.unknownUser` or `.tooManyKeys`.
    func add(_ key: UserKey, of user: UserName) async throws(NetworkError)
    /// Uses an invitation up for a key, which is taken into the register. Whoever asks again for the same key has
    /// missed the answer.
    /// - Returns: what is kept of the user.
    /// - Throws: `NetworkError.invitation` with why it cannot be used.
    func redeem(
        _ invitation: String, for key: String, of user: UserName, at now: Int64
    ) async throws(NetworkError) -> UserRecord
}

extension UserRecord {
    /// The invitation with this public key as it is when somebody joins by it now, with a key of the own.
    /// - Throws: `NetworkError.invitation`.
    func invitationUsed(
        _ invitation: String, for key: String, block: UserStanding.Decision?, at now: Int64
    ) throws(NetworkError) -> InvitationRecord {
        guard closure(block: block, at: now) == nil else { throw .invitation(.refused) }
        guard var known = self.invitation, known.key == invitation else { throw .invitation(.revoked) }
        do throws(InvitationFailure) { try known.use(for: key, at: now) } catch { throw .invitation(error) }
        return known
    }
}

extension NetworkDirectory: UserRegister {
    func found(_ user: UserName) async throws(NetworkError) -> UserRecord? { try record(of: user) }

    func block() -> UserStanding.Decision? {
        guard isBlocked else { return nil }
        // One that cannot be read blocks, too.
        return (try? PrivateFile.readJSON(UserStanding.Decision.self, from: blockMarker)) ?? .init(since: 0)
    }

    func owner(ofAccount account: String) async -> UserName? { user(ofAccount: account) }

    func redeem(
        _ invitation: String, for key: String, of user: UserName, at now: Int64
    ) async throws(NetworkError) -> UserRecord {
        try changeRecord(of: user) { record throws(NetworkError) in
            record.invitation = try record.invitationUsed(invitation, for: key, block: block(), at: now)
            try record.keys.add(UserKey(joined: key, created: now, expires: record.expires), of: user, at: now)
            return record
        }
    }

    func add(_ key: UserKey, of user: UserName) async throws(NetworkError) {
        try changeRecord(of: user) { record throws(NetworkError) in
            try record.keys.add(key, of: user, at: key.created)
        }
    }
}
