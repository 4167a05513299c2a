import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: presence, over a network in memory", .realProcesses)
struct PresenceClientTests {
    private static let topic = "chat.room"

    private func network() throws -> MemoryNetwork {
        let network = try MemoryNetwork()
        try network.server.createBucket(PresenceEntry.bucket)
        return network
    }

    private func connected(
        _ user: String, _ network: MemoryNetwork, _ change: (inout RelayConfiguration) -> Void = { _ in }
    ) async throws -> RelayClient {
        var configuration = network.configuration(user: user)
        change(&configuration)
        return try await network.connected(configuration)
    }

    private static func words(_ roster: PresenceRoster) -> [String] {
        guard roster.isKnown else { return ["unknown"] }
        return roster.users.map { user in
            switch user.presence {
            case .here: user.name
            case .away(let text): "\(user.name) away: \(text)"
            }
        }
    }

    /// Waits until a roster says this.
    private func wait(for words: [String], _ rosters: Gathered<PresenceRoster>) async throws {
        try await rosters.wait(for: "the roster \(words)") { $0.last.map(Self.words) == words }
    }

    private func entries(_ network: MemoryNetwork) -> [MemoryServer.Message] {
        network.server.messages(in: PresenceEntry.stream)
    }

    /// What the newest entries of a user say, by topic; withdrawn ones say nothing.
    private func stored(_ network: MemoryNetwork, of user: String = MemoryNetwork.user) -> [String] {
        let own = entries(network).filter { $0.subject.hasPrefix("$KV.\(PresenceEntry.bucket).\(user).") }
        return own.filter { $0.headers["KV-Operation"] == nil }.map { entry in
            String(entry.subject.split(separator: ".", maxSplits: 4).last ?? "")
        }.sorted()
    }

    @Test("A connection that rests comes back for whoever asks who is here, looks on, or appears")
    func resting() async throws {
        let network = try network()
        let client = try await connected("alice", network) { $0.idleTimeout = .seconds(50) }
        func rest() async throws {
            try await client.messages(topic: "chat.other").cancel()
            try await network.letTimePass("the rest") { client.status.state == .suspended }
        }
        try await rest()
        #expect(try await client.presenceNow(topic: Self.topic).isKnown)
        #expect(client.status.state == .connected)
        try await rest()
        do {
            let seen = Gathered(try await client.presence(topic: Self.topic))
            try await wait(for: [], seen)
            #expect(client.status.state == .connected)
        }
        try await rest()
        try await client.appear(in: [Self.topic])
        try await eventually("the own entry") { stored(network) == [Self.topic] }
        // Where it does not come back, that is the answer.
        try await client.appear(in: [])
        try await rest()
        network.server.refuseDials(with: .connectionRefused("memory"))
        await #expect(throws: RelayError.notConnected) { try await client.presenceNow(topic: Self.topic) }
        await client.close()
    }

    @Test("A network that keeps no presence has none, and nothing fails for it")
    func noBucket() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        #expect(await client.isPresenceAvailable == nil)
        let seen = Gathered(try await client.presence(topic: Self.topic))
        try await client.appear(in: [Self.topic])
        try await client.setPresence(.away("lunch"))
        try await eventually("that there is none") { await client.isPresenceAvailable == false }
        for topic in [Self.topic, nil] { try await client.setTyping(in: topic) }
        #expect(try await client.presenceNow(topic: Self.topic) == .unknown)
        try await wait(for: ["unknown"], seen)
        #expect(client.status.state == .connected && client.status.reason == nil)
        // A server that has just started has it a moment later.
        try network.server.createBucket(PresenceEntry.bucket)
        try await network.letTimePass("the next attempt") { !stored(network).isEmpty }
        try await wait(for: ["alice away: lunch"], seen)
        try await eventually("the network's answer") { await client.isPresenceAvailable == true }
        await client.close()
    }

    @Test("What others write that is no entry is passed over, and a text that is too long is cut")
    func hostile() async throws {
        let network = try network()
        let here = PresenceEntry.value(.here)
        for (key, value) in [
            ("x=ZZ.d", here), ("=00=FF.d", here), ("nojson.d", Array("{".utf8)), ("state.d", Array("{}".utf8)),
            ("large.d", Array(repeating: 0x20, count: 8_192) + here), ("deep", here),
            ("mallory.d", PresenceEntry.value(.away(String(repeating: "é", count: 600)))), ("bob.d", here),
        ] {
            try network.server.store("$KV.\(PresenceEntry.bucket).\(key).\(Self.topic)", value)
        }
        let client = try await network.connected()
        let roster = try await client.presenceNow(topic: Self.topic)
        #expect(roster.users.map(\.name) == ["bob", "mallory"])
        #expect(roster.users.last?.presence == .away(String(repeating: "é", count: 200)))
        await client.close()
    }

    @Test("What cannot be said or watched is refused with a reason")
    func refusals() async throws {
        let client = try network().client()
        await #expect(throws: RelayError.self) {
            try await client.setPresence(.away(String(repeating: "x", count: 201)))
        }
        for topic in ["chat.*", "a b", ""] {
            await #expect(throws: RelayError.self) { try await client.appear(in: [topic]) }
            await #expect(throws: RelayError.self) { _ = try await client.presence(topic: topic) }
        }
        var kept: [AsyncStream<PresenceRoster>] = []
        for number in 0..<PresenceMachine.watchLimit { kept.append(try await client.presence(topic: "a.\(number)")) }
        await #expect(throws: RelayError.self) { _ = try await client.presence(topic: "b") }
        // A topic that is watched already costs nothing more.
        kept.append(try await client.presence(topic: "a.0"))
        kept.removeAll()
        try await eventually("the end of the watches") { await client.run { !$0.presence.isInUse } }
    }

    /// Waits until a roster says that these type, of those who are here.
    private func wait(forTypists names: [String], _ rosters: Gathered<PresenceRoster>) async throws {
        try await rosters.wait(for: "those who type: \(names)") {
            $0.last.map { $0.users.filter(\.isTyping).map(\.name) } == names
        }
    }

    /// How often a user has written an entry of the topic: the memory of each bucket's key is one entry long.
    private func newest(_ network: MemoryNetwork, of user: String) -> UInt64? {
        entries(network).last { $0.subject.hasPrefix("$KV.\(PresenceEntry.bucket).\(user).") }?.sequence
    }

    @Test("With the switch off nobody is told, and what cannot be typed in is refused with a reason")
    func untoldTyping() async throws {
        let network = try network()
        let alice = try await connected("alice", network) { $0.presence.announcesTyping = false }
        try await alice.appear(in: [Self.topic])
        try await eventually("the entry") { stored(network, of: "alice") == [Self.topic] }
        let before = newest(network, of: "alice")
        try await alice.setTyping(in: Self.topic)
        // Written behind it on the same connection, so what was to come before has come.
        try await alice.appear(in: [Self.topic, "chat.other"])
        try await eventually("the other entry") { stored(network, of: "alice").count == 2 }
        #expect(before.map { $0 + 1 } == newest(network, of: "alice"))
        for topic in ["chat.*", "a b", ""] {
            await #expect(throws: RelayError.self) { try await alice.setTyping(in: topic) }
        }
        await alice.close()
    }

    @Test("Those who type end one after another, and are told of a few times a second")
    func typingFlood() async throws {
        let network = try network()
        let client = try await connected("alice", network)
        let seen = Gathered(try await client.presence(topic: Self.topic))
        let value = PresenceEntry.value(.here, isTyping: true)
        for number in 0..<20 {
            let user = "user\(number)"
            try network.server.store(PresenceEntry.subject(user: user, device: "d", topic: Self.topic), value)
            try await seen.wait(for: user) { $0.last?.users.contains { $0.name == user && $0.isTyping } == true }
            network.time.advance(by: .milliseconds(10))
        }
        let before = seen.all.count
        try await eventually("the wait for the first end") {
            network.time.waits.contains(.seconds(6) - .milliseconds(200))
        }
        network.time.advance(by: .seconds(6) - .milliseconds(200))
        try await seen.wait(for: "the first end") {
            $0.last?.users.contains { $0.name == "user0" && !$0.isTyping } == true
        }
        // All the others end before it is looked again.
        try await eventually("the pause") { network.time.waits.contains(PresenceMachine.expiryPause) }
        network.time.advance(by: PresenceMachine.expiryPause)
        try await wait(forTypists: [], seen)
        #expect(seen.all.count == before + 2 && seen.all.last?.users.count == 20)
        await client.close()
    }

    @Test("Two users see each other, read an away text, and see who has left")
    func twoUsers() async throws {
        let network = try network()
        let alice = try await connected("alice", network)
        let bob = try await connected("bob", network)
        try await alice.appear(in: [Self.topic])
        try await bob.appear(in: [Self.topic, "chat.other"])
        let seen = Gathered(try await bob.presence(topic: Self.topic))
        try await wait(for: ["alice", "bob"], seen)
        try await eventually("the network's answer to bob") { await bob.isPresenceAvailable == true }
        try await alice.setPresence(.away("lunch"))
        try await wait(for: ["alice away: lunch", "bob"], seen)
        try await eventually("bob in the other topic") {
            try await Self.words(alice.presenceNow(topic: "chat.other")) == ["bob"]
        }
        #expect(try await Self.words(alice.presenceNow(topic: "chat.empty")).isEmpty)
        try await alice.setPresence(.here)
        try await wait(for: ["alice", "bob"], seen)
        await alice.close()
        try await wait(for: ["bob"], seen)
        await bob.close()
        try await eventually("nobody is there") {
            stored(network, of: "alice").isEmpty && stored(network, of: "bob").isEmpty
        }
    }

    @Test("Entries are renewed while there is a connection, and who does not renew is gone after the lifetime")
    func renewal() async throws {
        let network = try network()
        let bob = try await connected("bob", network)
        try await bob.appear(in: [Self.topic])
        let seen = Gathered(try await bob.presence(topic: Self.topic))
        try await wait(for: ["bob"], seen)
        let value = PresenceEntry.value(.here)
        try network.server.store(PresenceEntry.subject(user: "carol", device: "d", topic: Self.topic), value)
        try await wait(for: ["bob", "carol"], seen)
        for _ in 0..<3 {
            let newest = entries(network).map(\.sequence).max() ?? 0
            try await eventually("the wait for the renewal") { network.time.waits.contains(.seconds(30)) }
            network.time.advance(by: .seconds(30))
            try await eventually("the renewal") { entries(network).contains { $0.sequence > newest } }
        }
        try await wait(for: ["bob"], seen)
        await bob.close()
    }

    @Test("The background withdraws the user, and the foreground brings it back")
    func suspended() async throws {
        let network = try network()
        let alice = try await connected("alice", network)
        let bob = try await connected("bob", network)
        try await alice.appear(in: [Self.topic])
        let seen = Gathered(try await bob.presence(topic: Self.topic))
        let own = Gathered(try await alice.presence(topic: Self.topic))
        try await wait(for: ["alice"], seen)
        await alice.setReachable(false)
        try await wait(for: [], seen)
        try await wait(for: ["unknown"], own)
        // What is said meanwhile is seen afterwards.
        try await alice.setPresence(.away("later"))
        await #expect(throws: RelayError.notConnected) { try await alice.presenceNow(topic: Self.topic) }
        await alice.setReachable(true)
        try await wait(for: ["alice away: later"], seen)
        try await wait(for: ["alice away: later"], own)
        for client in [alice, bob] { await client.close() }
    }

    @Test("An outage forgets who was here, and a new connection finds out again")
    func outage() async throws {
        let network = try network()
        let alice = try await connected("alice", network)
        try await alice.appear(in: [Self.topic])
        let seen = Gathered(try await alice.presence(topic: Self.topic))
        try await wait(for: ["alice"], seen)
        network.server.disconnectAll()
        try await wait(for: ["unknown"], seen)
        try await network.attemptNow(alice)
        try await wait(for: ["alice"], seen)
        await alice.close()
    }

    @Test("Of two clients of one user, one may leave without the other")
    func twoDevices() async throws {
        let network = try network()
        let desk = try await connected("alice", network)
        let laptop = try await connected("alice", network)
        for client in [desk, laptop] { try await client.appear(in: [Self.topic]) }
        try await desk.setPresence(.away("lunch"))
        let seen = Gathered(try await desk.presence(topic: Self.topic))
        try await wait(for: ["alice"], seen)
        await laptop.close()
        try await wait(for: ["alice away: lunch"], seen)
        await desk.close()
    }

    @Test("An entry that came too early for the network is written again, though others were read meanwhile")
    func lateAnswer() async throws {
        let network = try network()
        network.server.fail(subjectPrefix: "$KV.", with: .noResponders)
        let client = try await network.connected()
        try await client.appear(in: [Self.topic])
        try await eventually("that there is none") { await client.isPresenceAvailable == false }
        network.server.fail(subjectPrefix: "$KV.", with: nil)
        // As a reader says whose question came after the entry, when the bucket was there.
        await client.run { _ = $0.presence.handle(.answered(.kept), for: $0) }
        try await network.letTimePass("the entry") { !stored(network).isEmpty }
        // The answer to it comes after it is stored.
        try await eventually("that it is kept") { await client.isPresenceAvailable == true }
        await client.close()
    }

    @Test("A user appears in the first topics that are granted, and moves with the person")
    func places() async throws {
        let network = try network()
        var namespace = MemoryNetwork.namespace
        namespace.topics = ["chat.>"]
        let client = try await connected("alice", network) { [namespace] configuration in
            configuration.namespace = namespace
            configuration.presence.topics = 2
        }
        try await client.appear(in: ["ops.x", "chat.a", "chat.b", "chat.c"])
        try await eventually("the entries") { stored(network) == ["chat.a", "chat.b"] }
        try await client.appear(in: ["chat.c", "chat.a", "chat.b"])
        try await eventually("the move") { stored(network) == ["chat.a", "chat.c"] }
        await #expect(throws: RelayError.notAuthorized("looking who is in ops.x")) {
            try await client.presenceNow(topic: "ops.x")
        }
        try await client.appear(in: [])
        try await eventually("the withdrawal") { stored(network).isEmpty }
        await client.close()
    }

    @Test("A user is seen typing until the line is sent, in the topic alone where it types")
    func typing() async throws {
        let network = try network()
        let alice = try await connected("alice", network)
        let bob = try await connected("bob", network)
        for client in [alice, bob] { try await client.appear(in: [Self.topic, "chat.other"]) }
        let seen = Gathered(try await bob.presence(topic: Self.topic))
        let elsewhere = Gathered(try await bob.presence(topic: "chat.other"))
        for rosters in [seen, elsewhere] { try await wait(for: ["alice", "bob"], rosters) }
        try await alice.setTyping(in: Self.topic)
        try await wait(forTypists: ["alice"], seen)
        try await wait(for: ["alice", "bob"], seen)
        try await alice.setTyping(in: nil)
        try await wait(forTypists: [], seen)
        // A person who is away types like any other.
        try await alice.setPresence(.away("lunch"))
        try await alice.setTyping(in: "chat.other")
        try await wait(forTypists: ["alice"], elsewhere)
        try await wait(for: ["alice away: lunch", "bob"], elsewhere)
        #expect(seen.all.last?.users.contains(where: \.isTyping) == false)
        await alice.close()
        try await wait(for: ["bob"], elsewhere)
        await bob.close()
    }

    @Test("Who stops without a word types no more after six seconds, and who goes on is written every four")
    func typingByTime() async throws {
        let network = try network()
        let alice = try await connected("alice", network)
        let bob = try await connected("bob", network)
        try await alice.appear(in: [Self.topic])
        let seen = Gathered(try await bob.presence(topic: Self.topic))
        try await wait(for: ["alice"], seen)
        try await alice.setTyping(in: Self.topic)
        try await wait(forTypists: ["alice"], seen)
        let first = newest(network, of: "alice")
        // Known already, so nothing is written.
        for _ in 0..<3 { try await alice.setTyping(in: Self.topic) }
        network.time.advance(by: .seconds(3.5))
        try await alice.setTyping(in: Self.topic)
        try await eventually("the wait for the fourth second") { network.time.waits.contains(.milliseconds(500)) }
        #expect(newest(network, of: "alice") == first)
        network.time.advance(by: .milliseconds(500))
        try await eventually("the second entry") { newest(network, of: "alice") != first }
        // Bob's timer is still that of the first entry, whose typing would end now; it finds that of the second.
        try await eventually("the second entry at bob's") {
            await bob.run { $0.presence.nextEnd(of: Self.topic) } == network.time.now + .seconds(6)
        }
        network.time.advance(by: .seconds(2))
        try await eventually("the wait for the other end") { network.time.waits.contains(.seconds(4)) }
        #expect(seen.all.last?.users.map(\.isTyping) == [true])
        network.time.advance(by: .seconds(4))
        try await wait(forTypists: [], seen)
        try await wait(for: ["alice"], seen)
        for client in [alice, bob] { await client.close() }
    }

    @Test("What was typed without a connection is not told with the next one, and the next key is")
    func typingOffline() async throws {
        let network = try network()
        let alice = try await connected("alice", network)
        let bob = try await connected("bob", network)
        try await alice.appear(in: [Self.topic])
        let seen = Gathered(try await bob.presence(topic: Self.topic))
        try await wait(for: ["alice"], seen)
        await alice.setReachable(false)
        try await wait(for: [], seen)
        try await alice.setTyping(in: Self.topic)
        await alice.setReachable(true)
        try await wait(for: ["alice"], seen)
        #expect(seen.all.last?.users.map(\.isTyping) == [false])
        try await alice.setTyping(in: Self.topic)
        try await wait(forTypists: ["alice"], seen)
        for client in [alice, bob] { await client.close() }
    }
}
