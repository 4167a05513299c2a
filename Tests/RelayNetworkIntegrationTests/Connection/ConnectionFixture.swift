import NATS
import NIOConcurrencyHelpers
import Platform
import Relay
import TestSupport

@testable import RelayNetwork

extension TestNetwork {
    var address: ServerAddress { get throws { try ServerAddress(parsing: description.url) } }

    /// A client of this network that has not been asked to connect.
    ///
    /// - Parameters:
    ///   - credentials: what it presents; those of the user's file when nil.
    ///   - server: where it dials; a proxy, say.
    ///   - surroundings: what it takes from the world around it.
    ///   - change: what else is different.
    func client(
        as user: String = "alice", credentials: RelayCredentials? = nil, server: ServerAddress? = nil,
        surroundings: Surroundings = Surroundings(), _ change: (inout RelayConfiguration) -> Void = { _ in }
    ) throws -> RelayClient {
        let credentials = try credentials ?? RelayCredentials(directory.credentials(for: user))
        var configuration = RelayConfiguration(
            servers: .fixed([try server ?? address]), credentials: credentials, reconnect: .rongcloud)
        configuration.followsNetwork = false
        // A busy machine's login is no fault of what is tested here.
        configuration.dialTimeout = .seconds(60)
        change(&configuration)
        return RelayClient(configuration: configuration, surroundings: surroundings)
    }

    /// A token of this network for a user, as its own server would hand one out.
    ///
    /// - Parameters:
    ///   - pair: the user's key.
    ///   - lifetime: seconds from now to its end, which may lie in the past; nil for none.
    ///   - isBearer: whether the token alone is enough.
    func token(
        for user: String = "alice", pair: NKeyPair = .generate(.user), lifetime: Int64? = nil, isBearer: Bool = true
    ) throws -> String {
        let identity = try NetworkIdentity.open(in: directory)
        _ = try directory.credentials(for: user)
        let account = try NKey(directory.knownRecord(of: UserName(user)).account)
        var grant = UserGrant(issuerAccount: account)
        grant.template.bearerToken = isBearer
        let now = Int64(Date().timeIntervalSince1970)
        let claims = UserClaims(
            subject: pair.publicKey, name: user, issuedAt: now - 3_600, expires: lifetime.map { now + $0 },
            grant: grant)
        return try claims.encode(signedBy: identity.signingKey)
    }
}

/// What a client's status and events went through, from its making on.
final class Journal: Sendable {
    private struct Entries {
        var statuses: [ConnectionStatus] = []
        var events: [SystemEvent] = []
    }

    private let entries = NIOLockedValueBox(Entries())
    private let tasks: [Task<Void, Never>]

    init(_ client: RelayClient) {
        let (statuses, events) = (client.statuses, client.events)
        tasks = [
            Task { [entries] in
                for await status in statuses { entries.withLockedValue { $0.statuses.append(status) } }
            },
            Task { [entries] in for await event in events { entries.withLockedValue { $0.events.append(event) } } },
        ]
    }

    deinit { for task in tasks { task.cancel() } }

    var statuses: [ConnectionStatus] { entries.withLockedValue(\.statuses) }
    var events: [SystemEvent] { entries.withLockedValue(\.events) }

    /// Returns at the first status for which `condition` holds, which may lie in the past.
    @discardableResult
    func status(_ what: String, where condition: (ConnectionStatus) -> Bool) async throws -> ConnectionStatus {
        var found: ConnectionStatus?
        try await eventually(what) {
            found = statuses.first(where: condition)
            return found != nil
        }
        return found ?? .initialized
    }

    /// Returns when the session has ended, with the last status.
    @discardableResult
    func end() async throws -> ConnectionStatus {
        try await status("the end of the session") { $0.state == .disconnected }
    }

    /// Returns when exactly these events were heard; they come by a way of their own, a moment before or after the
    /// statuses.
    func heard(_ expected: [SystemEvent]) async throws {
        try await eventually("exactly \(expected)") { events == expected }
    }

    /// The changes of state that are in no table of allowed ones; always empty.
    var illegalEdges: [String] {
        let states = statuses.map(\.state)
        return zip(states, states.dropFirst())
            .filter { $0 != $1 && !$0.successors.contains($1) }
            .map { "\($0) to \($1)" }
    }
}
