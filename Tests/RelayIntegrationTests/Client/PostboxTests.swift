import NATS
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

    @Test(
        "B45 pages go backwards from the end too, past what was deleted, of all postboxes and of one that is disabled",
        arguments: NATSServerProcess.binaries)
    func backwards(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        for number in 1...40 { try await fixture.post("\(number)", postbox: number % 10 == 0 ? "work" : "personal") }
        func walk(_ limit: Int, _ postbox: String?) async throws -> [String] {
            var seen: [String] = []
            var token: String?
            repeat {
                let page = try await client.listMessages(
                    limit: limit, nextToken: token, postbox: postbox, order: .newestFirst)
                seen += page.items.map(\.message)
                token = page.nextToken
            } while token != nil
            return seen
        }
        let all = (1...40).reversed().map(String.init)
        #expect(try await walk(7, nil) == all)
        #expect(try await walk(3, "work") == ["40", "30", "20", "10"])
        let newest = try await client.listMessages(limit: 30, postbox: nil, order: .newestFirst).items
        let deletion = try await client.deleteMessages(withMessageIds: newest.filter { $0.message != "40" }.map(\.id))
        #expect(deletion.deleted.count == 29 && deletion.notDeleted.isEmpty)
        #expect(try await walk(4, nil) == ["40"] + all.suffix(10))
        try await fixture.withJetStream { jetStream in
            var stream = try await jetStream.streamInfo("PB_alice").configuration
            stream.subjects = ["postbox.alice.personal.*"]
            _ = try await jetStream.updateStream(stream)
        }
        #expect(try await walk(1, "work") == ["40", "10"])
        #expect(try await client.listMessages(limit: 9, postbox: "work").items.map(\.message) == ["10", "40"])
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
}
