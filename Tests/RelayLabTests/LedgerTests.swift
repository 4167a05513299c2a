import Relay
import Testing

@testable import RelayLab

@Suite("Lab: the ledger")
struct LedgerTests {
    @Test("Messages that arrive once and in order leave nothing to say")
    func clean() throws {
        var story = Story()
        try story.sent(1...3)
        try story.received([1, 2, 3])
        story.end()
        let figures = story.run.ledger.figures
        #expect(figures.sent == 3 && figures.acknowledged == 3 && figures.received == 3)
        #expect(figures.doubled == 0 && figures.lost == 0 && figures.outOfOrder == 0 && figures.strange == 0)
        #expect(story.run.verdict.isPassed)
    }

    @Test("A client that drops messages is caught, and the verdict names them")
    func dropped() throws {
        var story = Story()
        try story.sent(1...5)
        try story.received([1, 3, 5])
        story.end()
        #expect(story.run.ledger.figures.lost == 2)
        #expect(story.run.ledger.lost == [try .of("a", 2), try .of("a", 4)])
        let verdict = story.run.verdict
        #expect(verdict.findings.map(\.kind) == ["lost"])
        #expect(verdict.findings.first?.words == "Acknowledged and never delivered: a 2, a 4.")
    }

    @Test("A client that doubles messages is caught, and the verdict names them")
    func doubled() throws {
        var story = Story()
        try story.sent(1...3)
        try story.received([1, 2, 2, 3, 2])
        story.end()
        let figures = story.run.ledger.figures
        #expect(figures.received == 3 && figures.doubled == 2 && figures.outOfOrder == 0)
        let verdict = story.run.verdict
        #expect(verdict.findings.map(\.kind) == ["doubled"])
        #expect(verdict.findings.first?.words == "Delivered again: a 2, a 2.")
    }

    @Test("A client that reorders messages is caught, and the verdict names them")
    func reordered() throws {
        var story = Story()
        try story.sent(1...4)
        try story.received([1, 4, 2, 3])
        story.end()
        let verdict = story.run.verdict
        #expect(verdict.findings.map(\.kind) == ["outOfOrder"])
        #expect(verdict.findings.first?.words == "Delivered behind a later one: a 2, a 3.")
        #expect(story.run.ledger.figures.lost == 0)
    }

    @Test("Writers have an order each, and none between them")
    func writers() throws {
        var story = Story()
        try story.sent(1...2, by: "a")
        try story.sent(1...2, by: "b")
        try story.received([1], from: "b")
        try story.received([1, 2], from: "a")
        try story.received([2], from: "b")
        story.end()
        #expect(story.run.verdict.isPassed)
        #expect(story.run.ledger.figures.received == 4)
    }

    @Test("What was reported as not sent is not lost, and what arrives of it all the same is a contradiction")
    func notSent() throws {
        var story = Story()
        for value in 1...3 { story.tell(.sent(try .of("a", value))) }
        story.tell(.notSent(try .of("a", 1), reason: "the window has passed"))
        story.tell(.notSent(try .of("a", 2), reason: "the window has passed"))
        story.tell(.uncertain(try .of("a", 3)))
        try story.received([2])
        story.end()
        let figures = story.run.ledger.figures
        #expect(figures.notSent == 2 && figures.uncertain == 1 && figures.lost == 0 && figures.unsettled == 0)
        #expect(story.run.verdict.findings.map(\.kind) == ["contradicted"])
        #expect(story.run.ledger.contradicted == [try .of("a", 2)])
    }

    @Test("What has not ended is a fault only when the run is over")
    func unsettled() throws {
        var story = Story()
        story.tell(.sent(try .of("a", 1)))
        #expect(story.run.verdict.isPassed)
        story.end()
        #expect(story.run.verdict.findings.map(\.kind) == ["unsettled"])
    }

    @Test("A message that nobody sent is named")
    func strange() throws {
        var story = Story()
        try story.sent(1...1)
        try story.received([1, 9])
        try story.received([1], from: "stranger")
        story.end()
        #expect(story.run.ledger.figures.strange == 2 && story.run.ledger.figures.received == 1)
        #expect(story.run.verdict.findings.first?.words == "Delivered, and sent by nobody: a 9, stranger 1.")
    }

    @Test("Where another program sends, what lies between two deliveries was sent too")
    func concluded() throws {
        var watch = LabWatch(LabHeading(title: "chat.lab", seed: 0, policy: "parley"))
        for value in [5, 6, 9] { watch.take(try .of("x", value), at: .zero) }
        #expect(watch.run.ledger.figures.sent == 5 && watch.run.ledger.figures.received == 3)
        #expect(watch.run.ledger.lost == [try .of("x", 7), try .of("x", 8)])
        watch.take(try .of("x", 7), at: .zero)
        #expect(watch.run.ledger.figures.outOfOrder == 1 && watch.run.ledger.figures.lost == 1)
        watch.conclude(count: 10, at: .zero)
        #expect(watch.run.ledger.figures.sent == 10 && watch.run.ledger.lost.map(\.value) == [1, 2, 3, 4, 8, 10])
        #expect(try LabRun(LabLog(parsing: Array(watch.run.log.text.utf8))) == watch.run)
    }

    @Test("What others send counts by its place in the stream: once, recovered, twice, late or missing")
    func arrivals() throws {
        func arrive(_ places: [UInt64], on topic: String = "chat.lobby", recovered: Bool = false, _ story: inout Story)
        {
            for place in places {
                story.tell(.arrived(topic: topic, sequence: place, isRecovered: recovered))
            }
        }
        var story = Story()
        arrive([7, 9], &story)
        arrive([10, 12], recovered: true, &story)
        // The places of another topic are its own.
        arrive([3, 9], on: "chat.qa", &story)
        #expect(story.run.verdict.isPassed)
        #expect(story.run.ledger.hasArrived(topic: "chat.qa", sequence: 3))
        #expect(!story.run.ledger.hasArrived(topic: "chat.lobby", sequence: 3))
        let clean = story.run.ledger.figures
        #expect(clean.received == 6 && clean.recovered == 2 && clean.lost == 0 && clean.doubled == 0 && clean.sent == 0)
        arrive([10], recovered: true, &story)
        arrive([8], &story)
        story.tell(.missed(topic: "chat.lobby", count: 2))
        story.end()
        let figures = story.run.ledger.figures
        #expect(figures.received == 7 && figures.recovered == 2 && figures.doubled == 1 && figures.outOfOrder == 1)
        #expect(figures.lost == 2)
        #expect(
            story.run.verdict.findings.map(\.words) == [
                "Missing on chat.lobby: 2.", "Delivered again: chat.lobby 10.",
                "Delivered behind a later one: chat.lobby 8.",
            ])
        #expect(story.run.timeline.marks.points.map(\.value) == [.recovered, .recovered, .doubled])
        #expect(LabReport(story.run, at: .zero).lost.count == 1)
    }

    @Test("The time to notice runs from the fault, the time to recover from when nothing is in the way")
    func times() throws {
        let figures = try Story.troubled().ledger.figures
        #expect(figures.notice == .ms(30))
        // The link took connections again at 300.
        #expect(figures.recovery == .ms(120))
    }

    @Test("A fault that is over before the client noticed it is no outage")
    func unnoticed() {
        var story = Story()
        story.status("connected", at: 10)
        story.tell(.fault(LabFault("delay", .began)), at: 20)
        story.tell(.fault(LabFault("delay", .ended)), at: 30)
        story.end()
        #expect(story.run.ledger.figures.notice == nil && story.run.ledger.figures.recovery == nil)
    }

    @Test("A fault of single messages is no outage: the time to notice runs from the connection's own fault")
    func faultOfMessage() {
        for fault in LabAct.Name.allCases where fault.isOfMessage {
            var story = Story()
            story.status("connected", at: 10)
            story.tell(.fault(LabFault(fault.rawValue, .struck)), at: 20)
            story.tell(.fault(LabFault("cut", .struck)), at: 100)
            story.status("reconnecting", attempt: 1, at: 105)
            story.tell(.fault(LabFault(fault.rawValue, .struck)), at: 140)
            story.status("connected", at: 150)
            #expect(story.run.ledger.figures.notice == .ms(5), "\(fault)")
            #expect(story.run.ledger.figures.recovery == .ms(50), "\(fault)")
        }
    }

    @Test("An outage that no fault of the lab has brought takes as long as it took, whatever was over before it")
    func outageOfItsOwn() {
        var story = Story()
        story.status("connected", at: 10)
        story.tell(.fault(LabFault("cut", .struck)), at: 100)
        story.status("reconnecting", attempt: 1, at: 105)
        story.status("connected", at: 150)
        story.status("reconnecting", attempt: 1, at: 9_000)
        story.status("connected", at: 9_300)
        #expect(story.run.ledger.figures.recovery == .ms(300))
    }

    @Test("The longest of several outages counts")
    func longest() {
        var story = Story()
        story.status("connected", at: 10)
        for (fault, noticed, restored) in [(100, 105, 150), (200, 290, 300), (400, 401, 600)] {
            story.tell(.fault(LabFault("cut", .struck)), at: Int64(fault))
            story.status("reconnecting", attempt: 1, at: Int64(noticed))
            story.status("connected", at: Int64(restored))
        }
        #expect(story.run.ledger.figures.notice == .ms(90))
        #expect(story.run.ledger.figures.recovery == .ms(200))
    }

    @Test("A message's number is read from a bare text, a chat line and a map, and from nothing else")
    func numbers() throws {
        let number = try LabNumber.of("k3-f_9", 12)
        #expect(LabNumber(message: .string(number.text)) == number)
        #expect(LabNumber(message: .string("lab k3-f_9 12 and more words")) == number)
        #expect(LabNumber(message: ["username": "alice", "text": .string(number.text)]) == number)
        #expect(LabNumber(message: ["lab": "k3-f_9", "n": 12]) == number)
        for other: MessageValue in [
            "hello", "lab a", "lab a 0", "lab a -1", "lab a x", "lab ä 1", "lab  1", "lab a 1000001", .null, .int(3),
            ["lab": "a"], ["lab": "a", "n": "1"],
        ] {
            #expect(LabNumber(message: other) == nil, "\(other)")
        }
    }

    @Test("Times are rounded to what is shown, and keep what they were")
    func timeTexts() {
        #expect("\(LabTime(microseconds: 51_600))" == "0.052 s")
        #expect("\(LabTime(microseconds: 12_000_000))" == "12.000 s")
        #expect(LabTime(microseconds: 1_234_567).fixed(digits: 1) == "1.2")
        #expect(LabTime(microseconds: 999_999).fixed(digits: 6) == "0.999999")
        #expect(LabTime(seconds: LabTime(microseconds: 8_204_113).seconds) == LabTime(microseconds: 8_204_113))
        #expect(LabTime(.milliseconds(1_500)) == .ms(1_500))
        #expect(LabTime(seconds: .infinity) == nil)
    }
}
