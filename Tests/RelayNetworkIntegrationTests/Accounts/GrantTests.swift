import Foundation
import NATS
import NIOConcurrencyHelpers
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// The administrator's acts on what users may do, on open connections and after a restart.
@Suite("Administrator: grants and ends", .realProcesses)
struct GrantTests {
    private func texts(_ events: TopicEvents, until last: String) async throws -> [String] {
        var iterator = events.makeAsyncIterator()
        var seen: [String] = []
        while seen.last != last, let event = try await iterator.next() {
            if case .message(let message) = event { seen.append(message.text) }
        }
        return seen
    }

    @Test(
        "A grant that is widened, or narrowed by adding the user again, holds on an open connection and after a restart",
        arguments: TestServers.all)
    func widened(server: String) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            _ = try await network.administrator.add(user: "alice", rights: RightsChange(topics: ["chat.>"]))
            let client = try network.client()
            let journal = Journal(client)
            try await client.connect(timeLimit: 60)
            await #expect(throws: RelayError.notAuthorized("publishing to ops.a")) {
                try await client.send(topic: "ops.a", message: "no", timeout: .seconds(60))
            }
            try await network.administrator.grant(
                user: "alice", rights: RightsChange(topics: ["chat.>", "ops.>"]), reason: "on call")
            let wider = try await journal.status("the wider grant") { $0.state == .reconnecting }
            #expect(wider.reason == .permissionsChanged("on call"))
            #expect(wider.reason?.words.contains("(on call)") == true)
            try await journal.status("another connection") { $0.state == .connected && $0.recoveries == 1 }
            #expect(try await client.send(topic: "ops.a", message: "yes", timeout: .seconds(60)).sequence == 1)
            _ = try await network.administrator.add(user: "alice", rights: RightsChange(topics: ["ops.>"]))
            try await journal.status("the narrower grant") { $0.reason == .permissionsChanged(nil) }
            try await journal.status("a third connection") { $0.state == .connected && $0.recoveries == 2 }
            await client.close()
        }
        try await TestNetwork.run(server: server, in: folder) { network in
            let client = try network.client()
            try await client.connect(timeLimit: 60)
            await #expect(throws: RelayError.notAuthorized("publishing to chat.a")) {
                try await client.send(topic: "chat.a", message: "no", timeout: .seconds(60))
            }
            #expect(try await client.send(topic: "ops.a", message: "still", timeout: .seconds(60)).sequence == 2)
            await client.close()
        }
    }

    @Test("A grant that is narrowed ends readers and writers at once, and others go on", arguments: TestServers.all)
    func narrowed(server: String) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            let hash = network.description.hash
            _ = try await network.administrator.add(user: "alice", rights: RightsChange(topics: [">"]))
            let alice = try await network.connect(as: "alice")
            let own = network.jetStream(alice)
            let bob = try network.client(as: "bob")
            try await bob.connect(timeLimit: 60)
            let heard = try await bob.messages(topic: "secret.>", from: .all)
            _ = try await bob.send(topic: "secret.x", message: "before", timeout: .seconds(60))
            // A reader of alice's that exists, and of which only the name is known.
            try await own.createConsumer(
                ConsumerConfiguration(name: "standing", filter: "\(hash).secret.>", isDurable: true),
                in: "local_stream")
            let reader = try PullConsumer("standing", in: "local_stream", own)
            #expect(try await reader.fetch(1, expires: .seconds(60)).count == 1)
            for (name, topic) in [("lost", "secret.>"), ("kept", "chat.>")] {
                try await own.createConsumer(
                    ConsumerConfiguration(name: name, filter: "$KV.relay_here.*.*.\(topic)", isDurable: true),
                    in: PresenceBucket.stream)
            }

            try await network.administrator.grant(user: "alice", rights: RightsChange(topics: ["chat.>"]))
            _ = try await bob.send(topic: "secret.x", message: "after", timeout: .seconds(60))
            var impatient = own
            impatient.timeout = .seconds(1)
            let again = try PullConsumer("standing", in: "local_stream", impatient)
            let pulled = try? await again.fetch(1, expires: .seconds(1))
            #expect(pulled?.isEmpty ?? true)
            for subject in ["\(hash).secret.x", "net.API.STREAM.INFO.local_stream"] {
                await #expect(throws: NATSError.self) {
                    try await alice.request(ByteBuffer(string: "x"), to: subject, timeout: .seconds(1))
                }
            }
            #expect(try await own.publish(ByteBuffer(string: "x"), to: "\(hash).chat.x").sequence == 3)
            // Readers of who is there are readers, too.
            let keeper = try await network.connectAsNetwork()
            #expect(try await JetStream.patient(keeper).consumers(in: PresenceBucket.stream).map(\.name) == ["kept"])
            await keeper.close()
            // Bob's reader was deleted too, and was made anew behind what it had read.
            #expect(try await texts(heard, until: "after") == ["before", "after"])
            await bob.close()
            await alice.close()
        }
        try await TestNetwork.run(server: server, in: folder) { network in
            let client = try network.client()
            try await client.connect(timeLimit: 60)
            await #expect(throws: RelayError.notAuthorized("publishing to secret.x")) {
                try await client.send(topic: "secret.x", message: "no", timeout: .seconds(60))
            }
            #expect(try await client.send(topic: "chat.x", message: "yes", timeout: .seconds(60)).sequence == 4)
            await client.close()
        }
    }

    @Test("A grant that is narrowed while nothing runs ends its durable readers too", arguments: TestServers.all)
    func narrowedOffline(server: String) async throws {
        let folder = try TemporaryFolder()
        try await TestNetwork.run(server: server, in: folder) { network in
            let alice = try await network.connect(as: "alice")
            for (name, topic) in [("lost", "secret.>"), ("kept", "chat.>")] {
                try await network.jetStream(alice).createConsumer(
                    ConsumerConfiguration(
                        name: name, filter: "\(network.description.hash).\(topic)", isDurable: true),
                    in: "local_stream")
            }
            await alice.close()
        }
        try await NetworkAdministrator(directory: folder.network).grant(
            user: "alice", rights: RightsChange(topics: ["chat.>"]))
        for _ in 0..<2 {
            try await TestNetwork.run(server: server, in: folder) { network in
                let keeper = try await network.connectAsNetwork()
                #expect(try await JetStream.patient(keeper).consumers(in: "local_stream").map(\.name) == ["kept"])
                try await eventually("nothing is left to do") { try folder.network.narrowings().isEmpty }
                await keeper.close()
            }
        }
    }

    @Test("A narrower grant whose act was cut short ends its readers when that is finished", arguments: TestServers.all)
    func narrowedHalf(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let alice = try await network.connect(as: "alice")
            try await network.jetStream(alice).createConsumer(
                ConsumerConfiguration(name: "lost", filter: "\(network.description.hash).secret.>", isDurable: true),
                in: "local_stream")
            await alice.close()
            let keeper = try await network.connectAsNetwork()
            #expect(try await JetStream.patient(keeper).consumers(in: "local_stream").map(\.name) == ["lost"])
            // All that a process did which was ended before it had told the server.
            do {
                let lock = try await network.directory.lockAdministration()
                try network.directory.changeUser(UserName("alice")) { $0.rights = AccessRights(topics: ["chat.>"]) }
                withExtendedLifetime(lock) {}
            }
            try await eventually("the reader is gone") {
                try await JetStream.patient(keeper).consumers(in: "local_stream").isEmpty
            }
            try await eventually("nothing is left to do") {
                try network.directory.narrowings().isEmpty && network.directory.unfinishedUsers().isEmpty
            }
            await keeper.close()
        }
    }

    @Test(
        "An end that is set, shortened or passed ends open connections; a later one lets in", arguments: TestServers.all
    )
    func ends(server: String) async throws {
        let folder = try TemporaryFolder()
        let kept = try await TestNetwork.run(server: server, in: folder) { network in
            let alice = try network.directory.credentials(for: "alice")
            let client = try network.client()
            let journal = Journal(client)
            try await client.connect(timeLimit: 60)
            try await network.administrator.expire(user: "alice", at: NetworkAdministrator.now, reason: "moved out")
            #expect(try await journal.end().reason == .accessExpired("moved out"))
            #expect(try await !network.admits(alice))
            await client.close()

            try await network.administrator.expire(user: "alice", at: 4_102_444_800)
            #expect(try await network.admits(alice))
            let again = try network.client()
            let second = Journal(again)
            try await again.connect(timeLimit: 60)
            let end = NetworkAdministrator.now + 2
            try await network.administrator.expire(user: "alice", at: end)
            // By the server's own clock, or, where the act itself took until then, by the administrator's word.
            #expect(try await second.end().reason == .accessExpired(nil))
            #expect(NetworkAdministrator.now >= end)
            await again.close()
            #expect(try await !network.admits(alice))
            return alice
        }
        try await TestNetwork.run(server: server, in: folder) { network in
            #expect(try await !network.admits(kept))
            try await network.administrator.expire(user: "alice", at: NetworkAdministrator.now + 3_600)
            #expect(try await network.admits(kept))
            let users = try await network.administrator.users(named: "alice")
            #expect(users.first?.expires ?? 0 > NetworkAdministrator.now && users.first?.standing == UserStanding())
        }
    }
}

/// What one user asks in excess, and what a full disk means.
@Suite("Accounts: bounds", .realProcesses)
struct BoundsTests {
    @Test("On a full disk senders learn it, readers go on, and nothing stored is lost", arguments: TestServers.all)
    func fullDisk(server: String) async throws {
        let free = Box(Int64(1) << 40)
        try await TestNetwork.run(server: server, freeDiskSpace: { _ in free.value }) { network in
            let client = try network.client()
            try await client.connect(timeLimit: 60)
            #expect(try await client.send(topic: "chat.a", message: "kept", timeout: .seconds(60)).sequence == 1)
            free.value = 1 << 20
            try await eventually("the disk counts as full") {
                do throws(RelayError) {
                    _ = try await client.send(topic: "chat.a", message: "is there room?", timeout: .seconds(5))
                    return false
                } catch {
                    return true
                }
            }
            let stored = try await client.history(topic: "chat.a", start: Timestamp(milliseconds: 0))
            #expect(stored.first?.text == "kept")
            #expect(try await !client.listMessages(limit: 5).items.isEmpty)
            free.value = 1 << 40
            try await eventually("there is room again") {
                do throws(RelayError) {
                    _ = try await client.send(topic: "chat.a", message: "after", timeout: .seconds(5))
                    return true
                } catch {
                    return false
                }
            }
            let after = try await client.history(topic: "chat.a", start: Timestamp(milliseconds: 0)).map(\.text)
            #expect(after.prefix(stored.count) == stored.map(\.text)[...] && after.last == "after")
            await client.close()
        }
    }

    @Test("Room that returns while the host has no connection is noticed on the next one", arguments: TestServers.all)
    func roomMeanwhile(server: String) async throws {
        let free = Box<Int64?>(1 << 20)
        try await TestNetwork.run(server: server, freeDiskSpace: { _ in free.value }) { network in
            let client = try network.client()
            try await client.connect(timeLimit: 60)
            func isStored() async -> Bool {
                do throws(RelayError) {
                    _ = try await client.send(topic: "chat.a", message: "is there room?", timeout: .seconds(5))
                    return true
                } catch {
                    return false
                }
            }
            try await eventually("the disk counts as full") { await !isStored() }
            // The host sees nothing of the disk until its connections have been ended, as a break ends them.
            free.value = nil
            let identity = try NetworkIdentity.open(in: network.directory)
            var claims = NetworkAccount.claims(
                identity.account, names: identity.names, signingKey: identity.signingKey.publicKey,
                acceptsMessages: false)
            claims.issuedAt = NetworkAdministrator.now
            claims.grant.revocations = ["*": NetworkAdministrator.now]
            let root = try IdentityFiles(folder: network.directory.keys).operatorPair()
            let system = try await SystemInterface(at: network.description.address(), identity: identity)
            try await system.install(claims.encode(signedBy: root))
            system.close()
            try await eventually("the host has lost its connections") {
                LogFile.tail(of: network.directory.hostLog, lines: 20).contains("the host's connection ended")
            }
            free.value = 1 << 40
            try await eventually("there is room again", deadline: .seconds(60)) { await isStored() }
            await client.close()
        }
    }

    @Test("B67: what the settings bound is bounded on the server", arguments: TestServers.all)
    func settings(server: String) async throws {
        let folder = try TemporaryFolder()
        try folder.network.prepare()
        let text = """
            {"topics":{"maximumBytes":65536,"maximumAge":3600,"maximumMessageBytes":2048,"maximumConsumers":50},
             "bucket":{"maximumBytes":65536},
             "users":{"connections":2,"subscriptions":16,"payload":65536}}
            """
        try PrivateFile.write(text.utf8, to: folder.network.settingsFile)
        try await TestNetwork.run(server: server, in: folder) { network in
            let keeper = try await network.connectAsNetwork()
            let made = try await JetStream.patient(keeper).streamInfo("local_stream").configuration
            #expect(made.maximumBytes == 65_536 && made.maximumMessageSize == 2_048 && made.maximumConsumers == 50)
            #expect(made.maximumAge == 3_600_000_000_000 && made.discard == .old)
            let first = try await network.connect(as: "alice")
            _ = try await first.ask(to: NamespaceService.subject)
            #expect(try await network.jetStream(first).streamInfo("PB_alice").configuration.maximumMessages == 100_000)
            let second = try await network.connect(as: "alice")
            await #expect(throws: NATSError.self) { try await network.connect(as: "alice") }
            await #expect(throws: NATSError.self) {
                try await network.jetStream(first).publish(
                    ByteBuffer(repeating: 65, count: 4_096), to: "\(network.description.hash).a")
            }
            try await expectShares(first, second, network)
            for connection in [first, keeper] { await connection.close() }
        }
        try PrivateFile.write(
            Array(#"{"topics":{"maximumBytes":2097152},"maximumLetters":50}"#.utf8), to: folder.network.settingsFile)
        try await TestNetwork.run(server: server, in: folder) { network in
            let keeper = try await network.connectAsNetwork()
            let made = try await JetStream.patient(keeper).streamInfo("local_stream").configuration
            #expect(made.maximumBytes == 2 << 20 && made.maximumAge == 0)
            // The users' limits went back to the standard ones with it.
            var connections: [NATSConnection] = []
            for _ in 0..<3 { connections.append(try await network.connect(as: "alice")) }
            // And what was made before has the new bounds.
            #expect(try await JetStream.patient(keeper).streamInfo("PB_alice").configuration.maximumMessages == 50)
            for connection in connections + [keeper] { await connection.close() }
        }
        try PrivateFile.write(Array("{".utf8), to: folder.network.settingsFile)
        #expect(throws: NetworkError.self) { try folder.network.settings() }
    }

    /// What one user can take of what all share, on a network with the bounds above.
    private func expectShares(_ first: NATSConnection, _ second: NATSConnection, _ network: TestNetwork) async throws {
        #expect(first.info.maximumPayload == 65_536)
        let events = second.events
        let held = try (0..<17).map { try second.subscribe(to: "_INBOX.\($0)") }
        try await second.flush(timeout: .seconds(60))
        await second.close()
        var notices: [NATSError] = []
        for await event in events { if case .notice(let error) = event { notices.append(error) } }
        #expect(notices.contains(.subscriptionLimit))
        withExtendedLifetime(held) {}

        let own = network.jetStream(first)
        let hash = network.description.hash
        func consumer(_ number: Int) -> ConsumerConfiguration {
            .init(name: "c\(number)", filter: "\(hash).a", isDurable: true)
        }
        for number in 0..<50 { try await own.createConsumer(consumer(number), in: "local_stream") }
        await #expect {
            try await own.createConsumer(consumer(50), in: "local_stream")
        } throws: { error in
            if case .jetStream(let failure)? = error as? NATSError { failure.errorCode == 10_026 } else { false }
        }

        // The newest messages replace the oldest, whoever's those were.
        let bob = try await network.connect(as: "bob")
        let text = ByteBuffer(repeating: 65, count: 1_900)
        #expect(try await network.jetStream(bob).publish(text, to: "\(hash).b").sequence == 1)
        for _ in 0..<40 { _ = try await own.publish(text, to: "\(hash).a") }
        let state = try await own.streamInfo("local_stream", subjectsFilter: ">").state
        #expect(state.bytes <= 65_536 && Array((state.subjects ?? [:]).keys) == ["\(hash).a"])
        // A full bucket keeps what it has, and takes nothing more of anybody.
        var count = 0
        let isFull = { (error: any Error) -> Bool in
            if case .jetStream(let failure)? = error as? NATSError { failure.meansFullStream } else { false }
        }
        do {
            while count < 100 {
                _ = try await own.publish(text, to: "$KV.local.k\(count)")
                count += 1
            }
        } catch { #expect(isFull(error), "\(error)") }
        #expect((1..<40).contains(count))
        await #expect {
            _ = try await network.jetStream(bob).publish(text, to: "$KV.local.bob")
        } throws: { isFull($0) }
        await bob.close()
    }

    @Test(
        "Postboxes that are full by count or by bytes say so to each sender, and take letters again after a deletion",
        arguments: TestServers.all,
        [#"{"maximumLetters":3}"#, #"{"postboxes":{"maximumBytes":65536}}"#])
    func fullPostboxes(server: String, settings: String) async throws {
        let folder = try TemporaryFolder()
        try folder.network.prepare()
        try PrivateFile.write(Array(settings.utf8), to: folder.network.settingsFile)
        try await TestNetwork.run(server: server, in: folder) { network in
            let (alice, bob) = (try network.client(as: "alice"), try network.client(as: "bob"))
            for client in [alice, bob] { try await client.connect(timeLimit: 60) }
            #expect(try await alice.postboxes().map(\.id) == ["personal"])
            let text = String(repeating: "x", count: 25_000)
            func post() async throws {
                _ = try await bob.post(to: "alice", postbox: "personal", text: text, timeout: .seconds(60))
            }
            for _ in 0..<2 { try await post() }
            let full = RelayError.postboxNotAccepting("alice/personal", because: .full)
            await #expect(throws: full) { try await post() }
            let letters = try await alice.listMessages(limit: 10).items
            #expect(letters.count == 3)
            let asker = try await network.connect(as: "bob")
            func state() async throws -> RecipientReply.State? {
                let reply = try await asker.ask(to: "relay.recipient.alice.personal")
                return try JSONDecoder().decode(RecipientReply.self, from: Data(reply.bytes)).state
            }
            // A small letter would fit where the bytes alone are bounded.
            #expect(try await state() == (settings.contains("maximumLetters") ? .full : .accepting))
            try await alice.deleteMessage(withMessageId: #require(letters.last).id)
            #expect(try await state() == .accepting)
            try await post()
            for client in [alice, bob] { await client.close() }
            await asker.close()
        }
    }

    #if os(Linux)
        @Test("Host and server inherit no secret of the person's environment", arguments: TestServers.all)
        func environment(server: String) async throws {
            let folder = try TemporaryFolder()
            let environment = [
                "XDG_DATA_HOME": folder.path, "XDG_CONFIG_HOME": folder.path + "/config", "PARLEY_NATS_SERVER": server,
                "PARLEY_SECRET": "SUsecret", "PARLEY_TOKEN": "ey.secret", "AWS_SECRET_ACCESS_KEY": "secret",
                "PATH": "/bin",
            ]
            let parley = try BuiltProduct.url("parley").path
            let started = try await TestSupport.ChildProcess.run(
                parley, ["network", "start", "--json"], environment: environment)
            #expect(started.exitCode == 0, "\(started)")
            let network = try await TestNetwork.answering(folder.network)
            for pid in [network.hostPid, network.serverPid] {
                let bytes = try Data(contentsOf: URL(filePath: "/proc/\(pid)/environ"))
                let text = String(decoding: bytes, as: UTF8.self)
                #expect(text.contains("PATH=/bin") && !text.contains("secret"), "\(pid)")
            }
            _ = try await TestSupport.ChildProcess.run(
                parley, ["network", "stop", "--force"], environment: environment)
        }
    #endif
}

/// A value that a test changes while others read it.
final class Box<Value: Sendable>: Sendable {
    private let box: NIOLockedValueBox<Value>
    init(_ value: Value) { box = NIOLockedValueBox(value) }
    var value: Value {
        get { box.withLockedValue(\.self) }
        set { box.withLockedValue { $0 = newValue } }
    }
}
