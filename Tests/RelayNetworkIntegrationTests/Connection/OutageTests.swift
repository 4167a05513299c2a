import NATS
import NIOConcurrencyHelpers
import NIOCore
import Platform
import Relay
import RelayFaults
import TestSupport
import Testing

@testable import RelayNetwork

/// Outages of every kind, made by a proxy between a client and a real server.
@Suite("Network: outages", .realProcesses)
struct OutageTests {
    /// Notices a dead link within eleven seconds, and takes no busy machine for one.
    @Sendable private static func quick(_ configuration: inout RelayConfiguration) {
        configuration.pingInterval = .seconds(1)
        configuration.pongTimeout = .seconds(10)
    }

    /// Runs a client behind a proxy; both are closed at the end.
    private func behindProxy(
        _ server: String, _ change: @Sendable (inout RelayConfiguration) -> Void = { _ in },
        _ body: @Sendable (TestNetwork, FaultProxy, RelayClient, Journal) async throws -> Void
    ) async throws {
        try await TestNetwork.run(server: server) { network in
            try await behindProxy(network, change) { proxy, client, journal in
                try await body(network, proxy, client, journal)
            }
        }
    }

    private func behindProxy(
        _ network: TestNetwork, _ change: (inout RelayConfiguration) -> Void = { _ in },
        _ body: (FaultProxy, RelayClient, Journal) async throws -> Void
    ) async throws {
        let proxy = try await FaultProxy.start(target: network.address)
        let client = try network.client(server: proxy.address, change)
        let journal = Journal(client)
        try await body(proxy, client, journal)
        await client.close()
        await proxy.close()
        #expect(journal.illegalEdges.isEmpty)
    }

    /// Runs a client behind a proxy for each of the rounds, all on one network.
    private func behindProxy<Round: Sendable>(
        for rounds: [Round], _ body: @Sendable (Round, FaultProxy, RelayClient, Journal) async throws -> Void
    ) async throws {
        try await TestNetwork.run(server: TestServers.all[0]) { network in
            for round in rounds {
                try await behindProxy(network) { proxy, client, journal in
                    try await body(round, proxy, client, journal)
                }
            }
        }
    }

    @Test(
        "B20 a link that swallows everything is left within ping interval and timeout, and B30 nothing is lost",
        arguments: TestServers.all)
    func blackhole(server: String) async throws {
        try await behindProxy(server, Self.quick) { _, proxy, client, journal in
            try await client.connect()
            let heard = Collected(try await client.messages(topic: "chat.room"))
            try await heard.live()
            try await client.publish(topic: "chat.room", message: "before")
            try await proxy.set(.blackhole(.both), on: .present)
            let pending = try await client.enqueue(topic: "chat.room", message: "meanwhile")
            let silent = try await journal.status("the silence") { $0.silentSince != nil }
            #expect(silent.state == .connected)
            let lost = try await journal.status("the loss") { $0.state == .reconnecting }
            #expect(lost.reason == .connectionLost("the server stopped answering"))
            _ = try await pending.receipt(within: .seconds(60))
            try await heard.texts(["before", "meanwhile"])
            try await journal.heard([.connected, .reconnecting, .reconnected, .messageResend])
        }
    }

    @Test(
        "B30, B39 what was stored before an outage longer than the server's memory of identifiers is not stored again",
        arguments: TestServers.all)
    func longOutage(server: String) async throws {
        try await behindProxy(server, { $0.outbox.duplicateWindow = .milliseconds(100) }) { network, proxy, client, _ in
            try await client.connect()
            // The server remembers for no longer.
            let keeper = JetStream.patient(try await network.connectAsNetwork())
            var configuration = try await keeper.streamInfo("local_stream").configuration
            configuration.duplicateWindow = 200_000_000
            try await keeper.updateStream(configuration)
            _ = try await client.send(topic: "chat.room", message: "before", timeout: .seconds(60))
            try await proxy.set(.blackhole(.fromServer), on: .present)
            let stored = try await client.enqueue(topic: "chat.room", message: "stored")
            let behind = try await client.enqueue(topic: "chat.room", message: "behind")
            let room = "\(network.description.hash).chat.room"
            @Sendable func count() async throws -> UInt64? {
                let info = try await keeper.streamInfo("local_stream", subjectsFilter: room)
                return info.state.subjects?[room]
            }
            try await eventually("both are stored") { try await count() == 3 }
            try await proxy.set(.refuse)
            await proxy.cut()
            try await eventually("the loss") { client.status.state == .reconnecting }
            let other = "\(network.description.hash).chat.other"
            _ = try await keeper.publish(ByteBuffer(), to: other, messageID: "other")
            try await eventually("the server forgets identifiers from after the loss") {
                try await !keeper.publish(ByteBuffer(), to: other, messageID: "other").isDuplicate
            }
            try await proxy.set(.passThrough)
            let receipt = try await stored.receipt(within: .seconds(60))
            #expect(receipt.isDuplicate)
            #expect(try await behind.receipt(within: .seconds(60)).sequence == receipt.sequence + 1)
            #expect(try await count() == 3)
            await keeper.connection.close()
        }
    }

    @Test("B25 a probe finds a dead link at once when the focus returns")
    func probe() async throws {
        try await behindProxy(
            TestServers.all[0],
            {
                $0.pingInterval = .seconds(600)
                $0.lifecycle = .suspend(after: .seconds(600))
            }
        ) { _, proxy, client, journal in
            try await client.connect()
            try await proxy.set(.blackhole(.both), on: .present)
            await client.setAppStateActive(false)
            // A shorter absence is none.
            try await Task.sleep(for: LifecyclePolicy.shortestGrace)
            await client.setAppStateActive(true)
            try await journal.status("the loss") { $0.state == .reconnecting }
            try await journal.status("the return") { $0.state == .connected && $0.recoveries == 1 }
        }
    }

    @Test("B20 B29 a link too slow for its publishes is not taken for a dead one")
    func slowLink() async throws {
        try await behindProxy(
            TestServers.all[0],
            {
                // So that the system's buffers, which take much at once here, are no matter.
                $0.pingInterval = .seconds(600)
                $0.pongTimeout = .seconds(120)
            }
        ) { _, proxy, client, journal in
            try await client.connect()
            try await proxy.set(.throttle(bytesPerSecond: 200_000, .fromClient))
            let line = MessageValue.string(String(repeating: "x", count: 100_000))
            var pending: [PendingPublish] = []
            // Ten seconds' worth; an acknowledgement is waited for half as long.
            for _ in 0..<20 { pending.append(try await client.enqueue(topic: "chat.room", message: line)) }
            for publish in pending { _ = try await publish.receipt(within: .seconds(600)) }
            #expect(!journal.statuses.contains { $0.state == .reconnecting })
            #expect(proxy.statistics.acceptedConnections == 1)
            // What only took long is not sent again.
            #expect(proxy.statistics.bytesFromClient < 2_100_000)
            try await proxy.set(.passThrough)
        }
    }

    @Test("A half-closed connection is left from either side")
    func halfClose() async throws {
        let directions = [FaultProxy.Direction.fromClient, .fromServer]
        try await behindProxy(for: directions) { direction, proxy, client, journal in
            try await client.connect()
            await proxy.halfClose(direction)
            try await journal.status("the return") { $0.state == .connected && $0.recoveries == 1 }
            try await client.publish(topic: "chat.room", message: "after")
        }
    }

    @Test("B16 disconnect is final from every state, mid-dial and mid-backoff too")
    func disconnectAnywhere() async throws {
        let faults = [FaultProxy.Fault.silent, .refuse, .passThrough]
        try await behindProxy(for: faults) { fault, proxy, client, journal in
            try await proxy.set(fault)
            let connecting = Task { () -> RelayError? in
                do throws(RelayError) { try await client.connect() } catch { return error }
                return nil
            }
            switch fault {
            case .silent: try await eventually("a dial") { proxy.statistics.acceptedConnections > 0 }
            case .refuse: try await journal.status("a wait") { $0.nextRetryAt != nil }
            default: try await journal.status("the connection") { $0.state == .connected }
            }
            await client.disconnect()
            let error = await connecting.value
            #expect(error == (fault == .passThrough ? nil : .connection(.closedByUser)))
            let status = try await journal.end()
            #expect(NexconnConnectionStatus(status).rawValue == 12)
            try await proxy.set(.passThrough)
            await client.setNetworkAvailable(true)
            await client.nudge()
            await client.setAppStateActive(true)
            #expect(client.status.state == .disconnected)
            try await journal.heard(fault == .passThrough ? [.connected, .disconnected] : [.disconnected])
        }
    }
}

/// The texts of a subscription, as they come.
final class Collected: Sendable {
    private let collected: NIOLockedValueBox<[String]>
    private let isLive = NIOLockedValueBox(false)
    private let task: Task<Void, Never>

    init(_ events: TopicEvents) {
        let collected = NIOLockedValueBox<[String]>([])
        self.collected = collected
        task = Task { [isLive] in
            do throws(RelayError) {
                var iterator = events.makeAsyncIterator()
                while let event = try await iterator.next() {
                    switch event {
                    case .message(let message): collected.withLockedValue { $0.append(message.text) }
                    case .gap(let lost): collected.withLockedValue { $0.append("lost \(lost)") }
                    case .live: isLive.withLockedValue { $0 = true }
                    case .restarted: collected.withLockedValue { $0.append("restarted") }
                    case .unreadable, .interrupted: break
                    }
                }
            } catch {
                collected.withLockedValue { $0.append("\(error)") }
            }
        }
    }

    deinit { task.cancel() }

    /// Returns when everything that is published from now on will come.
    func live() async throws { try await eventually("the subscription") { isLive.withLockedValue(\.self) } }

    var all: [String] { collected.withLockedValue(\.self) }

    /// Returns when exactly these texts have come.
    func texts(_ expected: [String]) async throws {
        try await eventually("\(expected.count) texts, and not \(all)") { all.count >= expected.count }
        #expect(all == expected)
    }
}
