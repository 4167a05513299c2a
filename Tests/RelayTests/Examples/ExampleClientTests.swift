import NIOConcurrencyHelpers
import Relay
import TestSupport
import Testing

/// The examples of the articles do what the articles say.
@Suite("Documentation: the examples, over a network in memory", .realProcesses)
struct ExampleClientTests {
    @Test("B7 Nexconn's and RongCloud's examples connect and answer once")
    func handlers() async throws {
        let network = try MemoryNetwork()
        let client = network.client(network.configuration(user: nil))
        let answers = Collected()
        let token = try UserToken.text()
        connectAsNexconn(client, token: token) {
            answers.add("load")
        } done: { user, status in
            answers.add("\(user ?? "nobody") \(status)")
        }
        try await eventually("Nexconn's answer") { answers.all == ["alice 0"] }
        connectAsRongCloud(client, token: token, databaseOpened: { _ in }, done: { outcome in answers.add(outcome) })
        try await eventually("RongCloud's answer") { answers.all == ["alice 0", "welcome, alice"] }
        #expect(network.server.dials == 1)
        await client.close()
    }

    @Test("B42 B45 B50 Sudo's example handles each letter once and deletes it")
    func letters() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for number in 1...30 { try network.postLetter("\(number)") }
        let handled = Collected()
        let handler = LetterHandler(client) { handled.add($0.message) }
        try await handler.handleAll()
        #expect(handled.all == (1...30).map(String.init))
        #expect(try await client.listMessages().items.isEmpty)
        // What listed the letters is not to be taken for what follows them.
        try await eventually("the lists' end") { network.server.consumers(of: "PB_alice").isEmpty }
        try await handler.subscribe()
        try await eventually("the subscription") { !network.server.consumers(of: "PB_alice").isEmpty }
        try network.postLetter("comes")
        try await eventually("the letter") { handled.all.last == "comes" }
        try await eventually("its deletion") { network.server.messages(in: "PB_alice").isEmpty }
        await handler.unsubscribe()
        try await eventually("the end") { network.server.consumers(of: "PB_alice").isEmpty }
        await client.close()
    }

    /// What an example hears at a start with this store, so many words, and at the end whether the store was made anew.
    private func heard(
        _ path: String, _ count: Int, _ connect: (RelayClient, String, Collected) -> Void
    ) async throws -> [String] {
        let network = try MemoryNetwork()
        var configuration = network.configuration(user: nil)
        configuration.store = .file(path)
        let client = network.client(configuration)
        let answers = Collected()
        connect(client, try UserToken.text(), answers)
        try await eventually("the answers") { answers.all.count >= count }
        var openings = client.storeOpenings.makeAsyncIterator()
        let opening = await openings.next()
        await client.close()
        return answers.all + ["\(opening?.isRecreated ?? false)"]
    }

    @Test(
        "B9 Nexconn's and RongCloud's examples hear of a store that was made anew, at the first start and after damage")
    func openings() async throws {
        let folder = try TemporaryDirectory("opened")
        func nexconn(_ name: String, _ count: Int) async throws -> [String] {
            try await heard(folder.path(name), count) { client, token, answers in
                connectAsNexconn(client, token: token) {
                    answers.add("load")
                } done: { user, _ in
                    answers.add(user ?? "nobody")
                }
            }
        }
        func rongCloud(_ name: String) async throws -> [String] {
            // Whether the store is new and who is welcome may come in either order.
            let words = try await heard(folder.path(name), 2) { client, token, answers in
                connectAsRongCloud(client, token: token) { isRecreated in
                    answers.add(isRecreated ? "new" : "old")
                } done: { outcome in
                    answers.add(outcome)
                }
            }
            return words.sorted()
        }
        #expect(try await nexconn("one.sqlite", 2) == ["load", "alice", "true"])
        #expect(try await nexconn("one.sqlite", 1) == ["alice", "false"])
        #expect(try await rongCloud("two.sqlite") == ["new", "true", "welcome, alice"])
        #expect(try await rongCloud("two.sqlite") == ["false", "old", "welcome, alice"])
        let damage = String(repeating: "damage", count: 1_000)
        try folder.write(damage, to: "three.sqlite")
        #expect(try await nexconn("three.sqlite", 2) == ["load", "alice", "true"])
        try folder.write(damage, to: "four.sqlite")
        #expect(try await rongCloud("four.sqlite") == ["new", "true", "welcome, alice"])
    }

    /// Nothing is dialled: there is no token.
    @Test("B5 the provider's example asks for a token first")
    func provider() async throws {
        let asked = NIOLockedValueBox(0)
        let connecting = Task {
            try await connectWithProvider(servers: ["nats://127.0.0.1:1"]) {
                asked.withLockedValue { $0 += 1 }
                throw RelayError.cancelled
            }
        }
        await #expect(throws: RelayError.connection(.invalidCredentials("the token provider gave none"))) {
            _ = try await connecting.value
        }
        #expect(asked.withLockedValue(\.self) == 1)
    }
}
