import Relay
import TestSupport
import Testing

@testable import RelayLab

@Suite("Lab: messages that a person sends")
struct HandTests {
    @Test("What somebody else hands over is counted, and recorded as what a scenario sends")
    func counted() async throws {
        let session = LabSession.byHand()
        await session.begin(connects: false)
        await session.record()
        let first = try #require(await session.handedOver())
        let second = try #require(await session.handedOver())
        await session.ended(first, .acknowledged)
        await session.add(.received(first, isRecovered: true))
        let glance = await session.report
        #expect(glance.figures.sent == 2 && glance.figures.received == 1 && glance.figures.unsettled == 1)
        #expect(glance.findings.isEmpty && !glance.isOver)
        await session.ended(second, .notSent("too large"))
        let run = await session.end(patience: .zero, waits: false)
        #expect(run.isOver && run.ledger.figures.notSent == 1 && run.verdict.isPassed)
        #expect(await session.handedOver() == nil)
        let steps = await session.recording?.scenario(title: "t").steps ?? []
        let sends = steps.filter { if case .act(let act, _) = $0.kind { act.name == .send } else { false } }
        #expect(sends.count == 2)
    }

    @Test("A lost message is named, and stands in the timeline where it was sent")
    func lost() async throws {
        let session = LabSession.byHand()
        await session.begin(connects: false)
        let number = try #require(await session.handedOver())
        await session.ended(number, .acknowledged)
        let run = await session.end(patience: .zero, waits: false)
        let glance = LabReport(run, at: run.timeline.end)
        #expect(glance.findings == ["Acknowledged and never delivered: you 1."] && glance.lost.count == 1)
        let lane = try #require(glance.strips(columns: 60).last)
        #expect(lane.hasPrefix("missing") && lane.contains("█"))
        #expect(glance.strips(columns: 60, ascii: true).allSatisfy { $0.allSatisfy(\.isASCII) })
    }

    @Test("A glance has what lasts, and when it ends by itself")
    func lasting() async throws {
        let subject = ScriptedSubject()
        let session = LabSession.byHand(subject, link: ScriptedLink(subject))
        await session.begin()
        try await session.perform(LabAct(.refuse))
        try await session.perform(LabAct(.delay), lasting: .seconds(600))
        try await session.perform(LabAct(.background), lasting: .seconds(600))
        let lasting = await session.report.lasting
        #expect(lasting.map(\.name) == [.refuse, .delay, .background])
        #expect(lasting.map { $0.end == nil } == [true, false, false])
        // Begun anew without an end, it has none.
        try await session.perform(LabAct(.delay))
        #expect(await session.report.lasting.first { $0.name == .delay }?.end == nil)
        try await session.perform(LabAct(.restore))
        #expect(await session.report.lasting.map(\.name) == [.background])
        _ = await session.end(patience: .zero, waits: false)
    }

    @Test("A fault that is begun anew lasts as long as it was told then, and not as long as it was told before")
    func begunAnew() async throws {
        let subject = ScriptedSubject()
        let link = ScriptedLink(subject)
        let session = LabSession.byHand(subject, link: link)
        await session.begin()
        try await session.perform(LabAct(.refuse), lasting: .milliseconds(50))
        try await session.perform(LabAct(.refuse))
        // Begun and ended meanwhile, so that its time has passed as well.
        try await session.perform(LabAct(.delay), lasting: .milliseconds(60))
        try await eventually("the end of what lasts shorter") {
            await session.report.lasting.map(\.name) == [.refuse]
        }
        let run = await session.end(patience: .zero, waits: false)
        #expect(run.timeline.faults.count { $0.what.name == "refuse" } == 2)
    }

    @Test("What could not be done does not last, is not recorded, and is not undone in the end")
    func refused() async throws {
        let subject = ScriptedSubject()
        let server = ScriptedServer(subject)
        let session = LabSession.byHand(subject, link: ScriptedLink(subject), server: server)
        await session.begin()
        await session.record()
        await #expect(throws: TestFailure.self) { try await session.perform(LabAct(.block), lasting: .seconds(600)) }
        #expect(await session.report.lasting.isEmpty)
        #expect(await session.opposites.isEmpty)
        #expect(await session.recording?.isEmpty == true)
        _ = await session.end(patience: .zero, waits: false)
        #expect(server.acts == ["block"])
    }

    @Test("What is heard beside an act that could not be done is not expected of it, but of what was done before")
    func heardBeside() {
        let status = LabStatus(state: "connected")
        var recording = LabRecording()
        recording.did(LabAct(.block), lasting: nil, at: .zero)
        recording.heard(status, at: .zero)
        recording.takeBack(LabAct(.block), lasting: nil)
        #expect(recording.isEmpty)
        var expected = LabRecording()
        recording.did(LabAct(.cut), lasting: nil, at: .zero)
        recording.did(LabAct(.block), lasting: nil, at: .zero)
        recording.heard(status, at: .zero)
        expected.did(LabAct(.cut), lasting: nil, at: .zero)
        expected.heard(status, at: .zero)
        recording.takeBack(LabAct(.block), lasting: nil)
        #expect(recording == expected)
    }

    @Test("What lasts on the server's side can be ended, each by its opposite, however lately it was begun")
    func opposites() async throws {
        let subject = ScriptedSubject()
        let server = ScriptedServer(subject)
        let session = LabSession.byHand(subject, link: ScriptedLink(subject), server: server)
        await session.begin()
        try await session.perform(LabAct(.ban), lasting: .seconds(600))
        #expect(await session.opposites == [.unban])
        try await session.perform(LabAct(.unban))
        #expect(await session.opposites.isEmpty)
        _ = await session.end(patience: .zero, waits: false)
        #expect(server.acts == ["ban", "unban"])
    }
}
