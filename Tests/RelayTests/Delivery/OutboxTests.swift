import Relay
import Testing

@Suite struct OutboxTests {
    private let now = ContinuousClock.now

    private func message(_ id: String, _ topic: String = "t", bytes: Int = 1) -> OutboxMessage {
        OutboxMessage(id: id, topic: topic, payload: Array(repeating: 0, count: bytes))
    }

    /// Whether an outbox takes a message, for which nothing gives way.
    private func takes(_ outbox: inout Outbox, _ message: OutboxMessage, isKeptFirst: Bool = false) -> Bool {
        (try? outbox.enqueue(message, isKeptFirst: isKeptFirst))?.isEmpty ?? false
    }

    /// Whether a message that was refused waits again.
    private func waitsAgain(_ outbox: inout Outbox, _ id: String, at now: ContinuousClock.Instant) -> Bool {
        let (wasUnderWay, end) = outbox.refused(id: id, .timeout("publish"), at: now)
        return wasUnderWay && end == nil
    }

    private func filled(_ ids: [String], policy: OutboxPolicy = .parley) -> Outbox {
        var outbox = Outbox(policy: policy)
        for id in ids { #expect(takes(&outbox, message(id))) }
        return outbox
    }

    private func send(_ outbox: inout Outbox, limit: Int = .max) -> [String] {
        outbox.nextToSend(limit: limit, at: now).messages.map(\.id)
    }

    /// An outbox that is open, and has come to trust its server with as many messages at once as it likes.
    private func trusting(_ ids: [String], policy: OutboxPolicy = .parley) -> Outbox {
        var outbox = Outbox(policy: policy)
        outbox.open()
        for number in 0..<20 {
            for topic in ["t", "other"] {
                _ = try? outbox.enqueue(message("earlier \(number) \(topic)", topic))
                _ = send(&outbox)
                _ = outbox.stored(id: "earlier \(number) \(topic)", sequence: 1, at: now)
            }
        }
        for id in ids { #expect(takes(&outbox, message(id))) }
        return outbox
    }

    /// An outbox with 1, 2 and 3 under way when their server's leader is lost, and 4 behind them. Four seconds later
    /// the new leader has answered 1, which it has from the one before it; the others may be gone.
    private func takenOver() -> Outbox {
        var outbox = trusting(["1", "2", "3"])
        #expect(send(&outbox) == ["1", "2", "3"])
        #expect(takes(&outbox, message("4")))
        _ = outbox.stored(id: "1", sequence: 1, at: now + .seconds(4))
        return outbox
    }

    @Test("B33: nothing leaves before the subscriptions are live; what is queued meanwhile comes first")
    func gate() {
        var outbox = filled(["1", "2"])
        #expect(send(&outbox).isEmpty && outbox.isFlushed == false)
        outbox.open()
        #expect(send(&outbox) == ["1"])
        #expect(takes(&outbox, message("3")))
        #expect(outbox.state(of: "1") == .sending)
        _ = outbox.stored(id: "1", sequence: 1)
        #expect(!outbox.isFlushed)
        #expect(send(&outbox) == ["2", "3"])
        _ = outbox.stored(id: "2", sequence: 2)
        #expect(outbox.isFlushed, "What came after the opening does not hold the flush up")
        #expect(outbox.state(of: "3") == .sending && outbox.state(of: "1") == nil)
        outbox.connectionLost()
        #expect(!outbox.isFlushed)
    }

    @Test("B30: on a new connection one message has to be stored before two may follow, and so on")
    func slowStart() {
        var outbox = filled((1...20).map(String.init))
        outbox.open()
        var next = 1
        for expected in [1, 2, 4, 8] {
            let sent = send(&outbox)
            #expect(sent == (next..<next + expected).map(String.init))
            next += expected
            for id in sent { _ = outbox.stored(id: id, sequence: 1, at: now) }
        }
        #expect(send(&outbox).count == 5)
        outbox.connectionLost()
        outbox.open()
        #expect(send(&outbox) == ["16"])
    }

    @Test("B30: nothing follows a message that the server leaves unanswered, except to other places")
    func stall() {
        var outbox = trusting(["1"])
        #expect(send(&outbox) == ["1"])
        #expect(takes(&outbox, message("2")))
        #expect(takes(&outbox, message("x", "other")))
        #expect(outbox.nextToSend(at: now + .seconds(1)).messages.map(\.id) == ["x"])
        _ = outbox.stored(id: "1", sequence: 1, at: now + .seconds(2))
        #expect(outbox.nextToSend(at: now + .seconds(2)).messages.map(\.id) == ["2"])
        // An answer that took two seconds is what is usual here now.
        #expect(takes(&outbox, message("3")))
        #expect(outbox.nextToSend(at: now + .seconds(3.5)).messages.map(\.id) == ["3"])
    }

    @Test("B30: however slow answers are, nothing follows an unanswered message by the time another server may lead")
    func stallOfSlowServer() {
        var outbox = trusting(["1"])
        #expect(send(&outbox) == ["1"])
        _ = outbox.stored(id: "1", sequence: 1, at: now + .seconds(5))
        #expect(takes(&outbox, message("2")))
        #expect(outbox.nextToSend(at: now + .seconds(5)).messages.map(\.id) == ["2"])
        #expect(takes(&outbox, message("3")))
        #expect(outbox.nextToSend(at: now + .seconds(5) + .milliseconds(2_001)).messages.isEmpty)
        _ = outbox.stored(id: "2", sequence: 2, at: now + .seconds(9))
        #expect(outbox.nextToSend(at: now + .seconds(9)).messages.map(\.id) == ["3"])
    }

    @Test("B30: nothing follows a silence in which another server may have come to lead until all before it has ended")
    func takeover() {
        var outbox = takenOver()
        #expect(outbox.nextToSend(at: now + .seconds(4)).messages.isEmpty)
        _ = outbox.stored(id: "2", sequence: 2, at: now + .seconds(4))
        #expect(outbox.nextToSend(at: now + .seconds(4)).messages.isEmpty)
        _ = outbox.stored(id: "3", sequence: 3, at: now + .seconds(4))
        #expect(takes(&outbox, message("5")))
        #expect(outbox.nextToSend(at: now + .seconds(4)).messages.map(\.id) == ["4", "5"])
    }

    @Test("B30: what is lost in such a silence is sent again before what came later")
    func takeoverWithLoss() {
        var outbox = takenOver()
        for id in ["2", "3"] { _ = outbox.refused(id: id, .timeout("publish"), at: now + .seconds(10)) }
        let later = now + .seconds(11)
        #expect(outbox.nextToSend(at: later).messages.map(\.id) == ["2"])
        _ = outbox.stored(id: "2", sequence: 2, at: later)
        #expect(outbox.nextToSend(at: later).messages.map(\.id) == ["3", "4"])
    }

    @Test("An empty outbox is flushed as soon as it is open")
    func emptyFlush() {
        var outbox = Outbox()
        #expect(!outbox.isFlushed)
        outbox.open()
        #expect(outbox.isFlushed && outbox.isEmpty)
    }

    @Test("B29: each message has one outcome; what comes later finds it ended")
    func oneOutcome() {
        var outbox = trusting(["1", "2", "3"])
        #expect(outbox.state(of: "1") == .queued && outbox.queuedCount == 3)
        _ = send(&outbox)
        #expect(
            outbox.stored(id: "1", sequence: 7, isDuplicate: true)?.end.news
                == PublishNews(id: "1", state: .acknowledged(sequence: 7, isDuplicate: true)))
        #expect(outbox.stored(id: "1", sequence: 7) == nil)
        #expect(outbox.end("1", .failed(.outboxFull)) == nil)
        #expect(outbox.end("2", .failed(.notAuthorized("t")))?.news.state == .failed(.notAuthorized("t")))
        #expect(outbox.refused(id: "2", .notAuthorized("t"), at: now).wasUnderWay == false)
        #expect(
            outbox.discardAll(.closedByUser).map(\.news)
                == [PublishNews(id: "3", state: .discarded(.closedByUser), mayBeStored: true)])
        #expect(outbox.stored(id: "3", sequence: 9) == nil)
        #expect(outbox.isEmpty && outbox.byteCount == 0 && outbox.inFlightCount == 0)
        #expect(PublishNews.State.discarded(.closedByUser).isFinal && !PublishNews.State.sending.isFinal)
    }

    @Test("B30: what was under way when the connection was lost is sent again, in order, under the same identifiers")
    func outage() {
        var outbox = trusting(["1", "2", "3", "4"])
        #expect(send(&outbox, limit: 3) == ["1", "2", "3"])
        _ = outbox.stored(id: "2", sequence: 2)
        #expect(outbox.connectionLost() == ["1", "3"])
        #expect(takes(&outbox, message("5")))
        #expect(send(&outbox).isEmpty && outbox.state(of: "1") == .queued)
        // The acknowledgement of what was sent before the loss may still arrive.
        #expect(outbox.stored(id: "1", sequence: 1) != nil)
        outbox.open()
        #expect(send(&outbox) == ["3"])
        _ = outbox.stored(id: "3", sequence: 3)
        #expect(send(&outbox) == ["4", "5"])
    }

    @Test(
        "B30: what is refused in passing goes alone, after a moment, until it is stored, and holds its own topic only")
    func retry() {
        var outbox = trusting(["1", "2", "3", "4"])
        #expect(takes(&outbox, message("x", "other")))
        #expect(send(&outbox, limit: 3) == ["1", "2", "3"])
        #expect(waitsAgain(&outbox, "2", at: now))
        #expect(send(&outbox) == ["x"])
        _ = outbox.stored(id: "1", sequence: 1, at: now)
        #expect(waitsAgain(&outbox, "3", at: now))
        var waits: [Duration] = []
        var moment = now
        for _ in 0..<6 {
            let batch = outbox.nextToSend(at: moment)
            #expect(batch.messages.isEmpty)
            waits.append((batch.resumeAt ?? moment) - moment)
            moment = batch.resumeAt ?? moment
            #expect(outbox.nextToSend(at: moment).messages.map(\.id) == ["2"])
            #expect(waitsAgain(&outbox, "2", at: moment))
        }
        #expect(waits == [250, 500, 1_000, 2_000, 2_000, 2_000].map { .milliseconds($0) })
        moment += .seconds(2)
        #expect(outbox.nextToSend(at: moment).messages.map(\.id) == ["2"])
        _ = outbox.stored(id: "2", sequence: 2, at: moment)
        #expect(outbox.nextToSend(at: moment).messages.map(\.id) == ["3", "4"])
    }

    @Test("A policy may bound how long a message is refused; lost connections do not count")
    func refusalLimit() {
        var outbox = filled(["1"], policy: OutboxPolicy(refusalLimit: .seconds(3)))
        var moment = now
        for _ in 0..<20 {
            outbox.open()
            #expect(outbox.nextToSend(at: moment).messages.map(\.id) == ["1"])
            #expect(waitsAgain(&outbox, "1", at: moment))
            moment += .seconds(4)
            outbox.connectionLost()
        }
        outbox.open()
        for _ in 0..<2 {
            #expect(outbox.nextToSend(at: moment).messages.map(\.id) == ["1"])
            #expect(waitsAgain(&outbox, "1", at: moment))
            moment += .seconds(2)
        }
        #expect(outbox.nextToSend(at: moment).messages.map(\.id) == ["1"])
        #expect(
            outbox.refused(id: "1", .timeout("publish"), at: moment).end?.news.state == .failed(.timeout("publish")))
        #expect(outbox.isEmpty)
    }

    @Test("B30: what was first sent before the server's memory of identifiers is looked for, not sent again")
    func late() {
        var outbox = filled(["1", "2"])
        outbox.open()
        #expect(outbox.nextToSend(at: now, newest: 7).messages.map(\.id) == ["1"])
        outbox.connectionLost()
        outbox.open()
        let soon = now + .seconds(60)
        #expect(outbox.nextToSend(at: soon, newest: 9).messages.map(\.id) == ["1"])
        outbox.connectionLost()
        outbox.open()
        let later = now + .seconds(111)
        let batch = outbox.nextToSend(at: later, newest: 9)
        #expect(batch.messages.isEmpty && batch.late.map(\.message.id) == ["1"])
        #expect(batch.late.first?.newestBefore == 7)
        #expect(outbox.state(of: "1") == .sending && outbox.nextToSend(at: later).messages.isEmpty)
        #expect(outbox.wasNotStored(id: "1", at: later, newest: 9)?.id == "1")
        outbox.connectionLost()
        outbox.open()
        #expect(outbox.nextToSend(at: later + .seconds(60)).messages.map(\.id) == ["1"])
    }

    @Test("Topics share the way fairly, oldest first, within the bounds on what is under way")
    func inFlightBounds() {
        var outbox = Outbox(policy: OutboxPolicy(maximumInFlight: 5, maximumInFlightPerDestination: 2))
        for number in 0..<4 {
            for topic in ["a", "b", "c"] { _ = takes(&outbox, message("\(topic)\(number)", topic)) }
        }
        outbox.open()
        #expect(send(&outbox) == ["a0", "b0", "c0"])
        for id in ["a0", "b0", "c0"] { _ = outbox.stored(id: id, sequence: 1) }
        #expect(send(&outbox) == ["a1", "b1", "c1", "a2", "b2"])
        #expect(send(&outbox).isEmpty)
        _ = outbox.stored(id: "a1", sequence: 1)
        #expect(send(&outbox) == ["c2"])
    }

    @Test("B31: a full outbox refuses new messages, by count and by bytes")
    func rejectNew() throws {
        var outbox = filled(["1", "2"], policy: OutboxPolicy(maximumMessages: 2))
        #expect(throws: RelayError.outboxFull) { try outbox.enqueue(message("3")) }
        outbox = Outbox(policy: OutboxPolicy(maximumBytes: 10))
        #expect(takes(&outbox, message("1", bytes: 6)))
        #expect(throws: RelayError.outboxFull) { try outbox.enqueue(message("2", bytes: 5)) }
        #expect(takes(&outbox, message("3", bytes: 4)))
        #expect(throws: RelayError.tooLarge(bytes: 11, limit: 10)) { try outbox.enqueue(message("4", bytes: 11)) }
        for bytes in [0, 11] {
            let repeated = RelayError.invalidArgument("A message with the identifier 1 is already on its way")
            #expect(throws: repeated) { try outbox.enqueue(message("1", bytes: bytes)) }
        }
        #expect(outbox.count == 2 && outbox.byteCount == 10)
    }

    @Test("B31: or drops the oldest waiting ones, each with an outcome, and never what is under way")
    func dropOldest() throws {
        let policy = OutboxPolicy(maximumMessages: 3, maximumBytes: 10, overflow: .dropOldest)
        var outbox = filled(["1", "2", "3"], policy: policy)
        func full(_ ids: String...) -> [PublishNews] {
            ids.map { PublishNews(id: $0, state: .failed(.outboxFull)) }
        }
        #expect(try outbox.enqueue(message("4", "u")).map(\.news) == full("1"))
        #expect(try outbox.enqueue(message("5", bytes: 9)).map(\.news) == full("2", "3"))
        outbox.open()
        #expect(send(&outbox, limit: 1) == ["4"])
        #expect(throws: RelayError.outboxFull) { try outbox.enqueue(message("6", bytes: 10)) }
        #expect(try outbox.enqueue(message("7", bytes: 2)).map(\.news) == full("5"))
        #expect(send(&outbox) == ["7"])
        #expect(throws: RelayError.outboxFull) { try outbox.enqueue(message("8", bytes: 8)) }
    }

    @Test("B32: the end of a session discards by policy, naming each message in order")
    func sessionEnd() {
        var outbox = filled(["1", "2"], policy: .relayx)
        outbox.open()
        _ = send(&outbox, limit: 1)
        #expect(outbox.sessionEnded(.windowExpired).map(\.news.id) == ["1", "2"] && outbox.isEmpty)

        outbox = filled(["1", "2"])
        outbox.open()
        _ = send(&outbox, limit: 1)
        #expect(outbox.sessionEnded(.timeLimit(.seconds(1))).isEmpty && outbox.queuedCount == 2 && !outbox.isOpen)
        #expect(outbox.messages.map(\.id) == ["1", "2"])
        #expect(
            outbox.sessionEnded(.closedByUser).map(\.news.state)
                == [.discarded(.closedByUser), .discarded(.closedByUser)])

        outbox = filled(["1"], policy: OutboxPolicy(discardsOnClose: false))
        #expect(outbox.sessionEnded(.closedByUser).isEmpty && outbox.count == 1)
    }

    @Test("B32: what the disk does not have yet holds back what is behind it, and leaves in order when it has it")
    func keptFirst() throws {
        var outbox = trusting([])
        for id in ["1", "2"] { #expect(takes(&outbox, message(id), isKeptFirst: true)) }
        #expect(takes(&outbox, message("x", "other"), isKeptFirst: true))
        #expect(send(&outbox).isEmpty && outbox.state(of: "1") == .queued && outbox.queuedCount == 3)
        // The write that is over had the first alone.
        let written = outbox.nextNumber - 2
        #expect(outbox.kept(before: written, leaves: true) == ["1"])
        #expect(send(&outbox) == ["1"])
        #expect(outbox.cancel(id: "2") != nil)
        #expect(outbox.kept(before: .max, leaves: true) == ["x"])
        #expect(send(&outbox) == ["x"])
        #expect(takes(&outbox, message("3")))
        #expect(send(&outbox) == ["3"])
    }

    @Test("B32: an outbox opens when the disk has it that what waits may have left")
    func openedWhenKept() {
        var outbox = filled(["1"])
        outbox.open(isKeptFirst: true)
        #expect(send(&outbox).isEmpty && !outbox.isFlushed)
        #expect(outbox.kept(before: .max, leaves: false).isEmpty)
        #expect(send(&outbox).isEmpty)
        #expect(outbox.kept(before: .max, leaves: true).isEmpty)
        #expect(send(&outbox) == ["1"])
    }

    @Test("A waiting message can be taken back; one under way cannot")
    func cancel() {
        var outbox = filled(["1", "2", "3"])
        outbox.open()
        _ = send(&outbox, limit: 1)
        #expect(outbox.cancel(id: "1") == nil && outbox.cancel(id: "unknown") == nil)
        #expect(outbox.cancel(id: "2")?.news == PublishNews(id: "2", state: .failed(.cancelled)))
        _ = outbox.stored(id: "1", sequence: 1)
        #expect(send(&outbox) == ["3"])
    }

    @Test("B35: five messages a second leave at once, the rest wait for their turn and none is refused")
    func pacing() {
        var outbox = filled((0..<12).map(String.init), policy: OutboxPolicy(pacing: .rongcloud))
        outbox.open()
        var moment = now
        var sent: [ContinuousClock.Instant] = []
        var order: [String] = []
        while order.count < 12 {
            let batch = outbox.nextToSend(at: moment)
            order += batch.messages.map(\.id)
            sent += batch.messages.map { _ in moment }
            for message in batch.messages { _ = outbox.stored(id: message.id, sequence: 1, at: moment) }
            moment = batch.resumeAt ?? moment
        }
        #expect(order == (0..<12).map(String.init))
        for index in 5..<12 { #expect(sent[index] - sent[index - 5] >= .seconds(1)) }
        #expect(sent[11] - now == .seconds(2))
    }
}
