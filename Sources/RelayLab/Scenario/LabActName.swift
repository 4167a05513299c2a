import RelayFaults

extension LabAct {
    /// The name of an act in scenarios. Its ``row`` describes each one.
    public enum Name: String, Hashable, Sendable, CaseIterable {
        /// Ends the present connections.
        case cut
        /// Refuses new connections: the port has no listener.
        case refuse
        /// Accepts connections and stays silent.
        case silence
        /// Drops the bytes of a direction, and leaves the sockets open.
        case blackhole
        /// Delays bytes.
        case delay
        /// Limits the rate in bytes per second.
        case throttle
        /// Writes bytes in pieces, by default one by one.
        case split
        /// Ends one direction of the present connections, and leaves the other.
        case halfClose = "half-close"
        /// Delivers the next message twice, after the following one, or not at all.
        case duplicate, reorder, drop
        /// Ends every condition of the link.
        case restore
        /// Kills the server, and starts it again.
        case killServer = "kill-server", startServer = "start-server"
        /// Kills the server that leads the topics' stream of a cluster, and starts it again.
        case stopLeader = "stop-leader", startLeader = "start-leader"
        /// Makes the network treat the server's disk as full, and as free.
        case fillDisk = "fill-disk", freeDisk = "free-disk"
        /// Ends the user's connections, as the administrator.
        case kick
        /// Bans the user, and lifts the ban.
        case ban, unban
        /// Revokes the user's account, and restores it.
        case revoke, readmit
        /// Ends the user's access now, and restores it.
        case expire, extend
        /// Blocks the application for all users, and lifts the block.
        case block, unblock
        /// Signs the user in on another device.
        case login
        /// Connects the client, and closes it.
        case connect, close
        /// Puts the application into the background, and brings it back.
        case background, foreground
        /// Makes the client send messages.
        case send
        /// Pauses the client's reader, so that messages wait, and resumes it.
        case pause, read
    }

    /// Who carries out an act, and how.
    enum Deed: Sendable {
        /// A condition of the link, which lasts until its time is up or `restore`.
        case condition(@Sendable (LabAct) -> FaultProxy.Fault)
        case restore
        /// A single effect on the link's connections.
        case strike(@Sendable (FaultProxy, LabAct) async -> Void)
        /// A single effect on a message, which the proxy cannot see if it is encrypted.
        case message(FaultProxy.MessageFault)
        /// A server dies or comes back.
        case server
        /// It takes the network's folder.
        case administrator(@Sendable (LabAdministrator, LabAct) async throws -> Void)
        /// The client under test, or its application, does it.
        case client(@Sendable (any LabSubject, LabAct) async throws -> Void)
        case send
        /// The client's reader pauses or resumes.
        case reading(isPaused: Bool)
    }

    struct Row: Sendable {
        let deed: Deed
        /// The parameters it takes.
        let fields: [Field]
        let opposite: Name?
        let isFault: Bool
        let isOfMessage: Bool

        init(
            _ deed: Deed, takes fields: [Field] = [], until opposite: Name? = nil, isFault: Bool = true,
            isOfMessage: Bool = false
        ) {
            (self.deed, self.fields, self.opposite) = (deed, fields, opposite)
            (self.isFault, self.isOfMessage) = (isFault, isOfMessage)
        }

        /// A lasting fault of the link.
        static func condition(
            takes fields: [Field] = [], isOfMessage: Bool = false,
            _ fault: @escaping @Sendable (LabAct) -> FaultProxy.Fault
        ) -> Row {
            Row(.condition(fault), takes: fields, until: .restore, isOfMessage: isOfMessage)
        }

        /// A fault of a single message.
        static func message(_ fault: FaultProxy.MessageFault) -> Row {
            Row(.message(fault), takes: [.direction], isOfMessage: true)
        }

        /// The administrator's fault, with a reason.
        static func admin(
            until opposite: Name? = nil, _ body: @escaping @Sendable (LabAdministrator, LabAct) async throws -> Void
        ) -> Row {
            Row(.administrator(body), takes: [.reason], until: opposite)
        }

        /// The end of such a fault.
        static func undo(_ body: @escaping @Sendable (LabAdministrator) async throws -> Void) -> Row {
            Row(.administrator { admin, _ in try await body(admin) }, isFault: false)
        }
    }
}

extension LabAct.Name {
    var row: LabAct.Row {
        switch self {
        case .cut:
            .init(
                .strike { await $0.cut(afterBytes: $1.afterBytes, direction: $1.direction, how: $1.how) },
                takes: [.how, .afterBytes, .direction])
        case .refuse: .condition { _ in .refuse }
        case .silence: .condition { _ in .silent }
        case .blackhole: .condition(takes: [.direction]) { .blackhole($0.direction) }
        case .delay:
            .condition(takes: [.by, .jitter, .direction]) { .delay($0.by, jitter: $0.jitter, $0.direction) }
        case .throttle: .condition(takes: [.rate, .direction]) { .throttle(bytesPerSecond: $0.rate, $0.direction) }
        case .split: .condition(takes: [.bytes, .direction]) { .split($0.bytes, $0.direction) }
        case .halfClose: .init(.strike { await $0.halfClose($1.direction) }, takes: [.direction])
        case .duplicate: .message(.duplicate)
        case .reorder: .message(.reorder)
        case .drop: .message(.drop)
        case .restore: .init(.restore, isFault: false)
        case .killServer: .init(.server, until: .startServer)
        case .startServer: .init(.server, isFault: false)
        case .stopLeader: .init(.server, until: .startLeader)
        case .startLeader: .init(.server, isFault: false)
        case .fillDisk: .init(.administrator { admin, _ in try await admin.fillDisk() }, until: .freeDisk)
        case .freeDisk: .undo { await $0.freeDisk() }
        case .kick: .admin { try await $0.network.kick(user: $0.user, reason: $1.reason) }
        case .ban: .admin(until: .unban) { try await $0.network.ban(user: $0.user, reason: $1.reason) }
        case .unban: .undo { try await $0.network.unban(user: $0.user) }
        case .revoke: .admin(until: .readmit) { try await $0.network.deactivate(user: $0.user, reason: $1.reason) }
        case .readmit: .undo { try await $0.network.activate(user: $0.user) }
        case .expire: .admin(until: .extend) { try await $0.expire($1.reason) }
        case .extend: .undo { try await $0.extend() }
        case .block: .admin(until: .unblock) { try await $0.network.blockApplication(reason: $1.reason) }
        case .unblock: .undo { try await $0.network.unblockApplication() }
        case .login: .init(.client { try await $0.signIn(on: $1.device) }, takes: [.device])
        case .connect: .init(.client { client, _ in await client.connect() }, isFault: false)
        case .close: .init(.client { client, _ in await client.close() }, isFault: false)
        case .background:
            .init(.client { client, _ in await client.lifecycleChanged(.background) }, until: .foreground)
        case .foreground: .init(.client { client, _ in await client.lifecycleChanged(.foreground) }, isFault: false)
        case .send: .init(.send, takes: [.count, .every], isFault: false)
        case .pause: .init(.reading(isPaused: true), until: .read)
        case .read: .init(.reading(isPaused: false), isFault: false)
        }
    }

    /// Whether it is a condition of the link, which lasts until its time is up or `restore`.
    public var isCondition: Bool {
        switch row.deed {
        case .condition: true
        case .restore, .strike, .message, .server, .administrator, .client, .send, .reading: false
        }
    }

    /// Whether it affects single messages. The ledger counts them but no outage, and an encrypted link refuses it.
    var isOfMessage: Bool { row.isOfMessage }

    /// Whether it needs a network that Parley started, as an act on the server or of its administrator.
    public var needsNetwork: Bool {
        switch row.deed {
        case .server, .administrator: true
        case .condition, .restore, .strike, .message, .client, .send, .reading: false
        }
    }

    /// Whether it needs a cluster of three servers.
    public var needsCluster: Bool { self == .stopLeader || self == .startLeader }

    /// Whether it affects only the link, so that it works with any program behind it.
    public var isOfLink: Bool {
        switch row.deed {
        case .condition, .restore, .strike, .message: true
        case .server, .administrator, .client, .send, .reading: false
        }
    }

    /// Whether it is expected to disturb the client.
    public var isFault: Bool { row.isFault }

    /// The act that ends it; nil if only `for` or nothing does.
    public var opposite: LabAct.Name? { row.opposite }
}
