import NATS
import NIOCore

/// The users, as a network's services find them: in its folder on one machine, or in a bucket on a cluster.
protocol UserRegister: Sendable {
    func record(of user: UserName) async throws(NetworkError) -> UserRecord?
    func block() async throws(NetworkError) -> UserStanding.Decision?
    func user(ofAccount account: String) async -> UserName?
    /// Uses up an invitation for a key, and registers the key. A repeated request means that the answer was lost.
    func redeem(
        _ invitation: String, for key: String, of user: UserName, at now: Int64
    ) async throws(NetworkError) -> UserRecord
}

extension UserRecord {
    /// The state of the invitation with this public key once it is used for a new key.
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
        // An unreadable block counts, too.
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

/// The users of a network on a cluster, in its bucket `relay_users`. An administrator's machine writes decisions. The
/// services record used invitations, each under a key that only one of them can make; the administrator's machine
/// revokes one in the same way.
///
/// Everything is read from the stream's leader, as a copy may not know the newest decisions.
struct BucketUserRegister: UserRegister {
    private let bucket: KeyValueBucket

    private static let blocked = "blocked"
    /// Replaces the key that an invitation was used for.
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
                // Another service may have added one meanwhile.
                guard error.isConflict else { throw .connection(error) }
            }
        }
    }

    /// The keys that received credentials from the services, and the one that used the invitation.
    func keys(
        of user: UserName, joinedBy invitation: InvitationRecord?, at now: Int64
    ) async throws(NetworkError) -> (keys: [UserKey], joined: String?) {
        // The invitation first, as its use is recorded before the key.
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

    func revoke(invitation: String) async throws(NetworkError) -> Bool {
        try await claim(invitation, as: Self.revoked) == Self.revoked
    }

    /// Ends an invitation, unless another process was quicker; returns how it ended.
    private func claim(_ invitation: String, as end: String) async throws(NetworkError) -> String? {
        do throws(NATSError) {
            try await bucket.create(ByteBuffer(string: end), for: Self.key(used: invitation))
            return end
        } catch {
            guard error.isConflict else { throw .connection(error) }
            return try await self.end(ofInvitation: invitation)
        }
    }

    /// The key that used an invitation, or that it was revoked; nil while it is valid.
    private func end(ofInvitation invitation: String) async throws(NetworkError) -> String? {
        try await value(Self.key(used: invitation)).map { String(decoding: $0, as: UTF8.self) }
    }

    func publish(_ record: UserRecord, of user: UserName) async throws(NetworkError) {
        try await reached {
            // The account first: a known user must be found by account too.
            for account in record.accounts {
                try await bucket.put(ByteBuffer(string: user.text), for: Self.key(account: account))
            }
            try await bucket.put(ByteBuffer(bytes: Wire.json(record)), for: Self.key(user))
        }
    }

    /// Publishes a user's record, unless it is already known.
    func renew(_ record: UserRecord, of user: UserName) async throws(NetworkError) {
        // An unreadable record is replaced.
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
