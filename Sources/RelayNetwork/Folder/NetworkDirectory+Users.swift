import NATS
import Platform
import Relay

extension NetworkDirectory {
    /// This machine's credentials as a user, made on first use with every topic granted.
    /// - Throws: `NetworkError.invalidUserName`, `.userBanned`, `.userDeactivated` or `.keyRevoked`.
    public func credentials(for user: String) throws(NetworkError) -> Credentials {
        let name = try UserName(user)
        return try identified { identity throws(NetworkError) in
            let known = try record(of: name)
            var record = if let known { known } else { try makeUser(name, rights: .all, expires: nil, identity) }
            try record.standing.check(name)
            if let own = try holdingCredentials(record, of: name) { return own }
            return try makeKey(&record, of: name, .identity, identity).credentials
        }
    }

    /// Credentials of a user for a new key, valid for this many seconds.
    /// - Throws: as ``credentials(for:)``.
    package func credentials(for user: String, lifetime: Int64) throws(NetworkError) -> Credentials {
        _ = try credentials(for: user)
        return try issueKey(of: UserName(user), .token, expires: NetworkAdministrator.now + lifetime).credentials
    }

    /// All users, by name.
    public func userNames() throws(NetworkError) -> [UserName] {
        guard PrivateFile.exists(users) else { return [] }
        return try PrivateFile.names(in: users).filter { $0.hasSuffix(".json") }
            .compactMap { try? UserName(String($0.dropLast(5))) }.sorted { $0.text < $1.text }
    }

    /// A user's bans and deactivations. Reads files only.
    /// - Throws: `NetworkError.invalidUserName`.
    public func standing(of user: String) throws(NetworkError) -> UserStanding {
        try record(of: UserName(user))?.standing ?? UserStanding()
    }

    func establish(_ name: UserName, rights: AccessRights, expires: Int64?) throws(NetworkError) {
        try identified { identity throws(NetworkError) in
            guard var record = try record(of: name) else {
                _ = try makeUser(name, rights: rights, expires: expires, identity)
                return
            }
            (record.rights, record.expires) = (rights, expires)
            try record.checkAdmitted(name, at: NetworkAdministrator.now)
            try markUnfinished([name])
            try AccountSigner(self, identity).install(&record, of: name)
        }
    }

    /// Makes a key of a user, and credentials for it, whose secret is not stored, except for this machine's own key.
    /// - Parameters:
    ///   - rights: nil for all of the user's rights.
    ///   - expires: when they expire, if before the user does.
    func issueKey(
        of name: UserName, _ kind: UserKey.Kind, rights: RightsChange? = nil, expires: Int64? = nil,
        isBearer: Bool = false
    ) throws(NetworkError) -> (key: UserKey, credentials: Credentials) {
        try identified { identity throws(NetworkError) in
            var record = try knownRecord(of: name)
            try record.checkAdmitted(name, at: NetworkAdministrator.now)
            return try makeKey(&record, of: name, kind, rights: rights, expires: expires, isBearer: isBearer, identity)
        }
    }

    private func makeKey(
        _ record: inout UserRecord, of name: UserName, _ kind: UserKey.Kind, rights: RightsChange? = nil,
        expires: Int64? = nil, isBearer: Bool = false, _ identity: NetworkIdentity
    ) throws(NetworkError) -> (key: UserKey, credentials: Credentials) {
        let pair = NKeyPair.generate(.user)
        let end = [expires, record.expires].compactMap(\.self).min()
        let signer = try AccountSigner(self, identity)
        var key = UserKey(pair.publicKey.text, kind, created: NetworkAdministrator.now, expires: end)
        if let rights {
            let rights = try signer.permissions(rights.applied(to: record.rights), name).rights
            if rights != record.rights {
                try rights.check(within: record.rights, of: name)
                key.account = record.account(for: rights)
            }
        }
        try record.add(key, of: name, at: key.created)
        // A key is stored, and its account signed, before it can be used. Making the user may have been interrupted.
        if key.account == nil, kind != .identity {
            try keep(record, of: name)
        } else {
            try signer.install(&record, of: name)
        }
        let credentials = try identity.issuer.issue(
            to: pair, name: name.text, account: record.accountKey(key.account), expires: end, isBearer: isBearer)
        if kind == .identity { try keepOwn(credentials, of: name) }
        return (key, credentials)
    }

    /// Changes a user's record.
    /// - Parameter signs: whether to sign the user's accounts again; false if the server is not affected.
    @discardableResult
    func changeUser<R>(
        _ name: UserName, signs: Bool = true, _ body: (inout UserRecord) throws(NetworkError) -> R
    ) throws(NetworkError) -> R {
        try identified { identity throws(NetworkError) in
            var record = try knownRecord(of: name)
            let result = try body(&record)
            guard signs else {
                try keep(record, of: name)
                return result
            }
            try markUnfinished([name])
            try AccountSigner(self, identity).install(&record, of: name)
            return result
        }
    }

    func hasOwnKey(of name: UserName) throws(NetworkError) -> Bool {
        let record = try knownRecord(of: name)
        return try ownKey(record, of: name).map { record.keys[$0.index].revoked == nil } ?? false
    }

    /// This machine's credentials as a user; nil if there are none and some may be made. Credentials whose key is not
    /// in the record belong to a user whose record was lost.
    /// - Throws: `NetworkError.keyRevoked`.
    func holdingCredentials(_ record: UserRecord, of name: UserName) throws(NetworkError) -> Credentials? {
        let known = try ownKey(record, of: name)
        guard known.map({ record.keys[$0.index].revoked == nil }) ?? record.mayMakeIdentity else {
            throw .keyRevoked(name.text)
        }
        return known?.own
    }

    /// Makes this machine's own credentials expire with the user; returns nil if there are no valid ones.
    @discardableResult
    func renewOwnCredentials(of name: UserName) throws(NetworkError) -> Credentials? {
        try identified { identity throws(NetworkError) in
            var record = try knownRecord(of: name)
            guard let (own, index) = try ownKey(record, of: name), record.keys[index].revoked == nil else { return nil }
            record.keys[index].expires = record.expires
            try keep(record, of: name)
            let account = try record.accountKey(record.keys[index].account)
            let renewed = try identity.issuer.issue(
                to: own.keyPair, name: name.text, account: account, expires: record.expires)
            try keepOwn(renewed, of: name)
            return renewed
        }
    }

    func record(of name: UserName) throws(NetworkError) -> UserRecord? {
        let path = recordPath(of: name)
        guard let record = try PrivateFile.readJSON(UserRecord.self, from: path) else { return nil }
        // A case-insensitive file system would find Alice's record for alice.
        guard record.name == name.text else { throw .userNameTaken(name.text, by: record.name) }
        return record
    }

    func knownRecord(of name: UserName) throws(NetworkError) -> UserRecord {
        guard let record = try record(of: name) else { throw .unknownUser(name.text) }
        return record
    }

    // A user's name contains no dot, so files cannot collide.
    func recordPath(of name: UserName) -> String { "\(users)/\(name).json" }
    func tokenPath(ofAccount account: String) -> String { "\(resolver)/\(account).jwt" }

    func user(ofAccount account: String) -> UserName? {
        guard let key = try? NKey(account), key.kind == .account,
            let token = try? PrivateFile.read(tokenPath(ofAccount: account))
        else { return nil }
        guard let claims = try? AccountClaims.decode(String(decoding: token, as: UTF8.self)) else {
            // A server that receives a token writes it into the same file, which is incomplete for that moment.
            return try? userNames().first { (try? record(of: $0))?.accounts.contains(account) == true }
        }
        guard claims.subject == account, let name = claims.name.flatMap({ try? UserName($0) }),
            (try? record(of: name))?.accounts.contains(account) == true
        else { return nil }
        return name
    }

    /// Runs the body while no other process can make or change users.
    func identified<R>(_ body: (NetworkIdentity) throws(NetworkError) -> R) throws(NetworkError) -> R {
        let identity = try NetworkIdentity.open(in: self)
        let lock = try FileLock.wait(identityLock, .exclusive)
        defer { withExtendedLifetime(lock) {} }
        return try body(identity)
    }

    private func keep(_ record: UserRecord, of name: UserName) throws(NetworkError) {
        try PrivateFile.writeJSON(record, to: recordPath(of: name))
        try markUnpublished(name)
    }

    private func makeUser(
        _ name: UserName, rights: AccessRights, expires: Int64?, _ identity: NetworkIdentity
    ) throws(NetworkError) -> UserRecord {
        // Case-insensitive disks have one file for both, and people mistake one name for the other.
        let spelled = name.text.lowercased()
        if let other = try userNames().first(where: { $0.text.lowercased() == spelled }) {
            throw .userNameTaken(name.text, by: other.text)
        }
        var record = UserRecord(
            name: name.text, account: NKeyPair.generate(.account).publicKey.text, rights: rights, expires: expires,
            created: NetworkAdministrator.now, signed: 0)
        try AccountSigner(self, identity).install(&record, of: name)
        return record
    }

    private func ownKey(
        _ record: UserRecord, of name: UserName
    ) throws(NetworkError) -> (own: Credentials, index: Int)? {
        let path = credentialsPath(for: name)
        guard PrivateFile.exists(path) else { return nil }
        let own = try translated { try Credentials.load(path: path) }
        // A case-insensitive file system would find Alice's file for alice.
        guard try translated({ try own.claims().name == name.text }) else {
            throw .damaged(path: path, reason: "it belongs to a user whose name differs in case")
        }
        return record.keys.firstIndex { $0.publicKey == own.keyPair.publicKey.text }.map { (own, $0) }
    }

    private func keepOwn(_ credentials: Credentials, of name: UserName) throws(NetworkError) {
        try PrivateFile.write(credentials.fileText().utf8, to: credentialsPath(for: name))
    }
}
