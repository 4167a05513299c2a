import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: letters that it keeps, over a network in memory", .realProcesses)
struct KeptLettersClientTests {
    private let network: MemoryNetwork
    private let folder: TemporaryDirectory

    init() throws {
        network = try MemoryNetwork()
        folder = try TemporaryDirectory("letters")
    }

    private var configuration: RelayConfiguration {
        var configuration = network.configuration()
        configuration.store = .file(folder.path("alice.sqlite"))
        return configuration
    }

    /// The letters that this machine keeps, page after page.
    private func kept(_ client: RelayClient, postbox: String? = nil) async throws -> [PostboxMessage] {
        try await client.keptStore()?.flush()
        var letters: [PostboxMessage] = []
        var token: String?
        repeat {
            let kept = try #require(try await client.keptLetters(limit: 2, nextToken: token, postbox: postbox))
            letters += kept.page.items
            token = kept.page.nextToken
        } while token != nil
        return letters
    }

    @Test("B45 B46 what was listed is there without a connection, letter for letter and page for page")
    func offline() async throws {
        for number in 1...5 { try network.postLetter("\(number)", postbox: number == 3 ? "work" : "personal") }
        let client = try await network.connected(configuration)
        let first = try await client.listMessages(limit: 2)
        let second = try await client.listMessages(limit: 10, nextToken: first.nextToken)
        let listed = first.items + second.items
        #expect(listed.map(\.message) == ["1", "2", "3", "4", "5"])
        await client.close()

        let offline = network.client(configuration)
        #expect(try await kept(offline) == listed)
        #expect(try await kept(offline, postbox: "work") == [listed[2]])
        // A page of the network goes on here.
        let rest = try #require(try await offline.keptLetters(limit: 10, nextToken: first.nextToken))
        #expect(rest.page == second && rest.asOf != nil && rest.counts == ["personal": 4, "work": 1])
        await #expect(throws: RelayError.invalidToken) {
            try await offline.keptLetters(limit: 1, nextToken: PageToken(incarnation: 1, sequence: 1).text)
        }
        await #expect(throws: RelayError.self) { try await offline.keptLetters(limit: 101) }
        await #expect(throws: RelayError.notConnected) { try await offline.listMessages(limit: 1) }
        let store = try #require(await offline.keptStore())
        #expect(try await store.search(SearchQuery("3 from:bob")).hits == [.letter(KeptLetter(listed[2]))])
        #expect(offline.status.state == .initialized)
    }

    @Test("B45 B50 a list from the end backwards is kept like any other, and says what was deleted in its part")
    func backwards() async throws {
        for number in 1...6 { try network.postLetter("\(number)") }
        let client = try await network.connected(configuration)
        let listed = try await client.listMessages(limit: 10).items
        try #require(listed.count == 6)
        let other = try await network.connected()
        for index in [0, 4] { try await other.deleteMessage(withMessageId: listed[index].id) }
        let page = try await client.listMessages(limit: 2, postbox: nil, order: .newestFirst)
        #expect(page.items.map(\.message) == ["6", "4"])
        // A page says nothing of what lies below it.
        #expect(try await kept(client).map(\.message) == ["1", "2", "3", "4", "6"])
        await other.close()
        await client.close()

        let offline = network.client(configuration)
        let first = try #require(try await offline.keptLetters(limit: 2, order: .newestFirst)).page
        #expect(first.items == page.items && first.nextToken == page.nextToken)
        let rest = try #require(
            try await offline.keptLetters(limit: 9, nextToken: page.nextToken, order: .newestFirst)
        ).page
        #expect(rest.items.map(\.message) == ["3", "2", "1"] && rest.nextToken == nil)
        await #expect(throws: RelayError.invalidToken) {
            try await offline.keptLetters(limit: 9, nextToken: page.nextToken)
        }
    }

    @Test("Letters that come are kept without being listed, and those of a postbox that was made anew stand alone")
    func received() async throws {
        let client = try await network.connected(configuration)
        let heard = Gathered(try await client.postboxMessages())
        try await heard.wait(for: "the live subscription") { $0.contains(.status(.connected)) }
        try network.postLetter("comes")
        try await eventually("the letter") { try await kept(client).map(\.message) == ["comes"] }
        network.server.deleteStream("PB_alice")
        try network.createPostbox()
        try network.postLetter("new")
        _ = try await client.listMessages(limit: 10)
        #expect(try await kept(client).map(\.message) == ["new"])
        // What the network has no more is found all the same.
        let store = try #require(await client.keptStore())
        #expect(try await store.search(SearchQuery("comes")).hits.count == 1)
        await client.close()
    }

    @Test("A letter is kept as sent when the network has it, and not before")
    func sent() async throws {
        let client = try await network.connected(configuration)
        await client.setReachable(false)
        try await client.enqueueLetter(
            to: "alice", postbox: "personal", subject: "a greeting", text: "hello there", id: "letter-1")
        let store = try #require(await client.keptStore())
        #expect(try await store.letters(.sent, limit: 9).isEmpty)
        await client.setReachable(true)
        try await eventually("the answer") { client.queuedCount == 0 }
        await client.close()
        let sent = try await store.letters(.sent, limit: 9)
        #expect(sent.map(\.id) == ["letter-1"] && sent.map(\.text) == ["hello there"])
        #expect(sent.map(\.person) == ["alice"] && sent.map(\.postbox) == ["personal"])
        #expect(sent.map(\.subject) == ["a greeting"])
        #expect(try await store.search(SearchQuery("hello")).hits.count == 1)
        #expect(try await store.outbox().isEmpty)
    }

    @Test("B34 B46 a letter that cannot be read stays one that was read when letters are listed again")
    func unreadable() async throws {
        try network.server.store("postbox.alice.personal.bob", [0xFF, 0x41])
        try network.postLetter("fine")
        let client = try await network.connected(configuration)
        let letter = try #require(try await client.listMessages(limit: 10).unreadable.first)
        await client.keep(.letterRead(id: letter.id, postbox: letter.postboxId))
        _ = try await client.listMessages(limit: 10)
        let store = try #require(await client.keptStore())
        #expect(try await store.readLetters(among: [letter.id]).ids == [letter.id])
        #expect(try await kept(client).map(\.message) == ["fine"])
        try await client.deleteMessage(withMessageId: letter.id)
        #expect(try await store.readLetters(among: [letter.id]) == ReadLetters(kept: ["personal": 1]))
        await client.close()
    }

    @Test("B50 what is deleted here or on another device is not kept either")
    func deleted() async throws {
        for number in 1...6 { try network.postLetter("\(number)") }
        let client = try await network.connected(configuration)
        let listed = try await client.listMessages(limit: 10).items
        try #require(listed.count == 6)
        let other = try await network.connected()
        try await other.deleteMessage(withMessageId: listed[0].id)
        _ = try await client.deleteMessages(withMessageIds: [listed[0].id, listed[2].id])
        #expect(try await kept(client).map(\.message) == ["2", "4", "5", "6"])
        try await other.deleteMessage(withMessageId: listed[1].id)
        try await other.deleteMessage(withMessageId: listed[5].id)
        // A page says nothing of what lies behind it.
        let page = try await client.listMessages(limit: 1)
        #expect(page.items.map(\.message) == ["4"])
        #expect(try await kept(client).map(\.message) == ["4", "5", "6"])
        _ = try await client.listMessages(limit: 10, nextToken: page.nextToken)
        #expect(try await kept(client).map(\.message) == ["4", "5"])
        await other.close()
        await client.close()
    }
}
