import Relay
import TestSupport
import Testing

@testable import RelayLab

extension LabTime {
    static func ms(_ milliseconds: Int64) -> LabTime { LabTime(microseconds: milliseconds * 1_000) }
}

extension LabNumber {
    /// A number that can be one.
    static func of(_ writer: String, _ value: Int) throws -> LabNumber {
        try #require(LabNumber(writer: writer, value: value))
    }
}

/// Events of a run in a test's hands: each a millisecond behind the one before, unless the time is said.
struct Story {
    private(set) var run = LabRun()
    private var now: Int64 = 0

    init(_ title: String = "a story") {
        tell(
            .began(LabHeading(title: title, seed: 7, policy: "parley", speed: 1, server: "2.10.0", time: nil)), at: 0)
    }

    mutating func tell(_ kind: LabEvent.Kind, at moment: Int64? = nil) {
        now = moment ?? now + 1
        run.take(LabEvent(at: .ms(now), kind))
    }

    mutating func status(_ state: String, attempt: Int = 0, retryIn: Int64? = nil, at moment: Int64? = nil) {
        tell(.status(LabStatus(state: state, attempt: attempt, retryIn: retryIn.map { .ms($0) })), at: moment)
    }

    /// Messages that were sent and acknowledged.
    mutating func sent(_ values: ClosedRange<Int>, by writer: String = "a") throws {
        for value in values {
            tell(.sent(try .of(writer, value)))
            tell(.acknowledged(try .of(writer, value)))
        }
    }

    mutating func received(_ values: [Int], from writer: String = "a") throws {
        for value in values { tell(.received(try .of(writer, value), isRecovered: false)) }
    }

    mutating func end() { run.end(at: .ms(now + 1)) }

    /// A run with an outage, in which one message of five is lost, one comes twice and two change places.
    static func troubled() throws -> LabRun {
        var story = Story("cut & <restored>")
        story.status("initialized")
        story.status("connecting", attempt: 1)
        story.status("connected", at: 40)
        story.tell(.roundTrip(.ms(2)))
        try story.sent(1...5)
        try story.received([1])
        story.tell(.queued(4))
        story.tell(.fault(LabFault("cut", detail: "reset", .struck)), at: 100)
        story.status("reconnecting", attempt: 1, retryIn: 50, at: 130)
        story.status("reconnecting", attempt: 1, at: 180)
        story.tell(.fault(LabFault("refuse", .began)), at: 185)
        story.tell(.fault(LabFault("refuse", .ended)), at: 300)
        story.status("connected", at: 420)
        story.tell(.queued(0))
        story.tell(.received(try .of("a", 2), isRecovered: true))
        try story.received([4, 3, 3])
        story.tell(
            .expectation(
                LabExpectationResult(words: "lost 0", isMet: false, took: .ms(900), instead: "lost 1")), at: 1_300)
        story.end()
        return story.run
    }
}

extension LabSession {
    /// A session of what somebody does by hand.
    static func byHand(
        _ subject: ScriptedSubject = ScriptedSubject(), link: (any LabLink)? = nil, server: (any LabServerSide)? = nil,
        writer: String = "you", clock: any Timekeeper = TimeByTurns()
    ) -> LabSession {
        LabSession(
            subject, link, server, "lab", writer, LabHeading(title: "by hand", seed: 7, policy: "parley"), clock)
    }
}
