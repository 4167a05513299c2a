import RelayFaults

extension LabAct {
    /// What an act is, as a scenario calls it. All there is to know of each stands in its ``row``.
    public enum Name: String, Hashable, Sendable, CaseIterable {
        /// Ends the present connections.
        case cut
        /// Lets nobody connect: the port has no listener.
        case refuse
        /// Lets everybody connect, and says nothing.
        case silence
        /// Loses the bytes of a direction, and leaves the sockets open.
        case blackhole
        /// Has bytes come late.
        case delay
        /// Lets so many bytes a second through.
        case throttle
        /// Writes bytes in pieces, one by one unless it is said otherwise.
        case split
        /// Ends one direction of the present connections, and leaves the other.
        case halfClose = "half-close"
        /// Has the next message come twice, after the one that follows it, or not at all.
        case duplicate, reorder, drop
        /// Ends every condition of the link.
        case restore
        /// Kills the server, and starts it again.
        case killServer = "kill-server", startServer = "start-server"
        /// Kills the server of a cluster that leads the topics' stream, and starts it again.
        case stopLeader = "stop-leader", startLeader = "start-leader"
        /// Fills the server's disk, as far as the network can tell, and frees it.
        case fillDisk = "fill-disk", freeDisk = "free-disk"
        /// Ends the user's connections as the administrator.
        case kick
        /// Bans the user, and lifts the ban.
        case ban, unban
        /// Revokes the user's account, and gives it back.
        case revoke, readmit
        /// Ends the user's access now, and takes that back.
        case expire, extend
        /// Blocks the application for all users, and lifts the block.
        case block, unblock
        /// Signs the user in on another device.
        case login
        /// Connects the client, and closes it.
        case connect, close
        /// Puts the application into the background, and brings it back.
        case background, foreground
        /// Has the client send messages.
        case send
        /// Stops the client's reader, so that what comes waits, and lets it read again.
        case pause, read
    }

    /// By whom an act is carried out, and how.
    enum Deed: Sendable {
        /// A condition of the link, which lasts until it is over or `restore` comes.
        case condition(@Sendable (LabAct) -> FaultProxy.Fault)
        case restore
        /// Something that is done to the link's connections once.
        case strike(@Sendable (FaultProxy, LabAct) async -> Void)
        /// The same to a message, which the proxy can tell only where nothing is encrypted.
        case message(FaultProxy.MessageFault)
        /// A server dies or comes back.
        case server
        /// Whoever has the network's folder does it.
        case administrator(@Sendable (LabAdministrator, LabAct) async throws -> Void)
        /// The client under test does it, or its application.
        case client(@Sendable (any LabSubject, LabAct) async throws -> Void)
        case send
        /// The client's reader rests, or goes on.
        case reading(isPaused: Bool)
    }

    /// What there is to know of an act.
    struct Row: Sendable {
        let deed: Deed
        /// What of the other fields it takes.
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

        /// A fault of the link that lasts.
        static func condition(
            takes fields: [Field] = [], isOfMessage: Bool = false,
            _ fault: @escaping @Sendable (LabAct) -> FaultProxy.Fault
        ) -> Row {
            Row(.condition(fault), takes: fields, until: .restore, isOfMessage: isOfMessage)
        }

        /// A fault that a single message meets.
        static func message(_ fault: FaultProxy.MessageFault) -> Row {
            Row(.message(fault), takes: [.direction], isOfMessage: true)
        }

        /// A fault that whoever has the network's folder makes, with a reason.
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

    /// Whether it is a condition of the link, which lasts until it is over or `restore` comes.
    public var isCondition: Bool {
        switch row.deed {
        case .condition: true
        case .restore, .strike, .message, .server, .administrator, .client, .send, .reading: false
        }
    }

    /// Whether it spoils single messages on a connection that goes on, once or as long as it lasts: the ledger counts
    /// them and times no outage, and on an encrypted link it is refused.
    var isOfMessage: Bool { row.isOfMessage }

    /// Whether it needs a network that Parley started, since it is about the server or by its administrator.
    public var needsNetwork: Bool {
        switch row.deed {
        case .server, .administrator: true
        case .condition, .restore, .strike, .message, .client, .send, .reading: false
        }
    }

    /// Whether it needs a cluster of three servers.
    public var needsCluster: Bool { self == .stopLeader || self == .startLeader }

    /// Whether it is about the link alone, so that it can be done to any program behind it.
    public var isOfLink: Bool {
        switch row.deed {
        case .condition, .restore, .strike, .message: true
        case .server, .administrator, .client, .send, .reading: false
        }
    }

    /// Whether the client is expected to be disturbed by it.
    public var isFault: Bool { row.isFault }

    /// What ends it; nil where nothing does but `for`, or nothing at all.
    public var opposite: LabAct.Name? { row.opposite }
}
