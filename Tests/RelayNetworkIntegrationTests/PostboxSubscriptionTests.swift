import NATS
import Relay
import RelayFaults
import TestSupport
import Testing

@testable import RelayNetwork

/// The seed's calls for new letters, with a real server on the other side.
@Suite("Network: subscriptions to letters", .realProcesses)
struct PostboxSubscriptionTests {
    private func subscribe(_ client: RelayClient, _ heard: TestSupport.Collected) async throws -> SubscriptionToken {
        let token = try await client.subscribeToMessageCreated { status in
            heard.add(status.name)
        } resultHandler: { result in
            switch result {
            case .success(let letter): heard.add("\(letter.from ?? "?") to \(letter.postboxId): \(letter.message)")
            case .failure(.connection(let reason)): heard.add(reason.words)
            case .failure(let error): heard.add("\(error)")
            }
        }
        try await eventually("the live subscription") { heard.all == ["initialized", "connecting", "connected"] }
        return token
    }

    @Test(
        "B42 a subscription goes through an outage and the background, with each of the five words and each letter once",
        arguments: TestServers.all)
    func fiveWords(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let proxy = try await FaultProxy.start(target: network.address)
            let alice = try network.client(server: proxy.address) { $0.lifecycle = .immediate }
            let bob = try network.client(as: "bob")
            try await alice.connect()
            try await bob.connect()
            #expect(try await alice.postboxes().map(\.name) == ["personal"])
            func post(_ text: String) async throws {
                _ = try await bob.post(to: "alice", postbox: "personal", text: text, timeout: .seconds(60))
            }
            let heard = TestSupport.Collected()
            let token = try await subscribe(alice, heard)
            try await post("live")
            try await eventually("the letter") { heard.all.last == "bob to personal: live" }

            try await proxy.set(.refuse)
            await proxy.cut()
            try await eventually("the outage") { heard.all.last == "connecting" }
            try await post("in the outage")
            try await proxy.set(.passThrough)
            try await eventually("the subscription again", deadline: .seconds(60)) { heard.all.last == "connected" }

            await alice.setAppStateActive(false)
            try await eventually("the rest", deadline: .seconds(60)) { heard.all.last == "disconnected" }
            try await post("in the background")
            await alice.setAppStateActive(true)
            try await eventually("the return", deadline: .seconds(60)) { heard.all.last == "connected" }

            #expect(try await NetworkAdministrator(directory: network.directory).kick(user: "alice") == 1)
            // Where it is missing, the expectations below print what was heard instead.
            try? await eventually("the reason", deadline: .seconds(60)) { heard.all.contains("error") }
            let all = heard.all
            #expect(
                Array(all.prefix(11)) == [
                    "initialized", "connecting", "connected", "bob to personal: live", "connecting",
                    "bob to personal: in the outage", "connected", "disconnected", "connecting",
                    "bob to personal: in the background", "connected",
                ])
            #expect(all.dropFirst(11).contains("error"), "\(all)")
            withExtendedLifetime(token) {}
            await alice.close()
            await bob.close()
            await proxy.close()
        }
    }

    /// On the server too, where consumers are deleted through what the account imports.
    @Test(
        "B42 a token that is cancelled or let go ends its subscription alone, and unsubscribeAll ends all",
        arguments: TestServers.all)
    func unsubscribing(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let alice = try network.client()
            try await alice.connect(timeLimit: 60)
            _ = try await alice.postboxes()
            let keeper = JetStream.patient(try await network.connectAsNetwork())
            func readers() async throws -> Int { try await keeper.consumers(in: "PB_alice").count }
            let heard = (0..<4).map { _ in TestSupport.Collected() }
            var tokens: [SubscriptionToken] = []
            for one in heard { tokens.append(try await subscribe(alice, one)) }
            #expect(try await readers() == 4)
            tokens[0].cancel()
            tokens.remove(at: 1)
            try await eventually("the end of two", deadline: .seconds(60)) { try await readers() == 2 }
            _ = try await alice.post(to: "alice", postbox: "personal", text: "to two", timeout: .seconds(60))
            for one in heard[2...] {
                try await eventually("the letter") { one.all.last == "alice to personal: to two" }
            }
            await alice.unsubscribeAll()
            for one in heard { try await eventually("the last word") { one.all.last == "disconnected" } }
            try await eventually("the end of all", deadline: .seconds(60)) { try await readers() == 0 }
            #expect(heard.map { $0.all.filter { $0.hasPrefix("alice") }.count } == [0, 0, 1, 1])
            withExtendedLifetime(tokens) {}
            await keeper.connection.close()
            await alice.close()
        }
    }

    @Test("B51 the first letter to somebody who has never been there is stored, once", arguments: TestServers.all)
    func firstLetter(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let (alice, bob) = (try network.client(), try network.client(as: "bob"))
            try await bob.connect(timeLimit: 60)
            // Less than the time limit of the server's first answer and of the next one.
            _ = try await bob.post(to: "alice", postbox: "personal", text: "welcome", timeout: .seconds(9))
            try await alice.connect(timeLimit: 60)
            let letters = try await alice.listMessages(limit: 10).items
            #expect(letters.map { $0.from ?? "?" } == ["~parley", "bob"] && letters.last?.message == "welcome")
            await alice.close()
            await bob.close()
        }
    }
}
