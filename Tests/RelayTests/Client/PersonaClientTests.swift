import TestSupport
import Testing

@testable import Relay

/// Whose letters are while the network's host, which alone knows that, is slow or away.
@Suite("Client: personas without the network's host, over a network in memory", .realProcesses)
struct PersonaClientTests {
    private static let service = "relay.postbox.alice.list"

    /// Has the host say that the postbox `shop` belongs to a persona of its own.
    private func bringHost(to network: MemoryNetwork) {
        let entries = [("personal", "alice-1"), ("shop", "seller")].map {
            #"{"id":"\#($0.0)","name":"\#($0.0)","sudoId":"\#($0.1)","isEnabled":true,"createdAt":42}"#
        }
        network.server.service(Self.service) { _ in Array(#"{"postboxes":[\#(entries.joined(separator: ","))]}"#.utf8) }
    }

    private func personas(_ client: RelayClient) async throws -> Set<String> {
        Set(try await client.listMessages(limit: 100).items.map(\.sudoId))
    }

    @Test("B51 a host that does not answer holds one page of letters up, and no other")
    func slow() async throws {
        let network = try MemoryNetwork()
        let questions = Collected()
        network.server.service(Self.service) { _ in
            questions.add("list")
            return nil
        }
        let client = try await network.connected()
        for number in 1...12 { try network.postLetter("\(number)", postbox: "shop") }
        var texts: [String] = []
        var token: String?
        repeat {
            let page = try await client.listMessages(limit: 1, nextToken: token)
            texts += page.items.map { "\($0.message) for \($0.sudoId)" }
            token = page.nextToken
        } while token != nil
        #expect(texts == (1...12).map { "\($0) for alice" })
        // The first page's, and one that goes on aside. What every page waits for would be a question of its own.
        #expect((2...4).contains(questions.all.count))
        await client.close()
    }

    @Test("B51 a host that comes is heard over the same connection, by lists and by the subscription")
    func late() async throws {
        let (network, client) = try await MemoryNetwork.connected()
        let events = Gathered(try await client.postboxMessages())
        try await events.wait(for: "the live subscription") { $0.contains(.status(.connected)) }
        try network.postLetter("1", postbox: "shop")
        #expect(try await personas(client) == ["alice"])
        bringHost(to: network)
        try await eventually("the persona") { try await personas(client) == ["seller"] }
        try network.postLetter("2", postbox: "shop")
        try await events.wait(for: "the letter") { events in
            events.contains { if case .message(let letter) = $0 { letter.sudoId == "seller" } else { false } }
        }
        await client.close()
    }

    @Test("B51 while the host is away a postbox's persona is the one that it had over the connection before")
    func connectionBefore() async throws {
        let network = try MemoryNetwork()
        bringHost(to: network)
        let client = try await network.connected()
        try network.postLetter("1", postbox: "shop")
        #expect(try await personas(client) == ["seller"])
        network.server.service(Self.service, handler: nil)
        network.server.refuseDials(with: .connectionRefused("memory"))
        network.server.disconnectAll()
        try await eventually("the outage") { client.status.state != .connected }
        network.server.refuseDials(with: nil)
        try await network.letTimePass("the next connection") { client.status.state == .connected }
        #expect(try await personas(client) == ["seller"])
        await client.close()
    }

    @Test("B51 what the host said of postboxes is kept, with when that was, and holds for letters while it is away")
    func kept() async throws {
        let network = try MemoryNetwork()
        let folder = try TemporaryDirectory("personas")
        var configuration = network.configuration()
        configuration.store = .file(folder.path("alice.sqlite"))
        try network.postLetter("1", postbox: "shop")
        let first = try await network.connected(configuration)
        #expect(try await first.keptPostboxes() == nil)
        #expect(try await personas(first) == ["alice"])
        bringHost(to: network)
        let told = try await first.postboxes()
        #expect(told.map(\.sudoId) == ["alice-1", "seller"])
        #expect(try await personas(first) == ["seller"])
        try await first.keptStore()?.flush()
        // A letter that was kept before anybody knew is put right.
        #expect(try await first.keptLetters()?.page.items.map(\.sudoId) == ["seller"])
        await first.close()

        network.server.service(Self.service, handler: nil)
        let second = try await network.connected(configuration)
        let kept = try #require(try await second.keptPostboxes())
        #expect(kept.items == told && kept.asOf.milliseconds > 0)
        try network.postLetter("2", postbox: "shop")
        #expect(try await personas(second) == ["seller"])
        await second.close()
        let offline = network.client(configuration)
        #expect(try await offline.keptPostboxes() == kept)
        let nothing = network.client()
        #expect(try await nothing.keptPostboxes() == nil)
    }
}
