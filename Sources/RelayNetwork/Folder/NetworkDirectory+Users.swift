import NATS

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension NetworkDirectory {
    /// The credentials of a user of this network, made on first use with every topic granted.
    /// - Throws: `NetworkError.invalidUserName`, `.userBanned`, `.userDeactivated`, `.file`, `.damaged` or
    ///   `.credentials`.
    public func credentials(for user: String) throws(NetworkError) -> Credentials {
        let name = try UserName(user)
        return try identified { identity throws(NetworkError) in
            if var record = try record(of: name) {
                try record.standing.check(name)
                if let existing = try existingCredentials(of: name) { return existing }
                try AccountSigner(self, identity).install(&record, of: name)
                return try issue(to: .generate(.user), name, record, identity)
            }
            return try makeUser(name, topics: [">"], expires: nil, identity).credentials
        }
    }

    /// Other credentials of a user, for a key of their own, which hold for so many seconds. They are not kept.
    /// - Throws: as ``credentials(for:)``.
    package func credentials(for user: String, lifetime: Int64) throws(NetworkError) -> Credentials {
        let name = try UserName(user)
        _ = try credentials(for: user)
        return try identified { identity throws(NetworkError) in
            let record = try knownRecord(of: name)
            let account: NKey
            do throws(CredentialsError) { account = try NKey(record.account) } catch { throw .credentials(error) }
            return try identity.issuer.issue(
                name: name.text, account: account, expires: NetworkAdministrator.now + lifetime)
        }
    }

    /// Every user of the network, by name.
    /// - Throws: `NetworkError.file`.
    public func userNames() throws(NetworkError) -> [UserName] {
        try userNames(suffix: ".json").sorted { $0.text < $1.text }
    }

    /// Makes a user, or gives one that exists other topics and another end; the key and the account stay.
    /// - Returns: the credentials, and the account's token where a server may know an older one.
    func issueCredentials(
        for name: UserName, topics: [String], expires: Int64?
    ) throws(NetworkError) -> (credentials: Credentials, token: String) {
        try identified { identity throws(NetworkError) in
            guard var record = try record(of: name) else {
                return try makeUser(name, topics: topics, expires: expires, identity)
            }
            try record.standing.check(name)
            record.topics = topics
            record.expires = expires
            let token = try AccountSigner(self, identity).install(&record, of: name)
            let pair = try existingCredentials(of: name)?.keyPair ?? .generate(.user)
            return (try issue(to: pair, name, record, identity), token)
        }
    }

    /// Changes what is kept of a user, and the account's token with it.
    /// - Returns: what the body returned, and the token.
    func changeUser<R>(
        _ name: UserName, _ body: (inout UserRecord) throws(NetworkError) -> R
    ) throws(NetworkError) -> (result: R, token: String) {
        try identified { identity throws(NetworkError) in
            guard var record = try record(of: name) else { throw .unknownUser(name.text) }
            let result = try body(&record)
            return (result, try AccountSigner(self, identity).install(&record, of: name))
        }
    }

    /// Changes what is kept of a user where that is of no account to the server.
    func changeRecord<R>(
        of name: UserName, _ body: (inout UserRecord) throws(NetworkError) -> R
    ) throws(NetworkError) -> R {
        try identified { _ throws(NetworkError) in
            var record = try knownRecord(of: name)
            let result = try body(&record)
            try PrivateFile.writeJSON(record, to: recordPath(of: name))
            try markUnpublished(name)
            return result
        }
    }

    /// A token of a user's account that allows no connection until another takes its place.
    func tokenWithoutConnections(_ record: UserRecord, of name: UserName) throws(NetworkError) -> String {
        try identified { identity throws(NetworkError) in
            try AccountSigner(self, identity).tokenWithoutConnections(record, of: name)
        }
    }

    /// Issues a user's credentials anew, with the end that the record has.
    func renewCredentials(of name: UserName) throws(NetworkError) {
        try identified { identity throws(NetworkError) in
            let pair = try existingCredentials(of: name)?.keyPair ?? .generate(.user)
            try issue(to: pair, name, knownRecord(of: name), identity)
        }
    }

    /// What is kept of a user; nil for a user whom the network does not have.
    func record(of name: UserName) throws(NetworkError) -> UserRecord? {
        let path = recordPath(of: name)
        guard let record = try PrivateFile.readJSON(UserRecord.self, from: path) else { return nil }
        // A file system that ignores case would give Alice's record for alice.
        guard record.name == name.text else {
            throw .damaged(path: path, reason: "it belongs to a user whose name is written differently")
        }
        return record
    }

    /// What is kept of a user.
    /// - Throws: `NetworkError.unknownUser` for one whom the network does not have.
    func knownRecord(of name: UserName) throws(NetworkError) -> UserRecord {
        guard let record = try record(of: name) else { throw .unknownUser(name.text) }
        return record
    }

    // A user's name has no dot, so that none is another one's file.
    func recordPath(of name: UserName) -> String { "\(users)/\(name).json" }
    func tokenPath(ofAccount account: String) -> String { "\(resolver)/\(account).jwt" }

    /// The user whose account it is; nil for an account that is no user's.
    func user(ofAccount account: String) -> UserName? {
        guard let key = try? NKey(account), key.kind == .account,
            let token = try? PrivateFile.read(tokenPath(ofAccount: account))
        else { return nil }
        guard let claims = try? AccountClaims.decode(String(decoding: token, as: UTF8.self)) else {
            // A server that is handed a token writes it into the same file, which is cut short for that moment.
            return try? userNames().first { (try? record(of: $0))?.account == account }
        }
        guard claims.subject == account, let name = claims.name.flatMap({ try? UserName($0) }),
            (try? record(of: name))?.account == account
        else { return nil }
        return name
    }

    /// The users who have a file with this suffix.
    func userNames(suffix: String) throws(NetworkError) -> [UserName] {
        guard PrivateFile.exists(users) else { return [] }
        let files: [String]
        do {
            files = try FileManager.default.contentsOfDirectory(atPath: users)
        } catch {
            throw .file(path: users, reason: "it cannot be listed")
        }
        return files.filter { $0.hasSuffix(suffix) }.compactMap { try? UserName(String($0.dropLast(suffix.count))) }
    }

    /// Runs the body while no other process makes or changes users.
    func identified<R>(
        _ body: (NetworkIdentity) throws(NetworkError) -> R
    ) throws(NetworkError) -> R {
        let identity = try NetworkIdentity.open(in: self)
        let lock = try FileLock.wait(identityLock, .exclusive)
        defer { withExtendedLifetime(lock) {} }
        return try body(identity)
    }

    /// Issues a user's credentials and keeps them.
    @discardableResult
    func issue(
        to pair: NKeyPair, _ name: UserName, _ record: UserRecord, _ identity: NetworkIdentity
    ) throws(NetworkError) -> Credentials {
        let account: NKey
        do throws(CredentialsError) { account = try NKey(record.account) } catch { throw .credentials(error) }
        let credentials = try identity.issuer.issue(
            to: pair, name: name.text, account: account, expires: record.expires)
        try PrivateFile.write(credentials.fileText().utf8, to: credentialsPath(for: name))
        return credentials
    }

    private func makeUser(
        _ name: UserName, topics: [String], expires: Int64?, _ identity: NetworkIdentity
    ) throws(NetworkError) -> (credentials: Credentials, token: String) {
        var record = UserRecord(
            name: name.text, account: NKeyPair.generate(.account).publicKey.text, topics: topics, expires: expires,
            created: NetworkAdministrator.now, signed: 0)
        let pair = try existingCredentials(of: name)?.keyPair ?? .generate(.user)
        let token = try AccountSigner(self, identity).install(&record, of: name)
        return (try issue(to: pair, name, record, identity), token)
    }

    private func existingCredentials(of name: UserName) throws(NetworkError) -> Credentials? {
        let path = credentialsPath(for: name)
        do {
            let credentials = try Credentials.load(path: path)
            // A file system that ignores case would give Alice's file for alice.
            guard try credentials.claims().name == name.text else {
                throw NetworkError.damaged(path: path, reason: "it belongs to a user whose name is written differently")
            }
            return credentials
        } catch let error as CredentialsError {
            if case .fileNotFound = error { return nil }
            throw .credentials(error)
        } catch let error as NetworkError {
            throw error
        } catch {
            throw .damaged(path: path, reason: "\(error)")
        }
    }
}
