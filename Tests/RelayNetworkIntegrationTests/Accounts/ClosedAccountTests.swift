import NATS
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// The one door of an account that is closed: what is said there, and that nothing else is behind it.
@Suite("Accounts: the door of a closed one", .realProcesses)
struct ClosedAccountTests {
    /// A way of closing alice's account, of opening it again, and what she is told meanwhile.
    private struct Closure: Sendable {
        let reason: ConnectionReason
        let nexconn: Int
        let rongCloud: Int
        let close: @Sendable (NetworkAdministrator) async throws -> Void
        let open: @Sendable (NetworkAdministrator) async throws -> Void

        static let all = [
            Closure(
                reason: .banned("spam"), nexconn: 16, rongCloud: 31_009,
                close: { try await $0.ban(user: "alice", reason: "spam") }, open: { try await $0.unban(user: "alice") }),
            Closure(
                reason: .deactivated("left us"), nexconn: 19, rongCloud: 31_029,
                close: { try await $0.deactivate(user: "alice", reason: "left us") },
                open: { try await $0.activate(user: "alice") }),
            Closure(
                reason: .appBlocked("closed for today"), nexconn: 11, rongCloud: 31_008,
                close: { try await $0.blockApplication(reason: "closed for today") },
                open: { try await $0.unblockApplication() }),
            Closure(
                reason: .accessExpired(nil), nexconn: 15, rongCloud: 31_020,
                close: { try await $0.expire(user: "alice", at: 1) },
                open: { try await $0.expire(user: "alice", at: nil) }
            ),
        ]
    }

    @Test(
        "B60 each login to a closed account is told why, with any credentials, and the account opens at once",
        arguments: TestServers.all)
    func told(server: String) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            // The file's, a token's, and those of a program that knows the names of the topics beforehand.
            let credentials = RelayCredentials(try network.directory.credentials(for: "alice"))
            let clients = [
                try network.client(credentials: credentials),
                try network.client(credentials: .accessToken(network.token())),
            ]
            let knowing = try network.client(credentials: credentials) {
                $0.namespace = .init(name: "local", hash: network.description.hash, apiPrefix: "net.API")
            }
            for closure in Closure.all {
                try await closure.close(network.administrator)
                for client in clients + clients {
                    await #expect(throws: RelayError.connection(closure.reason)) {
                        try await client.connect(timeLimit: 60)
                    }
                    #expect(NexconnConnectionStatus(client.status).rawValue == closure.nexconn)
                    #expect(RongCloudCode(client.status)?.rawValue == closure.rongCloud)
                }
                let journal = Journal(knowing)
                await knowing.beginConnecting()
                try await journal.status("the end for \(closure.reason)") {
                    $0.state == .disconnected && $0.reason == closure.reason
                }
                try await closure.open(network.administrator)
                for client in clients + [knowing] {
                    try await client.connect(timeLimit: 60)
                    _ = try await client.send(topic: "chat.a", message: "back", timeout: .seconds(60))
                    await client.close()
                }
            }
            try await network.administrator.blockApplication(reason: "for the night")
        }
        try await TestNetwork.run(server: server, in: folder) { network in
            let client = try network.client()
            await #expect(throws: RelayError.connection(.appBlocked("for the night"))) {
                try await client.connect(timeLimit: 60)
            }
            // Of two causes the one that is the user's own is told.
            try await network.administrator.ban(user: "alice", reason: "spam")
            await #expect(throws: RelayError.connection(.banned("spam"))) { try await client.connect(timeLimit: 60) }
        }
    }

    @Test(
        "B60 an act whose process was killed in the middle is finished by the host, while it runs and at its start",
        arguments: TestServers.all)
    func unfinished(server: String) async throws {
        let folder = try TemporaryFolder()
        let alice = try UserName("alice")
        // As a process leaves it that is killed between the two tokens that it hands over.
        @Sendable func beginBan(_ network: TestNetwork, for reason: String) async throws -> FileLock {
            let directory = network.directory
            let lock = try #require(
                await FileLock.wait(directory.administrationLock, .exclusive, for: .seconds(60)))
            try directory.changeUser(alice) { $0.standing.banned = .init(since: 1, reason: reason) }
            let identity = try NetworkIdentity.open(in: directory)
            let system = try await SystemInterface(at: network.description.address(), identity: identity)
            try await network.administrator.install([alice], connections: 0, on: system)
            system.close()
            return lock
        }
        let credentials = try await TestNetwork.run(server: server, in: folder) { network in
            let client = try network.client()
            let journal = Journal(client)
            try await client.connect(timeLimit: 60)
            let bob = try await network.connect(as: "bob")
            let owner = try await network.connectAsNetwork()
            let words = try owner.subscribe(to: NetworkNames.control(of: "alice"))
            try await owner.flush()
            var lock: FileLock? = try await beginBan(network, for: "spam")
            try await journal.status("no place") { $0.reason?.words.contains("connections exceeded") == true }
            withExtendedLifetime(lock) { lock = nil }
            #expect(try await journal.end().reason == .banned("spam"))
            // Whoever watches over the network hears of it as of any ban.
            var word = words.makeAsyncIterator()
            #expect(try await word.next()?.bytes.contains(Array(#""banned""#.utf8)) == true)
            try await bob.flush()
            for connection in [bob, owner] { await connection.close() }
            try await network.administrator.unban(user: "alice")
            let credentials = RelayCredentials(try network.directory.credentials(for: "alice"))
            return (credentials, try await beginBan(network, for: "again"))
        }.0
        try await TestNetwork.run(server: server, in: folder) { network in
            let client = try network.client(credentials: credentials)
            let journal = Journal(client)
            await client.beginConnecting()
            #expect(try await journal.end().reason == .banned("again"))
            try await eventually("nothing is left") { try network.directory.unfinishedUsers().isEmpty }
        }
    }

    @Test("B60 nothing but the reason is behind the door", arguments: TestServers.all)
    func walls(server: String) async throws {
        try await IsolationScene.run(server, grant: ">") { scene in
            let (network, hash) = (scene.network, scene.hash)
            let place = try await scene.letterInBobsHands()
            // What she has made before is of no more use to her.
            try await network.jetStream(scene.alice).createConsumer(
                ConsumerConfiguration(name: "own", isDurable: true), in: "PB_alice")
            let credentials = try network.directory.credentials(for: "alice")
            let before = try await scene.possessions()
            let keys = try await JetStream.patient(scene.keeper).streamInfo("KV_local").state
            try await network.administrator.ban(user: "alice", reason: "spam")
            #expect(await scene.alice.waitUntilClosed() != nil)

            let guest = try await network.connect(credentials)
            var subjects = [
                "\(hash).chat.a", "postbox.bob.personal", "postbox.bob.personal.alice", "$KV.local.key",
                "$KV.relay_sessions.alice", "$KV.relay_here.alice.d.chat.x", "relay.postbox.alice.list",
                "relay.recipient.bob.personal", "relay.streams.alice", "relay.enrol.alice", "relay.control.alice",
                "accounts.user.other", "$SYS.REQ.USER.INFO", "anything", place,
            ]
            for prefix in ["net.API", "$JS.API"] {
                subjects += [
                    "INFO", "STREAM.NAMES", "STREAM.INFO.PB_alice", "STREAM.PURGE.PB_bob", "DIRECT.GET.PB_alice",
                    "CONSUMER.MSG.NEXT.PB_alice.own", "CONSUMER.CREATE.local_stream.x.\(hash).chat",
                    "STREAM.CREATE.mine",
                ].map { "\(prefix).\($0)" }
            }
            for subject in subjects {
                await #expect(throws: NATSError.publishNotPermitted(subject: subject), "\(subject)") {
                    _ = try await guest.ask("{}", to: subject)
                }
            }
            for subject in ["\(hash).>", "relay.control.alice", "_INBOX_alice.>", "$JS.>", ">"] {
                let subscription = try guest.subscribe(to: subject)
                await #expect(throws: NATSError.subscribeNotPermitted(subject: subject), "\(subject)") {
                    for try await _ in subscription {}
                }
            }
            // The answer comes to whoever asks, whatever reply subject is named.
            for target in scene.targets + subjects {
                try guest.publish(ByteBuffer(string: "{}"), to: NamespaceService.subject, reply: target)
                let answer = try await guest.ask("{}", to: NamespaceService.subject).text
                #expect(answer.contains("NAMESPACE_RETRIEVE_FAILURE") && !answer.contains(hash), "\(answer)")
            }
            try await scene.keeper.flush()
            try await scene.bob.flush()
            #expect(try await scene.possessions() == before)
            #expect(try await scene.bobHoldsLetter())
            #expect(try await JetStream.patient(scene.keeper).streamInfo("KV_local").state == keys)

            let large = ByteBuffer(repeating: 65, count: 16_384)
            await #expect(throws: NATSError.self) { try await guest.request(large, to: NamespaceService.subject) }
            await guest.close()
        }
    }

    @Test(
        "B60 a key that was revoked, and a token that has expired, are told so where the account is closed too",
        arguments: TestServers.all)
    func endedBefore(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let administrator = network.administrator
            _ = try await administrator.add(user: "alice")
            let lost = try await administrator.makeKey(of: "alice")
            try await administrator.revoke(key: lost.key.id, of: "alice")
            let token = try network.token(lifetime: -60)
            try await administrator.ban(user: "alice", reason: "spam")
            let revoked = try network.client(credentials: RelayCredentials(lost.credentials))
            let expired = try network.client(credentials: .accessToken(token))
            for (client, code) in [(revoked, 31_004), (expired, 31_020)] {
                await #expect(throws: RelayError.self) { try await client.connect(timeLimit: 60) }
                #expect(RongCloudCode(client.status)?.rawValue == code, "\(client.status)")
                if case .banned? = client.status.reason { Issue.record("it came as far as the door") }
            }
        }
    }
}
