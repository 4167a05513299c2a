import Relay
import TestSupport
import Testing

@testable import RelayLab

@Suite("Lab: the driver")
struct DriverTests {
    /// Carries steps out with a client in memory.
    private func run(
        _ steps: String, _ policy: ScriptedSubject.Policy = .honest, hasNetwork: Bool = true, speed: Double? = nil
    ) async throws -> (run: LabRun, subject: ScriptedSubject, link: ScriptedLink, server: ScriptedServer) {
        let scenario = try LabScenario(parsing: Array("{ title: \"t\", steps: [ \(steps) ] }".utf8))
        let subject = ScriptedSubject(policy)
        let (link, server) = (ScriptedLink(subject), ScriptedServer(subject))
        let clock = TimeByTurns()
        let heading = LabHeading(title: scenario.title, seed: 1, policy: "parley")
        let session = LabSession(subject, link, hasNetwork ? server : nil, "lab", "w", heading, clock)
        return (await session.run(scenario, speed: speed), subject, link, server)
    }

    @Test("A cut is noticed and recovered from, and each message is accounted for")
    func cut() async throws {
        let (run, _, link, _) = try await run(
            """
            { expect: { status: "connected" } }, { do: "send", count: 5 }, { expect: { acknowledged: 5, received: 5 } },
            { do: "cut" }, { expect: { status: "reconnecting", reason: "connectionLost" } },
            { expect: { status: "connected" } }, { expect: { sent: 5, lost: 0, doubled: 0, outOfOrder: 0 } },
            """)
        #expect(run.verdict.isPassed, "\(run.verdict.findings)")
        #expect(run.expectations.count == 5 && run.expectations.allSatisfy(\.isMet))
        #expect(link.acts == ["cut"])
        #expect(run.ledger.figures.notice != nil && run.ledger.figures.recovery != nil)
        let read = LabRun(try LabLog(parsing: Array(run.log.text.utf8)))
        #expect(run.isOver && read == run)
    }

    @Test(
        "A client that drops, doubles or reorders messages is caught, and the verdict names them",
        arguments: [
            (ScriptedSubject.Policy.drops([2, 4]), "lost", "Acknowledged and never delivered: w 2, w 4."),
            (.doubles([3]), "doubled", "Delivered again: w 3."),
            (.swaps(2), "outOfOrder", "Delivered behind a later one: w 2."),
        ])
    func dishonest(_ policy: ScriptedSubject.Policy, _ kind: String, _ words: String) async throws {
        let scenario = try LabScenario(parsing: Array("{ steps: [ { do: \"send\", count: 5 } ] }".utf8))
        let subject = ScriptedSubject(policy)
        let clock = TimeByTurns()
        let session = LabSession.byHand(subject, writer: "w", clock: clock)
        await session.begin()
        await session.act(scenario)
        // What is delivered is delivered at once; only what was dropped is waited for in vain.
        try await eventually("all has arrived") { await session.run.ledger.figures.acknowledged == 5 }
        var expected = LabExpectation()
        expected.figures = ["received": .atLeast(3)]
        await session.expect(expected, within: .seconds(30))
        if case .swaps = policy { try await eventually("five") { await session.run.ledger.figures.received == 5 } }
        if case .doubles = policy { try await eventually("again") { await session.run.ledger.figures.doubled == 1 } }
        let run = await session.end(patience: .milliseconds(200))
        #expect(run.verdict.findings.map(\.kind) == [kind])
        #expect(run.verdict.findings.first?.words == words)
    }

    @Test("An expectation that does not come is named with what there was instead")
    func unmet() async throws {
        let (run, _, _, _) = try await run(
            "{ expect: { status: \"connected\" } }, { expect: { status: \"reconnecting\", lost: 3 }, within: \"50ms\" }"
        )
        #expect(run.verdict.findings.map(\.kind) == ["expectation"])
        #expect(run.expectations.last?.instead == "status connected, lost 0")
        #expect(run.expectations.last.map { $0.took >= .ms(50) } == true)
    }

    @Test("A state that lasts a moment counts, and the next expectation looks from there on")
    func moments() async throws {
        let (run, _, _, _) = try await run(
            """
            { expect: { status: "connected" } }, { do: "cut" }, { after: "100ms", expect: { status: "reconnecting" } },
            { expect: { status: "connected" } }, { expect: { status: "reconnecting" }, within: "50ms" },
            """)
        #expect(run.expectations.map(\.isMet) == [true, true, true, false])
    }

    @Test("What lasts ends after its time, and what does not end by itself is taken away at the end")
    func lasting() async throws {
        let (run, subject, link, server) = try await run(
            """
            { do: "refuse", for: "30ms" }, { do: "delay" }, { do: "fill-disk", for: "20ms" }, { do: "kill-server" },
            { do: "background" }, { do: "restore" }, { do: "throttle", rate: 10 }
            """)
        #expect(run.failure == nil)
        #expect(link.acts.first == "set refuse" && link.acts.contains("set throttle") && link.acts.last == "set ")
        #expect(Set(server.acts) == ["fill-disk", "free-disk", "kill-server", "start-server"])
        #expect(subject.acts.contains("foreground"))
        #expect(run.timeline.faults.allSatisfy { $0.to != nil })
        #expect(
            run.timeline.faults.map(\.what.name)
                == ["refuse", "delay", "fill-disk", "kill-server", "background", "throttle"])
    }

    @Test("Faults of the server's side are refused where Parley did not start the network")
    func foreign() async throws {
        let (run, _, _, server) = try await run("{ do: \"kick\" }", hasNetwork: false)
        #expect(server.acts.isEmpty)
        #expect(run.verdict.findings.map(\.kind) == ["run"])
        #expect(run.failure?.contains("a network that Parley started") == true)
    }

    @Test("A kick ends the session with its reason")
    func kick() async throws {
        let (run, _, _, _) = try await run(
            """
            { expect: { status: "connected" } }, { do: "kick", reason: "enough" },
            { expect: { status: "disconnected", reason: "kicked" } },
            """)
        #expect(run.verdict.isPassed)
        #expect(run.timeline.faults.map(\.what.detail) == ["“enough”"])
    }

    @Test("Another device and the application's life reach the client")
    func device() async throws {
        let (run, subject, _, _) = try await run(
            """
            { expect: { status: "connected" } }, { do: "background" },
            { expect: { status: "suspended", reason: "backgrounded" } },
            { do: "foreground" }, { expect: { status: "connected" } }, { do: "login", device: "a phone" },
            { expect: { status: "disconnected", reason: "kickedByOtherDevice" } },
            """)
        #expect(run.verdict.isPassed, "\(run.verdict.findings)")
        #expect(subject.acts == ["connect", "background", "foreground", "login a phone"])
    }

    @Test("What a client does not send is told, and what it still holds at the end ends with it")
    func notSent() async throws {
        let (refused, _, _, _) = try await run("{ do: \"send\", count: 3 }, { expect: { notSent: \"3+\" } }", .refuses)
        #expect(refused.ledger.figures.notSent == 3 && refused.verdict.isPassed)
        let subject = ScriptedSubject(.holds)
        let session = LabSession.byHand(subject, writer: "w")
        await session.begin()
        await session.sendOne()
        try await eventually("it waits") { subject.queuedCount == 1 }
        let run = await session.end(patience: .milliseconds(50))
        #expect(run.ledger.figures.notSent == 1 && run.ledger.figures.unsettled == 0)
    }

    @Test("A reader that rests delivers what came when it goes on")
    func paused() async throws {
        let (run, _, _, _) = try await run(
            """
            { do: "pause", for: "100ms" }, { do: "send", count: 50 }, { expect: { received: 50, outOfOrder: 0 } },
            """)
        #expect(run.verdict.isPassed, "\(run.verdict.findings)")
    }

    @Test("An act that fails ends the run, and the verdict says why")
    func failing() async throws {
        let (run, _, _, _) = try await run("{ do: \"block\" }, { do: \"cut\" }")
        #expect(run.failure?.contains("“block” could not be done") == true)
        #expect(!run.timeline.faults.contains { $0.what.name == "cut" } && !run.verdict.isPassed)
    }

    @Test("What was done by hand becomes a scenario that passes")
    func recorded() async throws {
        let subject = ScriptedSubject()
        let link = ScriptedLink(subject)
        let session = LabSession.byHand(subject, link: link, writer: "w")
        await session.begin()
        var connected = LabExpectation()
        connected.status = .connected
        await session.expect(connected, within: .seconds(30))
        await session.record()
        try await session.perform(LabAct(.send))
        try await session.perform(LabAct(.cut))
        var reconnecting = LabExpectation()
        reconnecting.status = .reconnecting
        await session.expect(reconnecting, within: .seconds(30))
        await session.expect(connected, within: .seconds(30))
        _ = await session.end()
        let recording = try #require(await session.recording)
        let scenario = recording.scenario(title: "by hand", seed: 5)
        #expect(try LabScenario(parsing: Array(scenario.text.utf8)) == scenario)
        let acts = scenario.steps.compactMap { step -> LabAct.Name? in
            if case .act(let act, _) = step.kind { act.name } else { nil }
        }
        #expect(acts == [.send, .cut])
        let states = scenario.steps.compactMap { step -> ConnectionStatus.State? in
            if case .expectation(let expectation, _) = step.kind { expectation.status } else { nil }
        }
        #expect(states.prefix(2) == [.reconnecting, .connected])
    }

    @Test("Each scenario that comes with Parley can be read, and names what it shows")
    func shipped() throws {
        for shipped in ShippedScenario.all {
            let scenario = try shipped.scenario()
            #expect(!scenario.title.isEmpty && !scenario.about.isEmpty && scenario.steps.count >= 4, "\(shipped)")
            #expect(try LabScenario(parsing: Array(scenario.text.utf8)) == scenario, "\(shipped)")
        }
        #expect(Set(ShippedScenario.all.map(\.name)).count == 14)
    }
}
