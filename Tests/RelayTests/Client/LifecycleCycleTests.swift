import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Client: many absences, over a network in memory", .realProcesses)
struct LifecycleCycleTests {
    /// Waits for a state, which is noticed as it comes, so that many of them take no time.
    private func reach(_ state: ConnectionStatus.State, _ client: RelayClient) async throws {
        let isReached = await within(.seconds(60)) {
            for await status in client.statuses where status.state == state { return true }
            return false
        }
        guard isReached == true else { throw TestFailure("\(state) did not come; it is \(client.status)") }
    }

    /// Held by each task that was begun in one round, and by those that they begin, until they end.
    private final class Trace: Sendable {
        @TaskLocal static var current: Trace?
    }

    private struct Passed {
        weak var link: LiveLink?
        weak var trace: Trace?
    }

    /// Leaves and comes back: by turns nobody looks at the application, or its process is stopped.
    private func leaveAndReturn(_ client: RelayClient, _ network: MemoryNetwork, round: Int) async throws {
        if round.isMultiple(of: 2) {
            await client.setAppStateActive(false)
            network.time.advance(by: LifecyclePolicy.shortestGrace)
        } else {
            await client.lifecycleChanged(.stopping)
        }
        try await reach(.suspended, client)
        if round.isMultiple(of: 100) { try network.store("line \(round)") }
        await client.setAppStateActive(true)
        try await reach(.connected, client)
    }

    @Test("B21 B55 two hundred backgrounds and foregrounds leave no link, no timer, no task and no connection behind")
    func manyRoundTrips() async throws {
        let network = try MemoryNetwork()
        let rounds = 200
        weak var released: RelayClient?
        do {
            let client = try await network.connected(network.configuration(lifecycle: .immediate))
            released = client
            let heard = Heard(try await client.messages(topic: "chat.room"))
            try await heard.wait(for: "live")
            var passed: [Passed] = []
            for round in 1...rounds {
                let trace = Trace()
                passed.append(Passed(link: await client.link, trace: trace))
                try await Trace.$current.withValue(trace) {
                    try await leaveAndReturn(client, network, round: round)
                }
            }
            #expect(network.server.dials == rounds + 1)
            let last = "line \(rounds)"
            try await eventually("the last line") { heard.all.contains { $0.hasSuffix(last) } }
            #expect(heard.all.count { $0.contains("line ") } == rounds / 100)
            await client.lifecycleChanged(.stopping)
            try await eventually("the end of every link") { passed.allSatisfy { $0.link == nil } }
            try await eventually("no timer") { network.time.untilNext == nil }
            try await eventually("no connection") { network.server.connections == 0 }
            // What the client begins once and goes on with is of one round; of two hundred there would be one for each.
            try await eventually("the end of each round's tasks") { passed.count { $0.trace != nil } <= 5 }
        }
        try await eventually("the end of the client") { released == nil }
    }
}
