import NATS
import NIOCore

/// Where a network's services find its users: its folder on one machine, or a bucket on a cluster.
protocol UserRegister: Sendable {
    func record(of user: UserName) async throws(NetworkError) -> UserRecord?
    func block() async throws(NetworkError) -> UserStanding.Decision?
    func user(ofAccount account: String) async -> UserName?
    /// Uses an invitation up for a key, and registers that. Who asks again for the same key missed the answer.
    func redeem(
        _ invitation: String, for key: String, of user: UserName, at now: Int64
    ) async throws(NetworkError) -> UserRecord
}

extension UserRecord {
    /// The invitation with this public key as it is when somebody joins by it now, with a key of the own.
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
    func block() -> UserStanding.Decision? {
        guard isBlocked else { return nil }
        // One that cannot be read blocks, too.
        return (try? PrivateFile.readJSON(UserStanding.Decision.self, from: blockMarker)) ?? .init(since: 0)
    }

    func redeem(
        _ invitation: String, for key: String, of user: UserName, at now: Int64
    ) async throws(NetworkError) -> UserRecord {
        try changeUser(user, signs: false) { record throws(NetworkError) in
            record.invitation = try record.invitationUsed(invitation, for: key, block: block(), at: now)
            try record.add(UserKey(key, .invitation, created: now, expires: record.expires), of: user, at: now)
            return record
        }
    }
}

/// The users of a network on a cluster, in its bucket `relay_users`. An administrator's machine writes what is decided;
/// the services write which invitations were used, each by making a key that only one of them can make; so does the
/// administrator's machine for one that is taken back.
///
/// Everything is read from the stream's leader: a copy may not know yet what was decided.
struct BucketUserRegister: UserRegister {
    private let bucket: KeyValueBucket

    private static let blocked = "blocked"
    /// In the place of the key that an invitation was used for: a word that is no key.
    private static let revoked = "revoked"
    private static func key(_ user: UserName) -> String { "user.\(user.key)" }
    private static func key(account: String) -> String { "account.\(account)" }
    private static func key(used invitation: String) -> String { "used.\(invitation)" }
    private static func key(keysOf user: UserName) -> String { "keys.\(user.key)" }

    init(_ jetStream: JetStream) throws(NATSError) { bucket = try KeyValueBucket(NetworkPlan.users, jetStream) }

    func record(of user: UserName) async throws(NetworkError) -> UserRecord? {
        try await reached { try await bucket.decoded(UserRecord.self, Self.key(user))?.value }
    }

    func block() async throws(NetworkError) -> UserStanding.Decision? {
        try await value(Self.blocked).map { Wire.value(UserStanding.Decision.self, from: $0) ?? .init(since: 0) }
    }

    func user(ofAccount account: String) async -> UserName? {
        guard let key = try? NKey(account), key.kind == .account,
            let value = try? await value(Self.key(account: account))
        else { return nil }
        return try? UserName(String(decoding: value, as: UTF8.self))
    }

    func redeem(
        _ invitation: String, for key: String, of user: UserName, at now: Int64
    ) async throws(NetworkError) -> UserRecord {
        guard let record = try await record(of: user) else { throw .unknownUser(user.text) }
        _ = try record.invitationUsed(invitation, for: key, block: try await block(), at: now)
        switch try await claim(invitation, as: key) {
        case key: break
        case Self.revoked: throw .invitation(.revoked)
        default: throw .invitation(.usedUp)
        }
        try await add(UserKey(key, .invitation, created: now, expires: record.expires), of: user)
        return record
    }

    private func add(_ key: UserKey, of user: UserName) async throws(NetworkError) {
        while true {
            let (known, revision) = try await newKeys(of: user)
            var keys = known
            try keys.add(key, of: user, at: key.created)
            guard keys != known else { return }
            do throws(NATSError) {
                try await bucket.update(
                    ByteBuffer(bytes: Wire.json(keys)), for: Self.key(keysOf: user), revision: revision)
                return
            } catch {
                // Another service may have written one meanwhile.
                guard error.isConflict else { throw .connection(error) }
            }
        }
    }

    /// The keys that the services have issued credentials to, and the one that the invitation was exchanged for.
    func keys(
        of user: UserName, joinedBy invitation: InvitationRecord?, at now: Int64
    ) async throws(NetworkError) -> (keys: [UserKey], joined: String?) {
        // First the invitation: its use is noted before the key is.
        let end = if let invitation { try await end(ofInvitation: invitation.key) } else { String?.none }
        let joined = end == Self.revoked ? nil : end
        var keys = try await newKeys(of: user).keys
        if let joined, !keys.contains(where: { $0.publicKey == joined }) {
            keys.append(UserKey(joined, .invitation, created: now, expires: nil))
        }
        return (keys, joined)
    }

    private func newKeys(of user: UserName) async throws(NetworkError) -> (keys: [UserKey], revision: UInt64) {
        let known = try await reached { try await bucket.decoded([UserKey].self, Self.key(keysOf: user)) }
        return (known?.value ?? [], known?.revision ?? 0)
    }

    /// Makes an invitation void, unless a service uses it up at the same moment; false where it was used before.
    func revoke(invitation: String) async throws(NetworkError) -> Bool {
        try await claim(invitation, as: Self.revoked) == Self.revoked
    }

    /// Ends an invitation, unless somebody was quicker; returns what it was ended as.
    private func claim(_ invitation: String, as end: String) async throws(NetworkError) -> String? {
        do throws(NATSError) {
            try await bucket.create(ByteBuffer(string: end), for: Self.key(used: invitation))
            return end
        } catch {
            guard error.isConflict else { throw .connection(error) }
            return try await self.end(ofInvitation: invitation)
        }
    }

    /// The key that credentials were issued to for an invitation, or that it was revoked; nil while it is good.
    private func end(ofInvitation invitation: String) async throws(NetworkError) -> String? {
        try await value(Self.key(used: invitation)).map { String(decoding: $0, as: UTF8.self) }
    }

    func publish(_ record: UserRecord, of user: UserName) async throws(NetworkError) {
        try await reached {
            // The account first: a user who is known is known by the account too.
            for account in record.accounts {
                try await bucket.put(ByteBuffer(string: user.text), for: Self.key(account: account))
            }
            try await bucket.put(ByteBuffer(bytes: Wire.json(record)), for: Self.key(user))
        }
    }

    /// Writes what the administrator decided about a user, where it is not known already.
    func renew(_ record: UserRecord, of user: UserName) async throws(NetworkError) {
        // What cannot be read is written anew.
        let known = try? await self.record(of: user)
        let owner = try await value(Self.key(account: record.account))
        if known != record || owner == nil { try await publish(record, of: user) }
    }

    func publish(_ block: UserStanding.Decision?) async throws(NetworkError) {
        guard try await self.block() != block else { return }
        try await reached {
            if let block {
                try await bucket.put(ByteBuffer(bytes: Wire.json(block)), for: Self.blocked)
            } else {
                try await bucket.delete(Self.blocked)
            }
        }
    }

    private func value(_ key: String) async throws(NetworkError) -> [UInt8]? {
        try await reached { try await bucket.current(key).map { Array($0.value.readableBytesView) } }
    }
}
