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

    @Test(
        "B45 B46 pages have each letter that stays once while others write and delete, in batches and by a consumer",
        arguments: NATSServerProcess.binaries)
    func changing(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        try await fixture.withJetStream { jetStream in
            var stream = try await jetStream.streamInfo("PB_alice").configuration
            stream.allowsDirectAccess = true
            _ = try await jetStream.updateStream(stream)
        }
        for readsBatches in [true, false] {
            var configuration = try fixture.configuration()
            configuration.namespace?.readsBatches = readsBatches
            let client = RelayClient(configuration: configuration)
            try await client.connect(timeLimit: 60)
            for (seed, order) in [(UInt64(1), LetterOrder.oldestFirst), (2, .newestFirst)] {
                try await fixture.withJetStream { try await walk(client, order, seed, $0) }
            }
            await client.close()
        }
    }

    /// Goes through all pages while others delete letters and write new ones.
    private func walk(
        _ client: RelayClient, _ order: LetterOrder, _ seed: UInt64, _ others: JetStream
    ) async throws {
        func post() async throws -> UInt64 {
            let letter = PostboxLetter(id: RelayClient.newID(), createdAt: 0, message: "text")
            let payload = ByteBuffer(bytes: letter.encoded())
            return try await others.publish(payload, to: "postbox.alice.personal.bob").sequence
        }
        var random = SeededGenerator(seed: seed)
        var staying: Set<UInt64> = []
        for _ in 1...40 { staying.insert(try await post()) }
        var seen: [UInt64] = []
        var token: String?
        repeat {
            let gone = staying.sorted().shuffled(using: &random).prefix(Int.random(in: 0...2, using: &random))
            staying.subtract(gone)
            let (start, limit) = (token, Int.random(in: 1...7, using: &random))
            async let listed = client.listMessages(limit: limit, nextToken: start, postbox: nil, order: order)
            for sequence in gone { try await others.deleteMessage(in: "PB_alice", sequence: sequence) }
            if Bool.random(using: &random) { _ = try await post() }
            let page = try await listed
            seen += page.items.compactMap { PostboxMessageID($0.id)?.sequence }
            token = page.nextToken
        } while token != nil && seen.count < 1_000
        #expect(token == nil)
        #expect(seen == (order == .oldestFirst ? seen.sorted() : seen.sorted(by: >)))
        #expect(Set(seen).count == seen.count)
        #expect(!staying.isEmpty && staying.isSubset(of: seen))
    }
}
