import Relay
import Testing

@testable import RelayLab

@Suite("Lab: the log")
struct LogTests {
    @Test("A log reads back as what was written, and so does all that is made of it")
    func roundTrip() throws {
        let run = try Story.troubled()
        let log = try LabLog(parsing: Array(run.log.text.utf8))
        #expect(log == run.log)
        #expect(LabRun(log) == run)
    }

    @Test("Each kind of event reads back")
    func kinds() throws {
        let number = try LabNumber.of("a", 1)
        let kinds: [LabEvent.Kind] = [
            .began(
                LabHeading(
                    title: "“title”", seed: .max, policy: "relayx", speed: 30, server: "nats://h:1",
                    time: "2026-01-01T00:00:00.000Z")),
            .status(
                LabStatus(state: "reconnecting", reason: "connectionLost", words: "a\nb", attempt: 3, retryIn: .ms(5))),
            .status(LabStatus(state: "connected")), .status(LabStatus(state: "connected", isSilent: true)),
            .roundTrip(LabTime(microseconds: 1)),
            .fault(LabFault("refuse", .began)), .fault(LabFault("delay", detail: "20ms", .ended)),
            .fault(LabFault("cut", .struck)), .queued(0), .sent(number), .acknowledged(number),
            .notSent(number, reason: "full"), .uncertain(number), .received(number, isRecovered: true),
            .arrived(topic: "chat.lobby", sequence: .max, isRecovered: true),
            .missed(topic: "chat.lobby", count: 3),
            .expectation(LabExpectationResult(words: "w", isMet: true, took: .zero)), .note("n"), .failed("f"),
            .ended(LabFigures(), passed: false),
        ]
        for (index, kind) in kinds.enumerated() {
            let event = LabEvent(at: LabTime(microseconds: Int64(index) * 333_333), kind)
            let line = JSONText.text(.map(event.json))
            #expect(try LabLog(parsing: Array(line.utf8)).events == [event])
        }
        #expect(Set(kinds.map { LabEvent(at: .zero, $0).json["event"]?.stringValue }).count == 16)
    }

    @Test("The last line has the figures under the names that scripts read")
    func lastLine() throws {
        let run = try Story.troubled()
        let last = try #require(run.log.events.last).json
        #expect(last["verdict"] == "failed")
        let names = ["sent", "acknowledged", "received", "recovered", "doubled", "lost", "outOfOrder"]
        #expect(names.map { last[$0]?.intValue } == [5, 5, 4, 1, 1, 1, 1])
        #expect(last["recovery"]?.doubleValue == 0.12 && last["notice"]?.doubleValue == 0.03)
    }

    @Test("A mistake in a log is named with its line")
    func mistakes() throws {
        let good = try #require(Story.troubled().log.text.split(separator: "\n").first)
        for (line, words) in [
            ("{", "it is no JSON object"), ("[]", "it is no JSON object"), ("{}", "it has no “at”"),
            ("{\"at\":1}", "it has no “event”"), ("{\"at\":1,\"event\":\"other\"}", "“event” cannot be read"),
            ("{\"event\":\"queued\",\"count\":1}", "it has no “at”"),
            ("{\"at\":1e300,\"event\":\"note\",\"words\":\"\"}", "“at” cannot be read"),
            ("{\"at\":1,\"event\":\"queued\",\"count\":-1}", "“count” cannot be read"),
            ("{\"at\":1,\"event\":\"queued\",\"count\":9223372036854775807}", "“count” cannot be read"),
            ("{\"at\":1,\"event\":\"sent\",\"writer\":\"a\"}", "it has no “n”"),
            ("{\"at\":1,\"event\":\"sent\",\"writer\":\"a\",\"n\":0}", "“n” cannot be read"),
        ] {
            #expect(throws: LabLogError(line: 3, words: words)) {
                try LabLog(parsing: Array("\(good)\n\n\(line)\n".utf8))
            }
        }
    }

    @Test("Nothing comes behind the end of a run")
    func end() throws {
        var run = try Story.troubled()
        let before = run
        run.take(LabEvent(at: .ms(5_000), .note("late")))
        #expect(run == before)
    }
}
