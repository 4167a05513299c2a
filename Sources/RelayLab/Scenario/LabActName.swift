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
        /// Has the next message come twice.
        case duplicate
        /// Has the next message come behind the one after it.
        case reorder
        /// Loses the next message.
        case drop
        /// Ends every condition of the link.
        case restore
        /// Kills the server.
        case killServer = "kill-server"
        /// Starts the server again.
        case startServer = "start-server"
        /// Kills the server of a cluster that leads the topics' stream.
        case stopLeader = "stop-leader"
        /// Starts it again.
        case startLeader = "start-leader"
        /// Fills the server's disk, as far as the network can tell.
        case fillDisk = "fill-disk"
        /// Frees it.
        case freeDisk = "free-disk"
        /// Ends the user's connections as the administrator.
        case kick
        /// Bans the user.
        case ban
        /// Lifts the ban.
        case unban
        /// Revokes the user's account.
        case revoke
        /// Gives it back.
        case readmit
        /// Lets the user's access end now.
        case expire
        /// Lets it be without end again.
        case extend
        /// Blocks the application for all.
        case block
        /// Lifts the block.
        case unblock
        /// Signs the user in on another device.
        case login
        /// Connects the client.
        case connect
        /// Closes it.
        case close
        /// Puts the application into the background.
        case background
        /// Brings it back.
        case foreground
        /// Has the client send messages.
        case send
        /// Lets the client's reader rest, so that what comes waits.
        case pause
        /// Lets it read again.
        case read
    }

    /// By whom an act is carried out, and how.
    enum Deed: Sendable {
        /// A condition of the link, which lasts until it is over or `restore` comes.
        case condition(@Sendable (LabAct) -> FaultProxy.Fault)
        /// The end of every condition of the link.
        case restore
        /// Something that is done to the link's connections once.
        case strike(@Sendable (FaultProxy, LabAct) async -> Void)
        /// The same to a message, which the proxy can tell only where nothing is encrypted.
        case message(FaultProxy.MessageFault)
        /// The server dies or comes back.
        case server(@Sendable (any LabServers) async throws -> Void)
        /// The one of a cluster that leads does.
        case leader(@Sendable (any LabServers) async throws -> Void)
        /// Whoever has the network's folder does it.
        case administrator(@Sendable (LabAdministrator, LabAct) async throws -> Void)
        /// The client under test, or its application.
        case client(@Sendable (isolated LabSession, LabAct) async throws -> Void)
    }

    /// What there is to know of an act.
    struct Row: Sendable {
        let deed: Deed
        /// What of the other fields it takes.
        let fields: [Field]
        /// What ends it; nil where nothing does but `for`, or nothing at all.
        let opposite: Name?
        /// Whether the client is expected to be disturbed by it.
        let isFault: Bool

        /// A fault.
        static func fault(_ deed: Deed, takes fields: [Field] = [], until opposite: Name? = nil) -> Row {
            Row(deed: deed, fields: fields, opposite: opposite, isFault: true)
        }

        /// What disturbs nobody.
        static func harmless(_ deed: Deed, takes fields: [Field] = []) -> Row {
            Row(deed: deed, fields: fields, opposite: nil, isFault: false)
        }

        /// A fault of the link that lasts.
        static func condition(
            takes fields: [Field] = [], _ fault: @escaping @Sendable (LabAct) -> FaultProxy.Fault
        ) -> Row {
            .fault(.condition(fault), takes: fields, until: .restore)
        }
    }
}

extension LabAct.Name {
    var row: LabAct.Row {
        switch self {
        case .cut:
            .fault(
                .strike { await $0.cut(afterBytes: $1.afterBytes, direction: $1.direction, how: $1.how) },
                takes: [.how, .afterBytes, .direction])
        case .refuse: .condition { _ in .refuse }
        case .silence: .condition { _ in .silent }
        case .blackhole: .condition(takes: [.direction]) { .blackhole($0.direction) }
        case .delay:
            .condition(takes: [.by, .jitter, .direction]) { .delay($0.by, jitter: $0.jitter, $0.direction) }
        case .throttle: .condition(takes: [.rate, .direction]) { .throttle(bytesPerSecond: $0.rate, $0.direction) }
        case .split: .condition(takes: [.bytes, .direction]) { .split($0.bytes, $0.direction) }
        case .halfClose: .fault(.strike { await $0.halfClose($1.direction) }, takes: [.direction])
        case .duplicate: .fault(.message(.duplicate), takes: [.direction])
        case .reorder: .fault(.message(.reorder), takes: [.direction])
        case .drop: .fault(.message(.drop), takes: [.direction])
        case .restore: .harmless(.restore)
        case .killServer: .fault(.server { try await $0.killServer() }, until: .startServer)
        case .startServer: .harmless(.server { try await $0.startServer() })
        case .stopLeader: .fault(.leader { try await $0.stopLeader() }, until: .startLeader)
        case .startLeader: .harmless(.leader { try await $0.startLeader() })
        case .fillDisk: .fault(.administrator { admin, _ in try admin.fillDisk() }, until: .freeDisk)
        case .freeDisk: .harmless(.administrator { admin, _ in admin.freeDisk() })
        case .kick: .fault(.administrator { try await $0.kick($1.reason) }, takes: [.reason])
        case .ban: .fault(.administrator { try await $0.ban($1.reason) }, takes: [.reason], until: .unban)
        case .unban: .harmless(.administrator { admin, _ in try await admin.unban() })
        case .revoke: .fault(.administrator { try await $0.revoke($1.reason) }, takes: [.reason], until: .readmit)
        case .readmit: .harmless(.administrator { admin, _ in try await admin.readmit() })
        case .expire: .fault(.administrator { try await $0.expire($1.reason) }, takes: [.reason], until: .extend)
        case .extend: .harmless(.administrator { admin, _ in try await admin.extend() })
        case .block: .fault(.administrator { try await $0.block($1.reason) }, takes: [.reason], until: .unblock)
        case .unblock: .harmless(.administrator { admin, _ in try await admin.unblock() })
        case .login: .fault(.client { try await $0.subject.signIn(on: $1.device) }, takes: [.device])
        case .connect: .harmless(.client { session, _ in await session.subject.connect() })
        case .close: .harmless(.client { session, _ in await session.subject.close() })
        case .background:
            .fault(
                .client { session, _ in await session.subject.lifecycleChanged(.background) }, until: .foreground)
        case .foreground: .harmless(.client { session, _ in await session.subject.lifecycleChanged(.foreground) })
        case .send: .harmless(.client { session, act in session.send(act) }, takes: [.count, .every])
        case .pause: .fault(.client { session, _ in session.isPaused = true }, until: .read)
        case .read: .harmless(.client { session, _ in session.isPaused = false })
        }
    }

    /// Whether it is a condition of the link, which lasts until it is over or `restore` comes.
    public var isCondition: Bool { if case .condition = row.deed { true } else { false } }

    /// Whether it needs a network that Parley started, since it is about the server or by its administrator.
    public var needsNetwork: Bool {
        switch row.deed {
        case .server, .leader, .administrator: true
        case .condition, .restore, .strike, .message, .client: false
        }
    }

    /// Whether it needs a cluster of three servers.
    public var needsCluster: Bool { if case .leader = row.deed { true } else { false } }

    /// Whether it is about the link alone, so that it can be done to any program behind it.
    public var isOfLink: Bool {
        switch row.deed {
        case .condition, .restore, .strike, .message: true
        case .server, .leader, .administrator, .client: false
        }
    }

    /// Whether the client is expected to be disturbed by it.
    public var isFault: Bool { row.isFault }

    /// What ends it; nil where nothing does but `for`, or nothing at all.
    public var opposite: LabAct.Name? { row.opposite }
}
