import NATS
import NIOCore
import TestSupport
import Testing

@testable import Relay

@Suite("The postbox over a real server", .realProcesses)
struct PostboxTests {
    @Test(
        "B45 a page holds one letter without a limit, and tokens walk through all",
        arguments: NATSServerProcess.binaries)
    func paging(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        let empty = try await client.listMessages(limit: 10)
        #expect(empty.items.isEmpty && empty.nextToken == nil)
        for number in 1...7 { try await fixture.post("letter \(number)") }
        let one = try await client.listMessages()
        #expect(one.items.map(\.message) == ["letter 1"])
        #expect(one.nextToken != nil)
        var seen: [String] = []
        var token: String?
        repeat {
            let page = try await client.listMessages(limit: 3, nextToken: token)
            seen += page.items.map(\.message)
            token = page.nextToken
        } while token != nil
        #expect(seen == (1...7).map { "letter \($0)" })
        let letter = try #require(one.items.first)
        #expect(letter.ownerId == "alice" && letter.postboxId == "personal" && letter.from == "bob")
        await client.close()
    }

    @Test("B45 letters that come and go between pages are neither skipped nor repeated")
    func changingPages() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        for number in 1...6 { try await fixture.post("\(number)") }
        let first = try await client.listMessages(limit: 2)
        for letter in first.items { try await client.deleteMessage(withMessageId: letter.id) }
        let second = try await client.listMessages(limit: 2, nextToken: first.nextToken)
        try await fixture.post("7")
        let third = try await client.listMessages(limit: 10, nextToken: second.nextToken)
        #expect((first.items + second.items + third.items).map(\.message) == (1...7).map(String.init))
        await client.close()
    }

    @Test("B45 limits out of range and damaged tokens are refused")
    func refusals() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        for limit in [0, -1, 101] {
            await #expect(throws: RelayError.self) { try await client.listMessages(limit: limit) }
        }
        for token in ["", "x", String(repeating: "a", count: 32), PageToken(incarnation: 1, sequence: 1).text] {
            await #expect(throws: RelayError.invalidToken) {
                try await client.listMessages(limit: 1, nextToken: token)
            }
        }
        await client.close()
    }

    @Test("B50 deleting tells what was deleted and what not", arguments: NATSServerProcess.binaries)
    func deleting(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        for number in 1...30 { try await fixture.post("\(number)") }
        let ids = try await client.listMessages(limit: 30).items.map(\.id)
        #expect(try await client.deleteMessage(withMessageId: ids[0]) == ids[0])
        await #expect(throws: RelayError.notFound(ids[0])) { try await client.deleteMessage(withMessageId: ids[0]) }
        #expect(try await client.bulkDeleteMessage(withMessageIds: []) == BulkDeletion())
        let mixed = try await client.bulkDeleteMessage(withMessageIds: [ids[1], ids[0], "forged", ids[2]])
        #expect(mixed.deleted == [ids[1], ids[2]])
        #expect(mixed.failed.map(\.id) == [ids[0], "forged"])
        await #expect(throws: RelayError.self) {
            try await client.bulkDeleteMessage(withMessageIds: Array(ids[3..<29]))
        }
        let full = try await client.bulkDeleteMessage(withMessageIds: Array(ids[3..<28]))
        #expect(full.deleted.count == 25 && full.failed.isEmpty)
        let left = try await fixture.withJetStream { try await $0.streamInfo("PB_alice").state.messages }
        #expect(left == 2)
        await client.close()
    }

    @Test("B50 an id of a postbox that was made anew finds nothing instead of another letter")
    func staleIDs() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        try await fixture.post("old")
        let stale = try #require(try await client.listMessages().items.first).id
        try await fixture.withJetStream { jetStream in
            try await jetStream.deleteStream("PB_alice")
            try await jetStream.createStream(
                StreamConfiguration(name: "PB_alice", subjects: ClientFixture.postboxes))
        }
        try await fixture.post("new")
        await #expect(throws: RelayError.notFound(stale)) { try await client.deleteMessage(withMessageId: stale) }
        #expect(try await client.listMessages().items.map(\.message) == ["new"])
        await client.close()
    }

    @Test("B49 a letter that is no JSON is shown as its text and the page goes on")
    func poison() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        try await fixture.post("before")
        try await fixture.withJetStream { jetStream in
            _ = try await jetStream.publish(ByteBuffer(bytes: [0xFF, 0x41]), to: "postbox.alice.personal")
        }
        try await fixture.post("after", postbox: "work")
        let page = try await client.listMessages(limit: 10)
        #expect(page.items.map(\.message) == ["before", "\u{FFFD}A", "after"])
        #expect(page.items.map(\.postboxId) == ["personal", "personal", "work"])
        #expect(try await client.listMessages(limit: 10, postbox: "work").items.map(\.message) == ["after"])
        #expect(try await client.countMessages() == ["personal": 2, "work": 1])
        await client.close()
    }

    @Test("B51 a postbox that takes nothing answers its sender", arguments: NATSServerProcess.binaries)
    func disabled(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        await #expect(throws: RelayError.postboxNotAccepting("alice/closed")) {
            try await client.post(to: "alice", postbox: "closed", text: "anyone?", timeout: .seconds(60))
        }
        let receipt = try await client.post(to: "alice", postbox: "work", text: "hello", timeout: .seconds(60))
        #expect(receipt.sequence == 1)
        #expect(try await client.listMessages().items.map(\.message) == ["hello"])
        await client.close()
    }

    @Test("B42 the subscription to new letters tells its status and ends with its token")
    func subscription() async throws {
        let fixture = try await ClientFixture.start()
        let client = try await fixture.client()
        let heard = Collected()
        var token: SubscriptionToken? = try await client.subscribeToMessageCreated { status in
            switch status {
            case .initialized: heard.add("initialized")
            case .connecting: heard.add("connecting")
            case .connected: heard.add("connected")
            case .disconnected: heard.add("disconnected")
            case .error: heard.add("error")
            }
        } resultHandler: { result in
            if case .success(let message) = result { heard.add(message.message) }
        }
        try await eventually("the live subscription") { heard.all == ["initialized", "connecting", "connected"] }
        try await fixture.post("one")
        try await eventually("the letter") { heard.all.last == "one" }
        withExtendedLifetime(token) {}
        token = nil
        try await eventually("the end") { heard.all.last == "disconnected" }
        try await fixture.post("unheard")
        _ = try await client.ping()
        #expect(heard.all.last == "disconnected")
        await client.close()
    }
}
