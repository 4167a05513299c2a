import Logging
import NATS
import Platform
import Relay

/// The administration of a network. Anyone who can read its folder is its administrator.
///
/// Each call first tells the user's clients why, by a signed ``Relay/ControlMessage``, and then has the server act.
/// Calls run one after another, even from different processes. Bans and deactivations need no running network.
///
/// Each call may throw `NetworkError.invalidUserName`, `.unknownUser`, `.invalidReason`, `.connection`, `.refused`,
/// `.notInEffect` or, if another administrator is busy for very long, `.timedOut`; other errors are listed with the
/// call.
public struct NetworkAdministrator: Sendable {
    /// Maximum length of a reason, in bytes of UTF-8.
    public static let maximumReasonLength = 1_024

    /// The network's folder.
    public let directory: NetworkDirectory
    /// The administrator's name, which clients are told; nil to withhold it.
    public let name: String?
    let logger: Logger

    /// Names a network; nothing is read or made yet. The logger receives each completed change.
    public init(directory: NetworkDirectory = .standard(), name: String? = nil, logger: Logger? = nil) {
        (self.directory, self.name, self.logger) = (directory, name, logger ?? .silent)
    }

    // MARK: One user

    /// Ends a user's connections. The user may connect again.
    /// - Returns: how many there were; 0 if the network is not running.
    @discardableResult
    public func kick(user: String, reason: String? = nil) async throws(NetworkError) -> Int {
        let user = try UserName(user)
        let reason = try Self.checked(reason)
        let accounts = try directory.knownRecord(of: user).accounts
        return try await alone { identity throws(NetworkError) in
            let runsElsewhere = try directory.cluster() != nil
            guard identity.administrator != nil || !runsElsewhere else {
                throw .invalidProvision(
                    "This machine has no credentials for the system account, so it cannot end connections: name them with --system-creds when you provision."
                )
            }
            return try await onServer(identity) { system throws(NetworkError) in
                let connections = try await system.connections(ofAccounts: accounts)
                log("user kicked", user, ["connections": "\(connections.count)"])
                guard !connections.isEmpty else { return 0 }
                try await tell([user], .kicked, reason, on: system)
                for connection in connections where try await !system.disconnect(connection) {
                    // Before 2.10 the server cannot close one connection, only all those beyond an account's limit.
                    // Revoking their logins instead would be a ban to a client that has not heard the reason.
                    try directory.markUnfinished([user])
                    try await exchange([user], on: system)
                    break
                }
                return connections.count
            } ?? 0
        }
    }

    /// Bans a user until ``unban(user:)``: connections end, each login is only told why, and no credentials are issued.
    /// - Returns: false if the user was already banned; the newest reason counts.
    @discardableResult
    public func ban(user: String, reason: String? = nil) async throws(NetworkError) -> Bool {
        try await decide(user, \.banned, .banned, reason)
    }

    /// Lifts a ban; the user's credentials are valid again.
    /// - Returns: false if the user was not banned.
    @discardableResult
    public func unban(user: String) async throws(NetworkError) -> Bool { try await decide(user, \.banned) }

    /// Deactivates a user's account, which has the effect of a ban. The user's postboxes stay.
    /// - Returns: false if it was already deactivated; the newest reason counts.
    @discardableResult
    public func deactivate(user: String, reason: String? = nil) async throws(NetworkError) -> Bool {
        try await decide(user, \.deactivated, .deactivated, reason)
    }

    /// Activates a deactivated account.
    /// - Returns: false if it was not deactivated.
    @discardableResult
    public func activate(user: String) async throws(NetworkError) -> Bool { try await decide(user, \.deactivated) }

    // MARK: All users

    /// Blocks the entire network for its users until ``unblockApplication()``: every connection ends, and each login is
    /// told why and refused. Messages, postboxes and users stay. Needs no running network.
    public func blockApplication(reason: String? = nil) async throws(NetworkError) {
        try await decide(blocks: true, Self.checked(reason))
    }

    /// Lifts the block; users can connect once this returns.
    public func unblockApplication() async throws(NetworkError) { try await decide(blocks: false, nil) }

    private func decide(blocks: Bool, _ reason: String?) async throws(NetworkError) {
        try await alone { identity throws(NetworkError) in
            guard blocks || directory.isBlocked else { return }
            try directory.markUnfinished(directory.userNames())
            let marker = directory.blockMarker
            if blocks {
                try PrivateFile.writeJSON(UserStanding.Decision(since: Self.now, reason: reason), to: marker)
            } else {
                PrivateFile.remove(marker)
            }
            try AccountSigner.signAll(in: directory)
            log(blocks ? "network blocked" : "network unblocked")
            try await enact(identity) { system throws(NetworkError) in
                var users: [UserName] = []
                if blocks {
                    // Connected users first; the server may hold other users' accounts too.
                    users = Set(try await system.connections().map(\.account)).compactMap(directory.user(ofAccount:))
                    // Clients that miss the message are shut out all the same.
                    try? await tell(users, .applicationBlocked, reason, on: system)
                }
                try await exchange(users + directory.userNames().filter { !users.contains($0) }, on: system)
            }
        }
    }

    func log(_ act: String, _ user: UserName? = nil, _ more: Logger.Metadata = [:]) {
        logger.info("\(act)", metadata: more.merging(user.map { ["user": "\($0)"] } ?? [:]) { $1 })
    }

    private func decide(
        _ user: String, _ mark: any WritableKeyPath<UserStanding, UserStanding.Decision?> & Sendable,
        _ kind: ControlMessage.Kind? = nil, _ reason: String? = nil
    ) async throws(NetworkError) -> Bool {
        let user = try UserName(user)
        let reason = try Self.checked(reason)
        return try await alone { identity throws(NetworkError) in
            let isNew = try directory.changeUser(user) { record in
                let wasOut = record.standing[keyPath: mark] != nil
                record.standing[keyPath: mark] = kind == nil ? nil : .init(since: Self.now, reason: reason)
                return wasOut == (kind == nil)
            }
            log("user's standing changed", user, ["now": "\(kind.map { "\($0)" } ?? "admitted")"])
            try await enact(identity) { system throws(NetworkError) in
                // Clients that miss the message are shut out all the same.
                if let kind { try? await tell([user], kind, reason, on: system) }
                if kind != nil || isNew {
                    try await exchange([user], on: system)
                } else {
                    try await install([user], on: system)
                }
            }
            return isNew
        }
    }

    /// Hands the servers accounts that close or open, at first without room for any connection. That ends connections
    /// with the old rights, and no login succeeds before the services know how to answer it.
    func exchange(_ users: [UserName], on system: SystemInterface) async throws(NetworkError) {
        try await install(users, connections: 0, on: system)
        if try directory.cluster() != nil { try await publishUsers(system.identity) }
        try await install(users, on: system)
        try directory.markFinished(users)
    }

    /// Hands the servers the accounts of users; `connections` overrides the limit in each.
    func install(
        _ users: [UserName], connections: Int64? = nil, on system: SystemInterface
    ) async throws(NetworkError) {
        let signer = try AccountSigner(directory, system.identity)
        for user in users {
            guard let record = try directory.record(of: user) else { continue }
            for token in try signer.tokens(record, of: user, connections: connections) {
                try await system.install(token)
            }
        }
    }

    func tell(
        _ users: [UserName], _ kind: ControlMessage.Kind, _ reason: String?, on system: SystemInterface
    ) async throws(NetworkError) {
        let message = ControlMessage(kind: kind, reason: reason, administrator: name)
        try await tell(users.map { ($0, message) }, on: system)
    }

    /// Sends users' clients these messages; returns once the server has passed them on.
    func tell(
        _ messages: [(user: UserName, message: ControlMessage)], on system: SystemInterface
    ) async throws(NetworkError) {
        let connection = try await NATSConnection.administrator(
            at: system.address, as: HostRole.telling.credentials(system.identity.issuer))
        defer { connection.closeNow() }
        try await reached {
            for (user, message) in messages {
                let bytes = try message.encoded(for: user.text, signedBy: system.identity.signingKey, at: Self.now)
                try connection.publish(bytes, to: ControlMessage.subject(for: user.text))
            }
            try await connection.flush()
        }
    }

    /// Runs the body with the running network's server; nil if the network is not running.
    @discardableResult
    func onServer<R>(
        _ identity: NetworkIdentity, _ body: (SystemInterface) async throws(NetworkError) -> R
    ) async throws(NetworkError) -> R? {
        guard identity.administrator != nil else {
            // Whoever uses someone else's servers may have to hand over the accounts' tokens by hand.
            guard try directory.cluster() == nil else { return nil }
            throw .damaged(path: IdentityFiles(folder: directory.keys).administrator, reason: "it is missing")
        }
        let deadline = ContinuousClock.now + .seconds(10)
        var turn = 0
        while true {
            let places = try await directory.places()
            guard !places.isEmpty else { return nil }
            do throws(NetworkError) {
                let system = try await SystemInterface(at: places[turn % places.count], identity: identity)
                defer { system.close() }
                return try await body(system)
            } catch {
                // A server that is starting may drop a connection. Every change can be repeated.
                let hasOthers = turn + 1 < places.count && error.isUnreachableServer
                guard hasOthers || error.isLostConnection && ContinuousClock.now < deadline else { throw error }
            }
            turn += 1
            try await Pause.sleep(.milliseconds(100))
        }
    }

    /// As ``onServer(_:_:)``, for a change that is already stored: errors say that it is not in effect yet.
    @discardableResult
    func enact<R>(
        _ identity: NetworkIdentity, _ body: (SystemInterface) async throws(NetworkError) -> R
    ) async throws(NetworkError) -> R? {
        do throws(NetworkError) { return try await onServer(identity, body) } catch { throw error.ofDecision }
    }

    /// Runs the body while no other administrator is active, then completes what earlier calls left unfinished.
    func alone<R>(_ body: (NetworkIdentity) async throws(NetworkError) -> R) async throws(NetworkError) -> R {
        try directory.prepare()
        let lock = try await directory.lockAdministration()
        defer { withExtendedLifetime(lock) {} }
        let identity = try NetworkIdentity.open(in: directory)
        let left = Set(try directory.unfinishedUsers())
        let overdue = left.union(directory.unpublishedUsers())
        let result = try await body(identity)
        do throws(NetworkError) {
            if !overdue.isEmpty { try await finish(Array(overdue), identity) }
            if try directory.cluster() != nil { try await publishUsers(identity) }
        } catch {
            throw error.ofDecision
        }
        // If no server is running, the next one reads the changed files.
        try directory.markFinished(directory.unfinishedUsers().filter { !left.contains($0) })
        return result
    }

    static func checked(_ reason: String?) throws(NetworkError) -> String? {
        guard let reason, !reason.isEmpty else { return nil }
        // Neither control characters nor those that reorder text.
        let isPlain = reason.unicodeScalars.allSatisfy { scalar in
            scalar.value >= 0x20
                && ![0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069].contains { $0.contains(scalar.value) }
        }
        guard isPlain, reason.utf8.count <= maximumReasonLength else { throw .invalidReason }
        return reason
    }

    /// In seconds since 1970.
    static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}

extension NATSConnection {
    /// Connects for an administrative call, within ten seconds. A server that is changing an account may leave a login
    /// into it unanswered, so an unusually slow one is tried once more.
    static func administrator(
        at address: ServerAddress, as credentials: Credentials
    ) async throws(NetworkError) -> NATSConnection {
        func connect(within limit: Duration) async throws(NATSError) -> NATSConnection {
            let options = ConnectOptions(
                name: "parley administrator", authentication: .init(credentials), connectTimeout: limit)
            return try await NATSConnection.connect(to: address, options: options)
        }
        return try await reached {
            do throws(NATSError) { return try await connect(within: .seconds(4)) } catch {
                guard case .timeout = error else { throw error }
                return try await connect(within: .seconds(6))
            }
        }
    }
}
