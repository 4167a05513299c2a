import NATS
import NIOCore
import TestSupport
import Testing

@testable import Relay

@Suite("The postbox over a real server", .realProcesses)
struct PostboxTests {
    @Test(
        "B45 pages go either way, past what was deleted, of all postboxes and of one that is disabled",
        arguments: NATSServerProcess.binaries)
    func pages(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        let empty = try await client.listMessages(limit: 10)
        #expect(empty.items.isEmpty && empty.nextToken == nil)
        for number in 1...40 { try await fixture.post("\(number)", postbox: number % 10 == 0 ? "work" : "personal") }
        // One without a limit.
        let one = try await client.listMessages()
        let letter = try #require(one.items.first)
        #expect(one.items.map(\.message) == ["1"] && one.nextToken != nil)
        #expect(letter.ownerId == "alice" && letter.postboxId == "personal" && letter.from == "bob")
        func walk(_ limit: Int, _ postbox: String?, _ order: LetterOrder = .newestFirst) async throws -> [String] {
            var seen: [String] = []
            var token: String?
            repeat {
                let page = try await client.listMessages(
                    limit: limit, nextToken: token, postbox: postbox, order: order)
                seen += page.items.map(\.message)
                token = page.nextToken
            } while token != nil
            return seen
        }
        let all = (1...40).reversed().map(String.init)
        #expect(try await walk(7, nil) == all)
        #expect(try await walk(7, nil, .oldestFirst) == Array(all.reversed()))
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
}
