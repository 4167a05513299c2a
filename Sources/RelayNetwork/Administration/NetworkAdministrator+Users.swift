import NATS
import Relay

/// A user of a private network, as its administrator sees it.
public struct NetworkUser: Hashable, Sendable {
    /// One connection of the user.
    public struct Device: Hashable, Sendable {
        /// The client's name for itself.
        public var client: String
        /// The address it connects from.
        public var address: String
    }

    /// The user's name.
    public var name: UserName
    /// Bans and deactivations.
    public var standing: UserStanding
    /// The user's rights.
    public var rights: AccessRights
    /// When the account expires, in seconds since 1970; nil if never.
    public var expires: Int64?
    /// The connections; nil if the network is not running.
    public var devices: [Device]?

    /// Describes when an account expires, which is in seconds since 1970.
    public static func words(untilEnd end: Int64?) -> String {
        guard let end else { return "without end" }
        let seconds = min(max(end, Timestamp.earliest.milliseconds / 1_000), Timestamp.latest.milliseconds / 1_000)
        return "until \(Timestamp(seconds: seconds).iso8601)"
    }
}

extension NetworkAdministrator {
    /// Makes a user, or changes an existing one at once. Either gets a new key; earlier keys stay valid.
    /// - Parameters:
    ///   - rights: an existing user keeps what is not named; a new user gets all of it.
    ///   - expires: when the account expires, in seconds since 1970; nil leaves an existing user's unchanged.
    ///   - kind: what the key is for. This machine's own key is made only if it has no valid one.
    /// - Returns: the credentials, whose secret is not stored, except for this machine's own key.
    /// - Throws: `NetworkError.invalidGrant`, `.userBanned`, `.userDeactivated`, `.userExpired`, `.tooManyKeys`.
    @discardableResult
    public func add(
        user: String, rights: RightsChange = RightsChange(), expires: Int64? = nil, for kind: UserKey.Kind = .file
    ) async throws(NetworkError) -> Credentials {
        let user = try UserName(user)
        return try await alone { identity throws(NetworkError) in
            let before = try directory.record(of: user)
            try directory.establish(
                user, rights: rights.applied(to: before?.rights ?? .all), expires: expires ?? before?.expires)
            if let before {
                try await enforce(user, before, reason: nil, identity)
            } else {
                log("user made", user)
                try await introduce(user, identity)
            }
            if kind == .identity, let own = try directory.renewOwnCredentials(of: user) { return own }
            let made = try directory.issueKey(of: user, kind)
            logMade(made.key, of: user)
            return made.credentials
        }
    }

    /// Changes a user's rights at once; what is not named stays. All readers of topics that are no longer granted end;
    /// those of other users are made again automatically.
    /// - Throws: `NetworkError.invalidGrant`.
    public func grant(user: String, rights: RightsChange, reason: String? = nil) async throws(NetworkError) {
        try await change(user, reason) { $0.rights = rights.applied(to: $0.rights) }
    }

    /// Sets when a user's account expires. A time in the past ends its connections at once.
    /// - Parameters:
    ///   - end: seconds since 1970; nil for never.
    ///   - reason: sent at once to the user's clients: when the time comes, the server gives no reason.
    public func expire(user: String, at end: Int64?, reason: String? = nil) async throws(NetworkError) {
        try await change(user, reason, newEnd: { "\(NetworkUser.words(untilEnd: end)): \($0)" }) { $0.expires = end }
    }

    /// - Parameter newEnd: describes the new end, given the reason for it; nil if the end does not change.
    private func change(
        _ user: String, _ reason: String?, newEnd: ((String) -> String)? = nil, _ body: (inout UserRecord) -> Void
    ) async throws(NetworkError) {
        let user = try UserName(user)
        let reason = try Self.checked(reason)
        try await alone { identity throws(NetworkError) in
            let before = try directory.knownRecord(of: user)
            try directory.changeUser(user, body)
            if newEnd != nil { try directory.renewOwnCredentials(of: user) }
            try await enforce(user, before, reason: reason, newEnd: reason.flatMap { newEnd?($0) }, identity)
        }
    }

    /// Lists all users, or one of them.
    public func users(named name: String? = nil) async throws(NetworkError) -> [NetworkUser] {
        var users: [NetworkUser] = []
        var accounts: [String: Int] = [:]
        let names = if let name { [try UserName(name)] } else { try directory.userNames() }
        for name in names {
            let record = try directory.knownRecord(of: name)
            for account in record.accounts { accounts[account] = users.count }
            users.append(
                NetworkUser(name: name, standing: record.standing, rights: record.rights, expires: record.expires))
        }
        guard !users.isEmpty else { return [] }
        let identity = try NetworkIdentity.open(in: directory)
        let only = users.count == 1 ? Array(accounts.keys) : nil
        try await onServer(identity) { system throws(NetworkError) in
            for index in users.indices { users[index].devices = [] }
            for connection in try await system.connections(ofAccounts: only) {
                guard let index = accounts[connection.account] else { continue }
                users[index].devices?.append(.init(client: connection.client ?? "", address: connection.address ?? ""))
            }
        }
        return users
    }

    /// Hands the server a user's changed accounts, ends access that is no longer granted, and tells the user.
    /// - Parameter newEnd: the description of an end that is still to come.
    func enforce(
        _ user: UserName, _ before: UserRecord, reason: String?, newEnd: String? = nil, _ identity: NetworkIdentity
    ) async throws(NetworkError) {
        let after = try directory.knownRecord(of: user)
        let narrowing = Narrowing(from: before.rights, to: after.rights)
        log("user changed", user, ["lost": "\(narrowing?.lost.count ?? 0) topics"])
        let isRunning: Void? = try await enact(identity) { system throws(NetworkError) in
            let isOver = after.isOver(at: Self.now)
            if isOver { try? await tell([user], .accessExpired, reason, on: system) }
            let block = directory.block()
            if [before, after].contains(where: { $0.closure(block: block, at: Self.now) != nil }) {
                try await exchange([user], on: system)
            } else {
                try await install([user], on: system)
            }
            if let narrowing { try await endReaders(of: [narrowing], on: system) }
            guard !isOver, before.rights != after.rights || newEnd != nil else { return }
            try? await tell([user], .permissionsChanged, newEnd ?? reason, on: system)
        }
        guard isRunning != nil else { return }
        try directory.markFinished([user])
    }

    /// Deletes the readers of narrowed grants, whose accounts the servers must already have.
    func endReaders(of narrowings: [Narrowing], on system: SystemInterface) async throws(NetworkError) {
        let (issuer, names) = (system.identity.issuer, system.identity.names)
        try await HostRole.keeping.withJetStream(at: [system.address], issuer, timeout: .seconds(10)) { jetStream in
            for narrowing in narrowings { try await jetStream.endReaders(of: narrowing, names) }
        }
        for narrowing in narrowings { try directory.forget(narrowing) }
    }
}
