import NATS
import NIOCore
import Platform
import Relay
import RelayFaults
import TestSupport
import Testing

@testable import RelayNetwork

extension TestNetwork {
    var administrator: NetworkAdministrator { NetworkAdministrator(directory: directory, name: "root") }

    /// Whether the network lets these credentials in. The server alone lets them in to ask why it does not.
    func admits(_ credentials: Credentials) async throws -> Bool {
        do throws(NATSError) {
            let connection = try await NATSConnection.connect(
                to: ServerAddress(parsing: description.url),
                options: .init(authentication: .init(credentials), connectTimeout: .seconds(60)))
            defer { connection.closeNow() }
            return try await connection.ask(to: NamespaceService.subject).text.contains("NAMESPACE_RETRIEVE_SUCCESS")
        } catch {
            switch error {
            case .authorization(.violation), .connectionLimit: return false
            default: throw error
            }
        }
    }
}

@Suite("Administrator: one user", .realProcesses)
struct AdministratorTests {
    @Test(
        "B17: the server closes each connection of a kicked user, and nothing keeps the user out",
        arguments: TestServers.all)
    func kick(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            var connections: [NATSConnection] = []
            for _ in 0..<3 { connections.append(try await network.connect(as: "alice")) }
            let bob = try await network.connect(as: "bob")
            #expect(try await network.administrator.kick(user: "alice", reason: "maintenance") == 3)
            for connection in connections {
                let reason = await connection.waitUntilClosed()
                #expect(reason != nil)
                // They have not asked for their messages: what happens to them must not look like a ban.
                if case .authorization(let failure) = reason { Issue.record("a kick looks like \(failure)") }
            }
            try await bob.flush()
            await bob.close()
            try await eventually("no connection is left") {
                try await network.administrator.kick(user: "bob") == 0
            }
            #expect(try await network.admits(try network.directory.credentials(for: "alice")))
        }
    }

    @Test("More connections than one answer holds are all found", arguments: TestServers.all)
    func manyConnections(server: String) async throws {
        let folder = try TemporaryFolder()
        try folder.network.prepare()
        try PrivateFile.write(
            Array(#"{"users":{"connections":200}}"#.utf8),
            to: folder.network.settingsFile)
        try await TestNetwork.run(server: server, in: folder) { network in
            var connections: [NATSConnection] = []
            for index in 0..<230 { connections.append(try await network.connect(as: "user\(index % 2)")) }
            #expect(try await network.administrator.kick(user: "user1") == 115)
            for (index, connection) in connections.enumerated() {
                if index % 2 == 1 {
                    #expect(await connection.waitUntilClosed() != nil)
                } else {
                    try await connection.flush()
                }
                await connection.close()
            }
        }
    }
}

@Suite("Administrator: what stays", .realProcesses)
struct AdministratorStateTests {
    @Test("Bans hold without a running network, and through its restarts", arguments: TestServers.all)
    func restarts(server: String) async throws {
        let folder = try TemporaryFolder()
        let administrator = NetworkAdministrator(directory: folder.network)
        let alice = try folder.network.credentials(for: "alice")
        let bob = try folder.network.credentials(for: "bob")
        #expect(try await administrator.ban(user: "alice"))
        #expect(try await administrator.kick(user: "bob") == 0)
        try await TestNetwork.run(server: server, in: folder) { network in
            let admitted = (try await network.admits(alice), try await network.admits(bob))
            #expect(admitted == (false, true))
            #expect(try await network.administrator.deactivate(user: "bob", reason: "left"))
            #expect(try await !network.admits(bob))
        }
        try await TestNetwork.run(server: server, in: folder) { network in
            #expect(try await !network.admits(alice))
            #expect(try await !network.admits(bob))
            // A ban on top of a closed account: each has to be undone by itself.
            #expect(try await network.administrator.ban(user: "bob"))
            #expect(try await network.administrator.unban(user: "bob"))
            #expect(try await !network.admits(bob))
            #expect(throws: NetworkError.userDeactivated("bob", reason: "left")) {
                try network.directory.credentials(for: "bob")
            }
            #expect(try await network.administrator.activate(user: "bob"))
            #expect(try await network.administrator.unban(user: "alice"))
            let client = try await network.connect(alice)
            // The services know an unbanned user again, though the host began while she was banned.
            let reply = try await client.request(
                ByteBuffer(string: #"{"api_key":"\#(alice.jwt)"}"#), to: NamespaceService.subject,
                timeout: .seconds(60))
            #expect(reply.text.contains("NAMESPACE_RETRIEVE_SUCCESS"))
            await client.close()
            #expect(try await network.admits(bob))
        }
        try await TestNetwork.run(server: server, in: folder) { network in
            let admitted = (try await network.admits(alice), try await network.admits(bob))
            #expect(admitted == (true, true))
        }
    }

    @Test("Administrators who act at once lose none of their acts", arguments: TestServers.all)
    func concurrency(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let names = (0..<10).map { "user\($0)" }
            let credentials = try names.map { try network.directory.credentials(for: $0) }
            for name in names.suffix(5) { try await network.administrator.ban(user: name) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in names.prefix(5) {
                    group.addTask { try await network.administrator.ban(user: name, reason: name) }
                }
                for name in names.suffix(5) { group.addTask { try await network.administrator.unban(user: name) } }
                group.addTask { _ = try network.directory.credentials(for: "somebody") }
                try await group.waitForAll()
            }
            for (index, user) in credentials.enumerated() {
                #expect(try await network.admits(user) == (index >= 5), "\(index)")
                #expect(
                    try network.directory.standing(of: names[index]).banned?.reason == (index < 5 ? names[index] : nil))
            }
        }
    }
}

@Suite("Administrator: the whole application", .realProcesses)
struct ApplicationBlockTests {
    @Test(
        "A blocked application comes back with all that it held, after a restart and whoever is unbanned meanwhile",
        arguments: TestServers.all)
    func block(server: String) async throws {
        let folder = try TemporaryFolder()
        let alice = try folder.network.credentials(for: "alice")
        let subject = try await TestNetwork.run(server: server, in: folder) { network in
            let client = try await network.connect(alice)
            let topic = "\(network.description.hash).a"
            _ = try await network.jetStream(client).publish(ByteBuffer(string: "kept"), to: topic)
            try await network.administrator.blockApplication(reason: "closed for today")
            #expect(await client.waitUntilClosed() != nil)
            #expect(try await !network.admits(alice))
            // Acts on a user change nothing about the block.
            try await network.administrator.ban(user: "alice")
            try await network.administrator.unban(user: "alice")
            #expect(try await !network.admits(alice))
            return topic
        }
        try await TestNetwork.run(server: server, in: folder) { network in
            #expect(try await !network.admits(alice))
            try await network.administrator.unblockApplication()
            let client = try await network.connect(alice)
            #expect(try await network.jetStream(client).publish(ByteBuffer(string: "new"), to: subject).sequence == 2)
            #expect(try await client.ask(to: "relay.postbox.alice.list").text.contains("personal"))
            await client.close()
        }
    }

    @Test("A block or a ban that comes while the network starts holds", arguments: TestServers.all)
    func blockedWhileStarting(server: String) async throws {
        let folder = try TemporaryFolder()
        let alice = try folder.network.credentials(for: "alice")
        let bob = try folder.network.credentials(for: "bob")
        let gate = try GatedServer(server, in: folder)
        async let act: Void = {
            try await gate.waits()
            let administrator = NetworkAdministrator(directory: folder.network)
            try await administrator.ban(user: "bob")
            try await administrator.blockApplication()
            try gate.open()
        }()
        try await TestNetwork.run(server: gate.path, in: folder) { network in
            try await eventually("the block holds") { try await !network.admits(alice) }
            try await network.administrator.unblockApplication()
            #expect(try await network.admits(alice))
            #expect(try await !network.admits(bob))
        }
        try await act
    }

    @Test("A block that is lifted while the network starts holds no user up", arguments: TestServers.all)
    func unblockedWhileStarting(server: String) async throws {
        let folder = try TemporaryFolder()
        let alice = try folder.network.credentials(for: "alice")
        let administrator = NetworkAdministrator(directory: folder.network)
        try await administrator.blockApplication()
        let gate = try GatedServer(server, in: folder)
        async let act: Void = {
            try await gate.waits()
            async let unblocking: Void = administrator.unblockApplication()
            try await eventually("the mark is gone") { !folder.network.isBlocked }
            try gate.open()
            try await unblocking
        }()
        try await TestNetwork.run(server: gate.path, startTimeout: .seconds(600), in: folder) { network in
            try await eventually("alice is let in") { (try? await network.admits(alice)) == true }
        }
        try await act
    }

    @Test("A login that the server leaves unanswered is tried once more", arguments: TestServers.all)
    func unansweredLogin(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let proxy = try await FaultProxy.start(target: ServerAddress(parsing: network.description.url))
            try await proxy.set(.silent, on: .next)
            let connection = try await NATSConnection.administrator(
                at: proxy.address, as: network.directory.credentials(for: "alice"))
            connection.closeNow()
            // One more asks whether the silent server waits for TLS.
            #expect(proxy.statistics.acceptedConnections == 3)
            await proxy.close()
        }
    }
}
