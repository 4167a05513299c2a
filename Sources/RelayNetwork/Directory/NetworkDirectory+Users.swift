import NATS

extension NetworkDirectory {
    /// The credentials of a user of this network, made on first use with every topic granted.
    /// - Throws: `NetworkError.invalidUserName`, `.userBanned`, `.userDeactivated`, `.file`, `.damaged` or
    ///   `.credentials`.
    public func credentials(for user: String) throws(NetworkError) -> Credentials {
        let name = try UserName(user)
        return try identified { identity throws(NetworkError) in
            try checkStanding(of: name)
            if let existing = try existingCredentials(of: name) { return existing }
            return try issue(to: .generate(.user), name: name, topics: [">"], expires: nil, identity)
        }
    }

    /// Issues a user's credentials anew, with topics and an end. A known user keeps its key.
    /// - Parameters:
    ///   - user: the name.
    ///   - topics: the patterns granted.
    ///   - expires: the end, in seconds since 1970; nil means without end.
    /// - Throws: `NetworkError.invalidUserName`, `.invalidGrant`, `.userBanned`, `.userDeactivated`, `.file`,
    ///   `.damaged` or `.credentials`.
    public func issueCredentials(
        for user: String, topics: [String] = [">"], expires: Int64? = nil
    ) throws(NetworkError) -> Credentials {
        let name = try UserName(user)
        return try identified { identity throws(NetworkError) in
            try checkStanding(of: name)
            let pair = try existingCredentials(of: name)?.keyPair ?? .generate(.user)
            return try issue(to: pair, name: name, topics: topics, expires: expires, identity)
        }
    }

    /// The public key of a user whom the network has.
    func publicKey(of name: UserName) throws(NetworkError) -> NKey {
        guard let credentials = try existingCredentials(of: name) else { throw .unknownUser(name.text) }
        return credentials.keyPair.publicKey
    }

    /// Changes a user's standing, and the account's token so that the server enforces it.
    /// - Returns: what the body returned, and the token.
    func changeStanding<R>(
        of name: UserName, _ identity: NetworkIdentity, at now: Int64, _ body: (inout UserStanding) -> R
    ) throws(NetworkError) -> (result: R, token: String) {
        let lock = try FileLock.wait(identityLock, .exclusive)
        defer { withExtendedLifetime(lock) {} }
        let key = try publicKey(of: name).text
        var standing = try standing(of: name)
        let result = body(&standing)
        let token = try identity.accountToken(in: self, at: now) { revocations in
            revocations[key] = standing.isAdmitted ? nil : max(now, revocations[key] ?? now)
        }
        // The mark first: without it new credentials could be issued that the token does not revoke.
        try setStanding(standing, of: name)
        try IdentityFiles(folder: keys).replaceAccountToken(token)
        return (result, token)
    }

    /// Runs the body while no other process makes users.
    private func identified<R>(
        _ body: (NetworkIdentity) throws(NetworkError) -> R
    ) throws(NetworkError) -> R {
        let identity = try NetworkIdentity.open(in: self)
        let lock = try FileLock.wait(identityLock, .exclusive)
        defer { withExtendedLifetime(lock) {} }
        return try body(identity)
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

    private func issue(
        to pair: NKeyPair, name: UserName, topics: [String], expires: Int64?, _ identity: NetworkIdentity
    ) throws(NetworkError) -> Credentials {
        let rules = try UserPermissions(
            user: name, topics: topics, namespace: identity.names.namespace, hash: identity.names.hash)
        let credentials = try identity.issue(
            to: pair, name: name.text, permissions: rules.permissions, expires: expires)
        try PrivateFile.write(credentials.fileText().utf8, to: credentialsPath(for: name))
        return credentials
    }
}
