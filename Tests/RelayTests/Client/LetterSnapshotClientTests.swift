import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: a page of letters and what comes after it, over a network in memory", .realProcesses)
struct LetterSnapshotClientTests {
    private func texts(_ events: [PostboxEvent]) -> [String] {
        events.compactMap { if case .message(let letter) = $0 { letter.message } else { nil } }
    }

    @Test("B41 a letter that comes while a page is asked for and read is there once, and so are those after it")
    func noGap() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let writing = Task {
            for number in 1...200 {
                try network.postLetter("\(number)")
                await Task.yield()
            }
        }
        let snapshot = try await client.postboxSnapshot(limit: 100, postbox: "personal")
        let heard = Gathered(snapshot.events)
        try await writing.value
        try network.postLetter("last")
        try await heard.wait(for: "the last letter") { texts($0).last == "last" }
        var listed = snapshot.page.items.map(\.message)
        var token = snapshot.page.nextToken
        while let next = token {
            let page = try await client.listMessages(limit: 100, nextToken: next, postbox: "personal")
            listed += snapshot.merged(page).items.map(\.message)
            token = page.nextToken
        }
        let all = listed + texts(heard.all)
        #expect(all.count == 201)
        #expect(Set(all) == Set((1...200).map(String.init) + ["last"]))
        await client.close()
    }

    @Test("B41 a page from the end goes on with what comes, of one postbox alone")
    func onePostbox() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        for number in 1...4 { try network.postLetter("\(number)", postbox: number % 2 == 0 ? "work" : "personal") }
        let snapshot = try await client.postboxSnapshot(limit: 1, postbox: "work", order: .newestFirst)
        #expect(snapshot.page.items.map(\.message) == ["4"])
        let heard = Gathered(snapshot.events)
        try network.postLetter("5")
        try network.postLetter("6", postbox: "work")
        try await heard.wait(for: "the letter") { texts($0) == ["6"] }
        await client.close()
    }

    @Test("B41 what keeps letters from being followed or listed is an error at once")
    func refusals() async throws {
        let network = try MemoryNetwork()
        let offline = network.client()
        await #expect(throws: RelayError.notConnected) { try await offline.postboxSnapshot() }
        let client = try await network.connected()
        await #expect(throws: RelayError.invalidArgument("The limit is from 1 to 100")) {
            try await client.postboxSnapshot(limit: 0)
        }
        let refusal = JetStreamFailure(code: 403, errorCode: 10_025, text: "not authorized")
        network.server.fail(subjectPrefix: "$JS.API.CONSUMER.CREATE.PB_alice.", with: .refusal(refusal))
        await #expect(throws: RelayError.server(code: 10_025, "not authorized")) {
            try await client.postboxSnapshot()
        }
        await client.close()
    }
}
