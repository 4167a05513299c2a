import NATS

/// A network of the version before, in which all users shared one account: what it takes to carry it over.
///
/// The account stays with its streams and messages and becomes the network's own. Its users get accounts and new
/// credentials; the old ones are void, for the key that signed them is replaced. An interrupted carrying over is done
/// again from its beginning.
struct SharedAccountNetwork {
    let directory: NetworkDirectory
    var names: NetworkIdentity.Names

    /// Carries the network over. The caller holds the identity's lock.
    func carryOver() throws(NetworkError) -> NetworkIdentity {
        let files = IdentityFiles(folder: directory.keys)
        var names = names
        names.version = NetworkIdentity.Names.currentVersion
        try files.renewAccount(names)
        let identity = try files.read(names)
        let accounts = try AccountSigner(directory, identity)
        for name in try directory.userNames(suffix: ".creds") { try carryOver(name, accounts) }
        PrivateFile.remove(directory.keys + "/service.creds")
        try PrivateFile.write([], to: directory.unalignedMarker)
        try PrivateFile.writeJSON(names, to: files.names)
        return identity
    }

    private func carryOver(_ name: UserName, _ accounts: AccountSigner) throws(NetworkError) {
        // A damaged file is of no use to any user; a new one is made when the user comes.
        guard let old = try? Credentials.load(path: directory.credentialsPath(for: name)),
            let claims = try? old.claims()
        else { return }
        var record: UserRecord
        if let known = try directory.record(of: name) {
            record = known
        } else {
            record = UserRecord(
                name: name.text, account: NKeyPair.generate(.account).publicKey.text, topics: topics(granted: claims),
                expires: claims.expires, created: claims.issuedAt ?? NetworkAdministrator.now, signed: 0)
            let standing = standingPath(of: name)
            record.standing = try PrivateFile.readJSON(UserStanding.self, from: standing) ?? UserStanding()
        }
        try accounts.install(&record, of: name)
        try directory.issueOwn(old.keyPair, record, of: name, accounts.identity)
        PrivateFile.remove(standingPath(of: name))
    }

    /// The topics in the permissions of an old token.
    private func topics(granted claims: UserClaims) -> [String] {
        let prefix = names.hash + "."
        let granted = (claims.grant.template.sub?.allow ?? []).filter { $0.hasPrefix(prefix) }
            .map { String($0.dropFirst(prefix.utf8.count)) }
        // Two that share topics could be granted then; the first stays.
        return granted.reduce(into: []) { kept, topic in
            let isNew = kept.allSatisfy { !SubjectPattern.overlaps($0, topic) || SubjectPattern.covers($0, topic) }
            if isNew || kept.allSatisfy({ SubjectPattern.covers(topic, $0) }) { kept.append(topic) }
        }
    }

    private func standingPath(of name: UserName) -> String { "\(directory.users)/\(name).standing.json" }
}
