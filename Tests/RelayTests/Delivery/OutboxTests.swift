import NATS
import Relay
import Testing

/// What of the outbox leaves when, and in which order.
@Suite struct OutboxTests {
    private let now = ContinuousClock.now
    private static let noQuorum = NATSError.jetStream(JetStreamFailure(code: 503, errorCode: 10_008, text: "no quorum"))

    private func message(_ id: String, _ topic: String = "t", bytes: Int = 1) -> OutboxMessage {
        OutboxMessage(id: id, topic: topic, payload: Array(repeating: 0, count: bytes))
    }

    private func sent(_ actions: [Delivery.Action]) -> [String] {
        actions.compactMap { if case .send(let message) = $0 { message.id } else { nil } }
    }

    private func ends(_ actions: [Delivery.Action]) -> [PublishNews] {
        actions.compactMap { if case .end(let news) = $0 { news } else { nil } }
    }

    private func alarm(_ actions: [Delivery.Action]) -> ContinuousClock.Instant? {
        actions.lazy.compactMap { if case .wake(let moment) = $0 { moment } else { nil } }.first
    }

    private func submit(
        _ delivery: inout Delivery, _ message: OutboxMessage, isKeptFirst: Bool = false, after time: Duration = .zero
    ) throws -> [String] {
        let actions = try delivery.submit(message, isKeptFirst: isKeptFirst, at: now + time)
        #expect(ends(actions).isEmpty, "nothing gives way")
        return sent(actions)
    }

    private func open(_ delivery: inout Delivery, after time: Duration = .zero) -> [String] {
        sent(delivery.opened(tellsOfRecipients: true, at: now + time))
    }

    private func look(_ delivery: inout Delivery, after time: Duration = .zero) -> [String] {
        sent(delivery.moment(at: now + time))
    }

    private func stored(
        _ delivery: inout Delivery, _ ids: String..., sequence: UInt64 = 1, after time: Duration = .zero
    ) -> [String] {
        let told = PublishAcknowledgement(stream: "S", sequence: sequence)
        return sent(delivery.answered(ids.map { ($0, .success(told)) }, at: now + time))
    }

    private func refused(_ delivery: inout Delivery, _ id: String, after time: Duration = .zero) -> [Delivery.Action] {
        let actions = delivery.answered([(id, .failure(Self.noQuorum))], at: now + time)
        #expect(delivery.state(of: id) == .queued)
        return actions
    }

    private func filled(_ ids: [String], policy: OutboxPolicy = .parley) throws -> Delivery {
        var delivery = Delivery(policy: policy)
        for id in ids { #expect(try submit(&delivery, message(id)).isEmpty) }
        return delivery
    }

    /// An outbox that is open, and has come to trust its server with as many messages at once as it likes. It sends
    /// some more.
    private func trusting(_ ids: [String], policy: OutboxPolicy = .parley) throws -> Delivery {
        var delivery = Delivery(policy: policy)
        _ = open(&delivery)
        for number in 0..<20 {
            for topic in ["t", "other"] {
                #expect(try submit(&delivery, message("earlier \(number) \(topic)", topic)).count == 1)
                _ = stored(&delivery, "earlier \(number) \(topic)")
            }
        }
        for id in ids { _ = try submit(&delivery, message(id)) }
        return delivery
    }

    /// An outbox with 1, 2 and 3 under way when their server's leader is lost, and 4 behind them. Four seconds later
    /// the new leader has answered 1, which it has from the one before it; the others may be gone.
    private func takenOver() throws -> Delivery {
        var delivery = try trusting(["1", "2", "3"])
        #expect(delivery.inFlightCount == 3)
        #expect(try submit(&delivery, message("4"), after: .seconds(1)).isEmpty)
        #expect(stored(&delivery, "1", after: .seconds(4)).isEmpty)
        return delivery
    }

    @Test("B33: nothing leaves before the subscriptions are live; what is queued meanwhile comes first")
    func gate() throws {
        var delivery = try filled(["1", "2"])
        #expect(look(&delivery).isEmpty && !delivery.isFlushed)
        #expect(open(&delivery) == ["1"])
        #expect(try submit(&delivery, message("3")).isEmpty)
        #expect(delivery.state(of: "1") == .sending)
        #expect(stored(&delivery, "1") == ["2", "3"])
        #expect(!delivery.isFlushed)
        #expect(stored(&delivery, "2").isEmpty)
        #expect(delivery.isFlushed, "What came after the opening does not hold the flush up")
        #expect(delivery.state(of: "3") == .sending && delivery.state(of: "1") == nil)
        delivery.connectionLost()
        #expect(!delivery.isFlushed)
    }

    @Test("B30: on a new connection one message has to be stored before two may follow, and so on")
    func slowStart() throws {
        var delivery = try filled((1...20).map(String.init))
        var leaving = open(&delivery)
        var next = 1
        for expected in [1, 2, 4, 8] {
            #expect(leaving == (next..<next + expected).map(String.init))
            next += expected
            let told = PublishAcknowledgement(stream: "S", sequence: 1)
            leaving = sent(delivery.answered(leaving.map { ($0, .success(told)) }, at: now))
        }
        #expect(leaving.count == 5)
        delivery.connectionLost()
        #expect(open(&delivery) == ["16"])
    }

    @Test("B30: nothing follows a message that the server leaves unanswered, except to other places")
    func stall() throws {
        var delivery = try trusting(["1"])
        #expect(try submit(&delivery, message("2"), after: .seconds(1)).isEmpty)
        #expect(try submit(&delivery, message("x", "other"), after: .seconds(1)) == ["x"])
        #expect(stored(&delivery, "1", after: .seconds(2)) == ["2"])
        // An answer that took two seconds is what is usual here now.
        #expect(try submit(&delivery, message("3"), after: .seconds(3.5)) == ["3"])
    }

    @Test("B30: however slow answers are, nothing follows an unanswered message by the time another server may lead")
    func stallOfSlowServer() throws {
        var delivery = try trusting(["1"])
        #expect(stored(&delivery, "1", after: .seconds(5)).isEmpty)
        #expect(try submit(&delivery, message("2"), after: .seconds(5)) == ["2"])
        #expect(try submit(&delivery, message("3"), after: .milliseconds(7_001)).isEmpty)
        #expect(stored(&delivery, "2", sequence: 2, after: .seconds(9)) == ["3"])
    }

    @Test("B30: nothing follows a silence in which another server may have come to lead until all before it has ended")
    func takeover() throws {
        var delivery = try takenOver()
        #expect(look(&delivery, after: .seconds(4)).isEmpty)
        #expect(stored(&delivery, "2", sequence: 2, after: .seconds(4)).isEmpty)
        #expect(stored(&delivery, "3", sequence: 3, after: .seconds(4)) == ["4"])
        #expect(try submit(&delivery, message("5"), after: .seconds(4)) == ["5"])
    }

    @Test("B30: what is lost in such a silence is sent again before what came later")
    func takeoverWithLoss() throws {
        var delivery = try takenOver()
        for id in ["2", "3"] { #expect(sent(refused(&delivery, id, after: .seconds(10))).isEmpty) }
        #expect(look(&delivery, after: .seconds(11)) == ["2"])
        #expect(stored(&delivery, "2", sequence: 2, after: .seconds(11)) == ["3", "4"])
    }

    @Test(
        "B30: what is refused in passing goes alone, after a moment, until it is stored, and holds its own topic only")
    func retry() throws {
        var delivery = try trusting(["1", "2", "3", "4"], policy: OutboxPolicy(maximumInFlight: 3))
        #expect(try submit(&delivery, message("x", "other")).isEmpty)
        #expect(sent(refused(&delivery, "2")) == ["x"])
        #expect(stored(&delivery, "1").isEmpty)
        var actions = refused(&delivery, "3")
        var waits: [Duration] = []
        var time = Duration.zero
        for _ in 0..<6 {
            #expect(sent(actions).isEmpty)
            let wait = try #require(alarm(actions)) - (now + time)
            waits.append(wait)
            time += wait
            #expect(look(&delivery, after: time) == ["2"])
            actions = refused(&delivery, "2", after: time)
        }
        #expect(waits == [250, 500, 1_000, 2_000, 2_000, 2_000].map { .milliseconds($0) })
        time += .seconds(2)
        #expect(look(&delivery, after: time) == ["2"])
        #expect(stored(&delivery, "2", sequence: 2, after: time) == ["3", "4"])
    }

    @Test("A policy may bound how long a message is refused; lost connections do not count")
    func refusalLimit() throws {
        var delivery = try filled(["1"], policy: OutboxPolicy(refusalLimit: .seconds(3)))
        var time = Duration.zero
        for _ in 0..<20 {
            #expect(open(&delivery, after: time) == ["1"])
            _ = refused(&delivery, "1", after: time)
            time += .seconds(4)
            delivery.connectionLost()
        }
        #expect(open(&delivery, after: time) == ["1"])
        for _ in 0..<2 {
            _ = refused(&delivery, "1", after: time)
            time += .seconds(2)
            #expect(look(&delivery, after: time) == ["1"])
        }
        let end = ends(delivery.answered([("1", .failure(Self.noQuorum))], at: now + time))
        guard case .failed? = end.first?.state else {
            Issue.record("\(end)")
            return
        }
        #expect(end.count == 1 && delivery.isEmpty)
    }

    @Test("B30: what was first sent before the server's memory of identifiers is looked for, not sent again")
    func late() throws {
        var delivery = try filled(["0", "1", "2"], policy: OutboxPolicy(maximumInFlightPerDestination: 1))
        #expect(open(&delivery) == ["0"])
        #expect(stored(&delivery, "0", sequence: 7) == ["1"])
        delivery.connectionLost()
        #expect(open(&delivery, after: .seconds(60)) == ["1"])
        delivery.connectionLost()
        let later = now + .seconds(111)
        #expect(
            delivery.opened(tellsOfRecipients: true, at: later)
                == [.lookUp(.init(message: message("1"), newestBefore: 7), topic: "t")])
        #expect(delivery.state(of: "1") == .sending && delivery.moment(at: later).isEmpty)
        #expect(delivery.lookedUp(id: "1", .absent, at: later) == [.send(message("1"))])
        delivery.connectionLost()
        #expect(open(&delivery, after: .seconds(171)) == ["1"])
    }

    @Test("Topics share the way fairly, oldest first, within the bounds on what is under way")
    func inFlightBounds() throws {
        var delivery = Delivery(policy: OutboxPolicy(maximumInFlight: 5, maximumInFlightPerDestination: 2))
        for number in 0..<4 {
            for topic in ["a", "b", "c"] { _ = try submit(&delivery, message("\(topic)\(number)", topic)) }
        }
        #expect(open(&delivery) == ["a0", "b0", "c0"])
        #expect(stored(&delivery, "a0", "b0", "c0") == ["a1", "b1", "c1", "a2", "b2"])
        #expect(look(&delivery).isEmpty)
        #expect(stored(&delivery, "a1") == ["c2"])
    }

    @Test("B31: a full outbox refuses new messages, by count and by bytes")
    func rejectNew() throws {
        var delivery = try filled(["1", "2"], policy: OutboxPolicy(maximumMessages: 2))
        #expect(throws: RelayError.outboxFull) { try delivery.submit(message("3"), at: now) }
        delivery = Delivery(policy: OutboxPolicy(maximumBytes: 10))
        _ = try submit(&delivery, message("1", bytes: 6))
        #expect(throws: RelayError.outboxFull) { try delivery.submit(message("2", bytes: 5), at: now) }
        _ = try submit(&delivery, message("3", bytes: 4))
        #expect(throws: RelayError.tooLarge(bytes: 11, limit: 10)) {
            try delivery.submit(message("4", bytes: 11), at: now)
        }
        for bytes in [0, 11] {
            let repeated = RelayError.invalidArgument("A message with the identifier 1 is already on its way")
            #expect(throws: repeated) { try delivery.submit(message("1", bytes: bytes), at: now) }
        }
        #expect(delivery.count == 2 && delivery.byteCount == 10)
    }

    @Test("B31: or drops the oldest waiting ones, each with an outcome, and never what is under way")
    func dropOldest() throws {
        let policy = OutboxPolicy(maximumMessages: 3, maximumBytes: 10, overflow: .dropOldest, maximumInFlight: 1)
        var delivery = try filled(["1", "2", "3"], policy: policy)
        func full(_ ids: String...) -> [PublishNews] {
            ids.map { PublishNews(id: $0, state: .failed(.outboxFull)) }
        }
        #expect(try ends(delivery.submit(message("4", "u"), at: now)) == full("1"))
        #expect(try ends(delivery.submit(message("5", bytes: 9), at: now)) == full("2", "3"))
        #expect(open(&delivery) == ["4"])
        #expect(throws: RelayError.outboxFull) { try delivery.submit(message("6", bytes: 10), at: now) }
        #expect(try ends(delivery.submit(message("7", bytes: 2), at: now)) == full("5"))
        #expect(stored(&delivery, "4") == ["7"])
        #expect(throws: RelayError.outboxFull) { try delivery.submit(message("8", bytes: 9), at: now) }
    }

    @Test("B32: the end of a session discards by policy, naming each message in order")
    func sessionEnd() throws {
        var delivery = try filled(["1", "2"], policy: .relayx)
        #expect(open(&delivery) == ["1"])
        #expect(ends(delivery.sessionEnded(.windowExpired)).map(\.id) == ["1", "2"] && delivery.isEmpty)

        delivery = try filled(["1", "2"])
        #expect(open(&delivery) == ["1"])
        #expect(delivery.sessionEnded(.timeLimit(.seconds(1))).isEmpty && delivery.queuedCount == 2)
        #expect(!delivery.isOpen && delivery.messages.map(\.id) == ["1", "2"])
        #expect(
            ends(delivery.sessionEnded(.closedByUser)).map(\.state)
                == [.discarded(.closedByUser), .discarded(.closedByUser)])

        delivery = try filled(["1"], policy: OutboxPolicy(discardsOnClose: false))
        #expect(delivery.sessionEnded(.closedByUser).isEmpty && delivery.count == 1)
    }

    @Test("A waiting message can be taken back; one under way cannot")
    func cancel() throws {
        var delivery = try filled(["1", "2", "3"])
        #expect(open(&delivery) == ["1"])
        #expect(delivery.cancel(id: "1", at: now).isEmpty && delivery.cancel(id: "unknown", at: now).isEmpty)
        #expect(delivery.cancel(id: "2", at: now) == [.end(PublishNews(id: "2", state: .failed(.cancelled)))])
        #expect(stored(&delivery, "1") == ["3"])
    }

    @Test("B35: five messages a second leave at once, the rest wait for their turn and none is refused")
    func pacing() throws {
        var delivery = try filled((0..<12).map(String.init), policy: OutboxPolicy(pacing: .rongcloud))
        var moment = now
        var times: [ContinuousClock.Instant] = []
        var order: [String] = []
        var actions = delivery.opened(tellsOfRecipients: true, at: moment)
        while order.count < 12 {
            let leaving = sent(actions)
            order += leaving
            times += leaving.map { _ in moment }
            if leaving.isEmpty {
                moment = try #require(alarm(actions))
                actions = delivery.moment(at: moment)
            } else {
                let told = PublishAcknowledgement(stream: "S", sequence: 1)
                actions = delivery.answered(leaving.map { ($0, .success(told)) }, at: moment)
            }
        }
        #expect(order == (0..<12).map(String.init))
        for index in 5..<12 { #expect(times[index] - times[index - 5] >= .seconds(1)) }
        #expect(times[11] - now == .seconds(2))
    }

    @Test("B32: an outbox opens when the disk has it that what waits may have left")
    func openedWhenKept() throws {
        var delivery = try filled(["1"])
        #expect(delivery.opened(tellsOfRecipients: true, isKeptFirst: true, at: now).isEmpty && !delivery.isFlushed)
        #expect(delivery.kept(before: .max, leaves: false, at: now).isEmpty)
        #expect(look(&delivery).isEmpty)
        #expect(delivery.kept(before: .max, leaves: true, at: now) == [.send(message("1"))])
    }

    @Test("An empty outbox is flushed as soon as it is open")
    func emptyFlush() {
        var delivery = Delivery()
        #expect(!delivery.isFlushed)
        #expect(open(&delivery).isEmpty)
        #expect(delivery.isFlushed && delivery.isEmpty)
    }

    @Test("B29: each message has one outcome; what comes later finds it ended")
    func oneOutcome() throws {
        var delivery = try trusting(["1", "2", "3"])
        #expect(delivery.state(of: "1") == .sending && delivery.inFlightCount == 3)
        let told = PublishAcknowledgement(stream: "S", sequence: 7, isDuplicate: true)
        #expect(
            ends(delivery.answered([("1", .success(told))], at: now))
                == [PublishNews(id: "1", state: .acknowledged(sequence: 7, isDuplicate: true))])
        #expect(delivery.answered([("1", .success(told))], at: now).isEmpty)
        let refusal = NATSError.publishNotPermitted(subject: "h.t")
        #expect(delivery.answered([("1", .failure(refusal))], at: now).isEmpty)
        #expect(
            ends(delivery.answered([("2", .failure(refusal))], at: now))
                == [PublishNews(id: "2", state: .failed(.notAuthorized("publishing to t")))])
        #expect(delivery.answered([("2", .failure(refusal)), ("2", .failure(Self.noQuorum))], at: now).isEmpty)
        #expect(
            delivery.discardAll(.closedByUser)
                == [.end(PublishNews(id: "3", state: .discarded(.closedByUser), mayBeStored: true))])
        #expect(delivery.answered([("3", .success(told))], at: now).isEmpty)
        #expect(delivery.isEmpty && delivery.byteCount == 0 && delivery.inFlightCount == 0)
        #expect(PublishNews.State.discarded(.closedByUser).isFinal && !PublishNews.State.sending.isFinal)
    }

    @Test("B32: what the disk does not have yet holds back what is behind it, and leaves in order when it has it")
    func keptFirst() throws {
        var delivery = try trusting([])
        for message in [message("1"), message("2"), message("x", "other")] {
            #expect(try submit(&delivery, message, isKeptFirst: true).isEmpty)
        }
        #expect(look(&delivery).isEmpty && delivery.state(of: "1") == .queued && delivery.queuedCount == 3)
        // The write that is over had the first alone.
        let written = delivery.nextNumber - 2
        #expect(delivery.kept(before: written, leaves: true, at: now) == [.send(message("1"))])
        #expect(ends(delivery.cancel(id: "2", at: now)).map(\.id) == ["2"])
        #expect(delivery.kept(before: .max, leaves: true, at: now) == [.send(message("x", "other"))])
        #expect(try submit(&delivery, message("3")) == ["3"])
    }

    @Test("B30: what was under way when the connection was lost is sent again, in order, under the same identifiers")
    func outage() throws {
        var delivery = try trusting(["1", "2", "3", "4"], policy: OutboxPolicy(maximumInFlight: 3))
        #expect(delivery.state(of: "3") == .sending && delivery.state(of: "4") == .queued)
        #expect(stored(&delivery, "2", sequence: 2) == ["4"])
        #expect(
            delivery.connectionLost() == ["1", "3", "4"].map { .tell(PublishNews(id: $0, state: .queued)) })
        #expect(try submit(&delivery, message("5")).isEmpty)
        #expect(look(&delivery).isEmpty && delivery.state(of: "1") == .queued)
        // The acknowledgement of what was sent before the loss may still arrive.
        #expect(stored(&delivery, "1").isEmpty && delivery.state(of: "1") == nil)
        #expect(open(&delivery) == ["3"])
        #expect(stored(&delivery, "3", sequence: 3) == ["4", "5"])
    }
}
