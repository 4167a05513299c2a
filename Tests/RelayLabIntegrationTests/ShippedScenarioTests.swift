import Foundation
import Relay
import RelayFaults
import TestSupport
import Testing

@testable import RelayLab

/// The scenarios that come with Parley, with a real client, a real server and a link with real faults.
@Suite("Lab: the scenarios that come with Parley", .longWaits)
struct ShippedScenarioTests {
    /// Carries a scenario out on a cluster of three servers, without a link of its own: whoever loses a server goes to
    /// another.
    private func runOnCluster(_ scenario: LabScenario, server: String) async throws -> LabRun {
        try await LabCluster.run(NATSServerBinary(path: server)) { cluster in
            var configuration = scenario.client.configuration(
                cluster.addresses, cluster.credentials, speed: scenario.speed, seed: 7)
            configuration.dialTimeout = .seconds(60)
            let session = LabSession(
                subject: RelaySubject(configuration, other: configuration, connectLimit: .seconds(60)), link: nil,
                server: cluster, topic: scenario.topic, writer: "lab",
                heading: LabHeading(
                    title: scenario.title, seed: 7, policy: scenario.client.reconnect, speed: scenario.speed))
            return await session.run(scenario)
        }
    }

    /// Carries a scenario out on a network of its own, which has ended when this returns.
    /// - Parameter struck: to how many single messages the link has done something.
    private func run(_ scenario: LabScenario, server: String, struck: Int = 0) async throws -> LabRun {
        let network = try await LabNetwork.start(environment: ["PARLEY_NATS_SERVER": server])
        let result: Result<LabRun, any Error>
        do {
            let proxy = try await FaultProxy.start(target: network.addresses[0], seed: 7)
            let subject = RelaySubject(
                try configured(network, scenario, server: proxy.address), other: try configured(network, scenario))
            let session = LabSession(
                subject: subject, link: ProxyLink(proxy), server: network.serverSide(subject.client),
                topic: scenario.topic, writer: "lab",
                heading: LabHeading(
                    title: scenario.title, seed: 7, policy: scenario.client.reconnect, speed: scenario.speed))
            result = .success(await session.run(scenario))
            #expect(proxy.statistics.messages == struck)
            await proxy.close()
        } catch {
            result = .failure(error)
        }
        await network.stop()
        return try result.get()
    }

    private func configured(
        _ network: LabNetwork, _ scenario: LabScenario, server: ServerAddress? = nil
    ) throws -> RelayConfiguration {
        var configuration = try network.configuration(server: server, scenario.client, speed: scenario.speed)
        // A busy machine's login is no fault of what is rehearsed here; a dial into a link that swallows ends in time.
        if configuration.pingInterval >= .seconds(20) { configuration.dialTimeout = .seconds(60) }
        return configuration
    }

    @Test(
        "Each scenario that comes with Parley passes on each server", arguments: ShippedScenario.all,
        NATSServerProcess.binaries.map(\.path))
    func passes(_ shipped: ShippedScenario, server: String) async throws {
        let scenario = try shipped.scenario()
        let run =
            try await shipped.scenario().needsCluster
            ? runOnCluster(scenario, server: server) : run(scenario, server: server)
        #expect(run.verdict.isPassed, "\(run.verdict.findings.map(\.words)) \(run.log.text.suffix(4_000))")
        #expect(run.isOver && run.ledger.figures.sent > 0)
        // What is drawn and printed is what was counted.
        let read = LabRun(try LabLog(parsing: Array(run.log.text.utf8)))
        #expect(read.ledger.figures == run.ledger.figures && LabReport(read).page == LabReport(run).page)
    }

    @Test(
        "A message that comes twice is delivered once, and so is one that changes its place or does not come",
        arguments: NATSServerProcess.binaries.map(\.path))
    func messages(server: String) async throws {
        let text = """
            {
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 2 }, { expect: { acknowledged: 2, received: 2 }, within: "60s" },
                    { do: "duplicate" }, { do: "send", count: 2 }, { expect: { received: 4 }, within: "60s" },
                    { do: "duplicate", direction: "from-client" },
                    { do: "send", count: 2 }, { expect: { acknowledged: 6, received: 6 }, within: "60s" },
                    { do: "reorder" }, { do: "send", count: 3 }, { expect: { received: 9 }, within: "60s" },
                    { do: "drop" }, { do: "send", count: 2 }, { expect: { received: 11 }, within: "60s" },
                    { expect: { sent: 11, acknowledged: 11, received: 11, lost: 0, doubled: 0, outOfOrder: 0 } },
                ],
            }
            """
        let run = try await run(try LabScenario(parsing: Array(text.utf8)), server: server, struck: 4)
        #expect(run.verdict.isPassed, "\(run.verdict.findings.map(\.words)) \(run.log.text.suffix(4_000))")
        #expect(run.timeline.faults.map(\.what.name) == ["duplicate", "duplicate", "reorder", "drop"])
    }

    @Test("What is encrypted has no messages that the proxy could tell, and that is said")
    func encrypted() async throws {
        let proxy = try await FaultProxy.start(target: ServerAddress(host: "127.0.0.1", port: 1, usesTLS: true))
        let acts = LabAct.Name.allCases.filter { if case .message = $0.row.deed { true } else { false } }
        #expect(acts.count == FaultProxy.MessageFault.allCases.count, "Each fault of a message has an act")
        for act in LabAct.Name.allCases where act.isOfMessage {
            await #expect(throws: LabActError.encrypted(act)) { try await ProxyLink(proxy).strike(LabAct(act)) }
        }
        await proxy.close()
    }

    @Test("An expectation that does not come is named", arguments: NATSServerProcess.binaries.map(\.path))
    func broken(server: String) async throws {
        // What was written in an outage that is longer than RelayX's window is reported as not sent.
        let text = """
            {
                speed: 20, client: { reconnect: "relayx" },
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "refuse", for: "200s" }, { do: "cut" },
                    { expect: { status: "reconnecting" }, within: "60s" },
                    { do: "send", count: 2 },
                    { expect: { status: "disconnected", notSent: 2 }, within: "400s" },
                    { expect: { acknowledged: 2 }, within: "1s" },
                ],
            }
            """
        let run = try await run(try LabScenario(parsing: Array(text.utf8)), server: server)
        #expect(run.verdict.findings.map(\.kind) == ["expectation"])
        #expect(run.expectations.last?.instead == "acknowledged 0")
    }
}
