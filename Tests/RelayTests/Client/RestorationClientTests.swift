import NATS
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Relay

/// What comes between a login and the connection that counts.
@Suite("Client: bringing a connection back, over a network in memory", .realProcesses)
struct RestorationClientTests {
    private let network: MemoryNetwork

    init() throws { network = try MemoryNetwork() }

    private static let question = "accounts.user.get_namespace"

    /// What a client has that is to ask the network for its names.
    private func asking(_ servers: [String]) throws -> RelayConfiguration {
        var configuration = network.configuration(credentials: try UserToken.credentials())
        configuration.servers = .fixed(servers.map { ServerAddress(host: $0) })
        configuration.namespace = nil
        return configuration
    }

    private static func names(_ more: String = "") -> [UInt8] {
        let names = #"{"namespace":"test","hash":"h4sh"\#(more)}"#
        return Array(#"{"status":"NAMESPACE_RETRIEVE_SUCCESS","data":\#(names)}"#.utf8)
    }

    @Test("B14 a server that takes logins and cannot serve is left for the next one")
    func serverWithoutService() async throws {
        let broken = MemoryServer()
        broken.service(Self.question) { _ in Array(#"{"status":"NOT_YET"}"#.utf8) }
        network.server.service(Self.question) { _ in Self.names() }
        let surroundings = Surroundings(
            dial: { [broken, serving = network.server] (address, options) async throws(NATSError) in
                let server = address.host == "broken" ? broken : serving
                return try await server.connect(address, options)
            },
            clock: network.time)
        let client = RelayClient(configuration: try asking(["broken", "memory"]), surroundings: surroundings)
        await client.beginConnecting()
        try await network.attemptNow(client)
        try await client.state(is: .connected)
        #expect(broken.logins == 1 && network.server.logins == 1)
        #expect(await client.knownServers.first?.host == "memory")
        await client.close()
    }

    @Test("B10 a discovery of servers that never ends is given up, and tried again")
    func endlessDiscovery() async throws {
        let searches = Collected()
        let stuck = Completion<Void>()
        var configuration = network.configuration()
        configuration.servers = .discovered { () throws(RelayError) in
            searches.add("search")
            if searches.all.count == 1 { await stuck.value() }
            return [ServerAddress(host: "memory")]
        }
        let client = network.client(configuration)
        let limit = client.limits.discovery
        await client.beginConnecting()
        try await eventually("the first search") { searches.all.count == 1 && network.time.waits.contains(limit) }
        network.time.advance(by: limit)
        try await eventually("its end") { client.status.reason?.words.contains("Finding the servers") == true }
        try await network.attemptNow(client)
        try await client.state(is: .connected)
        #expect(searches.all.count == 2)
        stuck.fulfil(())
        await client.close()
    }

    @Test(
        "B66: while no service tells the network's names, or is busy, those that were given count, and else the service's",
        arguments: [true, false])
    func rememberedNames(isBusy: Bool) async throws {
        if isBusy {
            network.server.service(Self.question) { _ in
                Array(#"{"status":"NAMESPACE_RETRIEVE_FAILURE","busy":true}"#.utf8)
            }
        }
        var configuration = try asking(["memory"])
        configuration.rememberedNamespace = .init(name: "other", hash: "other")
        let first = try await network.connected(configuration)
        #expect(await first.namespace?.hash == "other" && network.server.received.contains(Self.question))
        await first.close()
        network.server.service(Self.question) { _ in Self.names() }
        let second = try await network.connected(configuration)
        #expect(await second.namespace?.hash == "h4sh")
        await second.close()
    }

    @Test(
        "A network that lets batches through is believed, and of any other pages are read by consumers",
        arguments: [true, false])
    func batches(areSaid: Bool) async throws {
        network.server.info.version = "2.12.0"
        network.server.service(Self.question) { _ in Self.names(areSaid ? #","batches":true"# : "") }
        let client = try await network.connected(asking(["memory"]))
        try network.postLetter("hello")
        #expect(try await client.listMessages().items.map(\.message) == ["hello"])
        let asked = network.server.received
        #expect(asked.contains("$JS.API.DIRECT.GET.PB_alice") == areSaid)
        #expect(asked.contains { $0.hasPrefix("$JS.API.CONSUMER.CREATE.PB_alice.") } != areSaid)
        await client.close()
    }

    /// A user that was not granted all topics must not ask the server about their stream: the answer could name them.
    /// The network tells when the stream was made.
    @Test(
        "B38 a user who may not ask about the stream hears from the network that it was made anew, and goes on with it")
    func streamMadeAnewUnasked() async throws {
        let created = NIOLockedValueBox<UInt64>(1)
        network.server.service(Self.question) { _ in
            let moment = created.withLockedValue { $0 }
            return Self.names(#","topics":["chat.>"],"created":\#(moment)"#)
        }
        let client = try await network.connected(try asking(["memory"]))
        let heard = Heard(try await client.messages(topic: "chat.room"))
        try await heard.wait(for: "live")
        for number in 1...3 { try network.store("old \(number)") }
        try await heard.wait(for: "> old 3")
        // The new stream has more messages than the old one had: its sequences alone don't tell the two apart.
        created.withLockedValue { $0 = 2 }
        network.server.deleteStream("test_stream")
        try network.server.createStream("test_stream", subjects: ["h4sh.>"])
        for number in 1...5 { try network.store("new \(number)") }
        try await network.letTimePass("the new messages") { heard.all.contains { $0.hasSuffix("new 5") } }
        let mark = try #require(heard.all.firstIndex(of: "restarted"))
        let new = heard.all.filter { $0.contains("new") }.map { String($0.suffix(5)) }
        #expect(new == ["new 1", "new 2", "new 3", "new 4", "new 5"])
        #expect(!heard.all[..<mark].contains { $0.contains("new") })
        #expect(client.status.state == .connected && client.status.recoveries == 0)
        let received = network.server.received
        #expect(received.filter { $0 == Self.question }.count > 1)
        #expect(!received.contains("$JS.API.STREAM.INFO.test_stream"))
        await client.close()
    }
}
