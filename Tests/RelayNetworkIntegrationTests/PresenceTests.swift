import NATS
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// Who is in a topic, as users of a real network see each other, each from an account of its own.
@Suite("Network: presence of its users", .realProcesses)
struct PresenceTests {
    private static let topic = "chat.lobby"

    private func client(_ user: String, _ network: TestNetwork) async throws -> RelayClient {
        let client = try network.client(as: user) { configuration in
            // Longer than a busy machine takes to write an entry again and to read it.
            configuration.presence = PresencePolicy(renewal: .milliseconds(500), lifetime: .seconds(90))
        }
        try await client.connect(timeLimit: 60)
        return client
    }

    private func words(_ roster: PresenceRoster) -> [String] {
        guard roster.isKnown else { return ["unknown"] }
        return roster.users.map { user in
            switch user.presence {
            case .here: user.name + (user.isTyping ? " types" : "")
            case .away(let text): "\(user.name) away: \(text)"
            }
        }
    }

    /// Reads until the roster says this.
    private func wait(
        for expected: [String], _ rosters: inout AsyncStream<PresenceRoster>.AsyncIterator
    ) async throws {
        var seen: [[String]] = []
        while let roster = await rosters.next(isolation: #isolation) {
            seen.append(words(roster))
            if seen.last == expected { return }
        }
        Issue.record("\(expected) did not come; \(seen) did")
    }

    @Test(
        "Two users see each other, and each other type, read an away text, and see who has left",
        arguments: TestServers.all)
    func twoUsers(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            _ = try await network.administrator.add(user: "alice", rights: RightsChange(topics: ["chat.>"]))
            let alice = try await client("alice", network)
            let bob = try await client("bob", network)
            var seen = try await bob.presence(topic: Self.topic).makeAsyncIterator()
            for client in [alice, bob] { try await client.appear(in: [Self.topic, "secret.x"]) }
            try await wait(for: ["alice", "bob"], &seen)
            // She types until he sees it, however late he looks.
            let typing = Task {
                repeat {
                    try await alice.setTyping(in: Self.topic)
                } while (try? await Task.sleep(for: .seconds(1))) != nil
            }
            try await wait(for: ["alice types", "bob"], &seen)
            typing.cancel()
            try await typing.value
            try await alice.setTyping(in: nil)
            try await wait(for: ["alice", "bob"], &seen)
            try await alice.setPresence(.away("lunch"))
            try await wait(for: ["alice away: lunch", "bob"], &seen)
            try await eventually("the network's answer to alice") { await alice.isPresenceAvailable == true }
            // What alice was not granted, she neither enters nor sees.
            #expect(try await words(bob.presenceNow(topic: "secret.x")) == ["bob"])
            await #expect(throws: RelayError.notAuthorized("looking who is in secret.x")) {
                try await alice.presenceNow(topic: "secret.x")
            }
            await alice.close()
            try await wait(for: ["bob"], &seen)
            await bob.close()
        }
    }
}
