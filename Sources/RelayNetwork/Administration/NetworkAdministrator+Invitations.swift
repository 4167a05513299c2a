import NATS

/// The outcome of revoking an invitation.
public enum InvitationRevocation: Hashable, Sendable {
    /// It can no longer be used.
    case revoked
    /// It had already been used.
    case used
    /// There was no invitation.
    case none
}

extension NetworkAdministrator {
    /// The default lifetime of an invitation, in seconds.
    public static let invitationLifetime: Int64 = 7 * 86_400

    /// Invites a person: makes the user if necessary, and credentials that can be exchanged once for the person's own,
    /// whose secret is not stored. The user's earlier invitation becomes void.
    /// - Parameters:
    ///   - rights: an existing user keeps what is not named; a new user gets all of it.
    ///   - servers: where the person connects; empty for the addresses the network listens on.
    ///   - expires: when the invitation expires, in seconds since 1970.
    /// - Throws: `NetworkError.invalidListener` if the network cannot be reached from elsewhere; `.userBanned`,
    ///   `.userDeactivated`, `.userExpired`.
    public func invite(
        user: String, rights: RightsChange = RightsChange(), servers: [String] = [], expires: Int64
    ) async throws(NetworkError) -> Invitation {
        let user = try UserName(user)
        let listener = try directory.listener()
        let cluster = try directory.cluster()
        let servers = try Self.servers(servers.isEmpty ? cluster?.servers ?? [] : servers, listener)
        let authority = if let cluster { try cluster.authority() } else { try listener?.authority() }
        return try await alone { identity throws(NetworkError) in
            let before = try directory.record(of: user)
            try before?.checkAdmitted(user, at: Self.now)
            if before == nil || !rights.isEmpty {
                try directory.establish(
                    user, rights: rights.applied(to: before?.rights ?? .all), expires: before?.expires)
            }
            if let before, !rights.isEmpty {
                try await enforce(user, before, reason: nil, identity)
            } else {
                // An interrupted attempt may have made the user without telling the servers.
                try await introduce(user, identity)
            }
            log("user invited", user)
            if let known = before?.invitation { _ = try await end(known, identity) }
            let pair = NKeyPair.generate(.user)
            let account = try directory.changeUser(user, signs: false) { record in
                record.invitation = InvitationRecord(key: pair.publicKey.text, created: Self.now, expires: expires)
                return record.account
            }
            let key = try translated { try NKey(account) }
            let credentials = try identity.issuer.issue(
                to: pair, name: user.text, account: key, permissions: Invitation.permissions(user), expires: expires)
            return Invitation(
                user: user.text, servers: servers, authority: authority,
                names: .init(
                    namespace: identity.names.namespace, hash: identity.names.hash, api: UserPermissions.apiPrefix),
                expires: expires, credentials: credentials)
        }
    }

    /// Revokes a user's invitation. To revoke the credentials that a used one was exchanged for, use
    /// ``revoke(key:of:reason:)``. If it is being used at the same moment, one of the two wins and the other is told.
    @discardableResult
    public func revokeInvitation(of user: String) async throws(NetworkError) -> InvitationRevocation {
        let user = try UserName(user)
        return try await alone { identity throws(NetworkError) in
            let isOnCluster = try directory.cluster() != nil
            // On a cluster it is kept until the servers know, so that a failed revocation can be repeated.
            let known = try directory.changeUser(user, signs: false) { record in
                defer { if isOnCluster { record.invitation?.isRevoked = true } else { record.invitation = nil } }
                return record.invitation
            }
            guard let known else { return .none }
            let outcome = try await end(known, identity)
            log("invitation taken back", user)
            if isOnCluster { try directory.changeUser(user, signs: false) { $0.invitation = nil } }
            return outcome
        }
    }

    func end(
        _ invitation: InvitationRecord, _ identity: NetworkIdentity
    ) async throws(NetworkError) -> InvitationRevocation {
        guard invitation.usedBy == nil else { return .used }
        guard try directory.cluster() != nil else { return .revoked }
        return try await withUserRegister(identity) { register throws(NetworkError) in
            try await register.revoke(invitation: invitation.key) ? .revoked : .used
        }
    }

    private static func servers(_ named: [String], _ listener: NetworkListener?) throws(NetworkError) -> [String] {
        guard !named.isEmpty else {
            guard let address = try listener?.publicAddress() else {
                throw .invalidListener(
                    listener == nil
                        ? "No one else can reach this network: start it with `parley network start --listen`, or name its servers with --server."
                        : "It is unknown where others can reach this network: name its servers with --server.")
            }
            return ["\(address)"]
        }
        return try named.map { text throws(NetworkError) in
            guard let address = try? ServerAddress(parsing: text), address.authentication == nil else {
                throw .invalidListener("\(text.debugDescription) is not a server address: write tls://host:port.")
            }
            guard address.usesTLS || listener?.tls == nil else {
                throw .invalidListener("The network listens with TLS: write tls:// before \(address.host).")
            }
            guard try listener?.isFor(address.host) ?? true else {
                throw .invalidListener("The network's certificate is not for \(address.host).")
            }
            return "\(address)"
        }
    }
}
