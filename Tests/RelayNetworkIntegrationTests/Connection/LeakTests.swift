import NATS
import NIOConcurrencyHelpers
import Platform
import Relay
import RelayFaults
import TestSupport
import Testing

@testable import RelayNetwork

/// A client without references is gone, with its socket and its tasks, whatever it was doing.
@Suite("Network: clients that are let go", .realProcesses)
struct LeakTests {
    private final class Listener: MessageListener, Sendable {
        func onMessage(_ message: Any) {}
    }

    /// What a client was busy with when it was let go.
    enum Moment: CaseIterable {
        case connected, asking, discovering, dialing, flushing, waiting, reconnecting, suspended, closed
    }

    /// What the application is asked and does not answer before the client is gone.
    private final class Held: Sendable {
        private let isAsked = NIOLockedValueBox(false)
        private let answer = Completion<Void>()

        var hasBegun: Bool { isAsked.withLockedValue(\.self) }

        func release() { answer.fulfil(()) }

        private func wait() async {
            isAsked.withLockedValue { $0 = true }
            await answer.value()
        }

        func apply(to configuration: inout RelayConfiguration, at moment: Moment) {
            switch moment {
            case .asking:
                configuration.credentials = .provided { [self] in
                    await wait()
                    throw RelayError.cancelled
                }
            case .discovering:
                configuration.servers = .discovered { [self] () throws(RelayError) in
                    await wait()
                    throw .cancelled
                }
            case .flushing: configuration.outbox.pacing = OutboxPacing(messages: 1, per: .seconds(600))
            default: break
            }
        }
    }

    @Test("B55 the last reference frees the client and closes its socket, at any moment")
    func letGo() async throws {
        try await TestNetwork.run(server: TestServers.all[0]) { network in
            for moment in Moment.allCases { try await letGo(at: moment, on: network) }
        }
    }

    private func letGo(at moment: Moment, on network: TestNetwork) async throws {
        let proxy = try await FaultProxy.start(target: network.address)
        let held = Held()
        weak var released: RelayClient?
        do {
            let client = try network.client(server: proxy.address) {
                $0.sessions = .exclusive(.takeOver)
                $0.lifecycle = .immediate
                $0.followsNetwork = true
                // A client that still dialled would be seen while another one logs in.
                $0.reconnect = ReconnectPolicy(schedule: [.milliseconds(10)])
                held.apply(to: &$0, at: moment)
            }
            released = client
            try await client.on(topic: "chat.room", listener: Listener())
            try await bring(client, proxy, held, to: moment)
        }
        try await eventually("the client is freed, \(moment)") { released == nil }
        held.release()
        // A fault may keep the end of a connection back.
        try await proxy.set(.passThrough)
        try await eventually("its socket is closed, \(moment)") { proxy.statistics.openConnections == 0 }
        // A dial that was on its way may still come, and leaves again; a client that lived on would stay.
        try await eventually("nothing dials any more") {
            let dials = proxy.statistics.acceptedConnections
            await (try network.connect(as: "bob")).close()
            return proxy.statistics.acceptedConnections == dials && proxy.statistics.openConnections == 0
        }
        await proxy.close()
    }

    private func bring(_ client: RelayClient, _ proxy: FaultProxy, _ held: Held, to moment: Moment) async throws {
        func state(_ state: ConnectionStatus.State) async throws {
            try await eventually("\(state)") { client.status.state == state }
        }
        switch moment {
        case .connected: try await client.connect()
        case .asking, .discovering:
            await client.beginConnecting()
            try await eventually("the question") { held.hasBegun }
        case .flushing:
            try await client.connect()
            await client.setAppStateActive(false)
            try await state(.suspended)
            let first = try await client.enqueue(topic: "chat.room", message: "first")
            try await client.enqueue(topic: "chat.room", message: "second")
            await client.setAppStateActive(true)
            _ = try await first.receipt(within: .seconds(120))
            #expect(client.status.state == .reconnecting)
        case .dialing:
            try await proxy.set(.silent)
            await client.beginConnecting()
            try await eventually("a dial") { proxy.statistics.openConnections > 0 }
        case .waiting:
            try await proxy.set(.refuse)
            await client.beginConnecting()
            try await eventually("a wait") { client.status.nextRetryAt != nil }
        case .reconnecting:
            try await client.connect()
            try await proxy.set(.refuse)
            await proxy.cut()
            try await state(.reconnecting)
        case .suspended:
            try await client.connect()
            await client.setAppStateActive(false)
            try await state(.suspended)
        case .closed:
            try await client.connect()
            await client.close()
        }
    }

    @Test(
        "B21 B29 B38 B55 a thousand absences, or cuts of a busy connection, lose nothing and leave nothing behind",
        arguments: ["absences", "cuts"])
    func outages(scenario: String) async throws {
        let figures = try #require(try await BenchFigures.run(scenario, "n=1000")[scenario])
        func figure(_ name: String) -> Double { figures[name] ?? .nan }
        #expect(figure("connected") == 1 && figure("illegal_edges") == 0 && figure("disorder") == 0)
        if scenario == "cuts" {
            #expect(figure("cuts") == 1_000 && figure("recoveries") == 1_000)
            #expect(figure("written") == figure("stored") && figure("delivered") == figure("stored"))
        } else {
            #expect(figure("delivered") == 1_000)
            // The present connection's tasks, and what a client begins once.
            #expect(figure("rounds_with_tasks") <= 5)
        }
        // A connection takes some hundred kilobytes; kept, nine hundred of them would be far above this.
        #expect(figure("memory_growth_kb") < 20_000 && figure("descriptor_growth") < 10)
    }
}
