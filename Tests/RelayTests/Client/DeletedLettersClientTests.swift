import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import NATS
@testable import Relay

@Suite("Client: letters that were deleted a moment ago, over a network in memory", .realProcesses)
struct DeletedLettersClientTests {
    /// A client that has deleted the last of three letters, which a server that lags behind has again.
    private func lagging(_ network: MemoryNetwork) async throws -> RelayClient {
        let client = try await network.connected()
        for number in 1...3 { try network.postLetter("\(number)") }
        let last = try #require(try await client.listMessages(limit: 3).items.last)
        try await client.deleteMessage(withMessageId: last.id)
        // What comes into the places of the newest has their identifiers, as the same letters on a replica would.
        network.server.dropNewest(1, in: "PB_alice")
        try network.postLetter("2")
        try network.postLetter("3 again")
        return client
    }

    private func texts(
        _ client: RelayClient, _ limit: Int? = 10, _ order: LetterOrder = .oldestFirst
    ) async throws -> [String] {
        try await client.listMessages(limit: limit, postbox: nil, order: order).items.map(\.message)
    }

    @Test(
        "B50 a list that lags behind brings nothing back that was deleted, for a minute or until the next connection",
        arguments: [true, false])
    func lag(isReconnected: Bool) async throws {
        let network = try MemoryNetwork()
        let client = try await lagging(network)
        #expect(try await texts(client) == ["1", "2"])
        // What is gone takes no letter's place on a page.
        #expect(try await texts(client, nil, .newestFirst) == ["2"])
        if isReconnected {
            network.server.disconnectAll()
            try await network.attemptNow(client)
            try await client.state(is: .connected)
        } else {
            network.time.advance(by: DeletedLetters.lag - .seconds(1))
            #expect(try await texts(client) == ["1", "2"])
            network.time.advance(by: .seconds(1))
        }
        #expect(try await texts(client) == ["1", "2", "3 again"])
        await client.close()
    }

    @Test("B50 each letter of a long deletion is gone from lists as soon as the server has said so")
    func atOnce() async throws {
        let network = try MemoryNetwork()
        for number in 1...200 { try network.postLetter("\(number)") }
        let client = try await network.connected()
        let deleted = try #require(await client.link).deletedLetters
        let first = try await client.listMessages(limit: 100)
        let second = try await client.listMessages(limit: 100, nextToken: first.nextToken)
        let ids = (first.items + second.items).map(\.id)
        let places = ids.compactMap { PostboxMessageID($0) }
        try #require(places.count == 200)
        let known = NIOLockedValueBox<[Int]>([])
        let deletion = try await client.deleteMessages(withMessageIds: ids) { _ in
            let gone = deleted.places(in: places[0].incarnation)
            known.withLockedValue { $0.append(places.count { gone.contains($0.sequence) }) }
        }
        #expect(deletion.deleted == ids)
        let counts = known.withLockedValue(\.self)
        #expect(counts.count == 200 && zip(counts, 1...).allSatisfy { $0 >= $1 })
        await client.close()
    }
}
