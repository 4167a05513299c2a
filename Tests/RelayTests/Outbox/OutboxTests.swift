import Relay
import Testing

@Suite struct OutboxTests {
    private let now = ContinuousClock.now

    private func message(_ id: String, _ topic: String = "t", bytes: Int = 1) -> OutboxMessage {
        OutboxMessage(id: id, topic: topic, payload: Array(repeating: 0, count: bytes))
    }

    private func filled(_ ids: [String], policy: OutboxPolicy = .parley) -> Outbox {
        var outbox = Outbox(policy: policy)
        for id in ids { #expect(outbox.enqueue(message(id)) == .accepted) }
        return outbox
    }

    private func send(_ outbox: inout Outbox, limit: Int = .max) -> [String] {
        outbox.nextToSend(limit: limit, at: now).messages.map(\.id)
    }

    @Test("B33: nothing leaves before the subscriptions are live; what is queued meanwhile comes first")
    func gate() {
        var outbox = filled(["1", "2"])
        #expect(send(&outbox).isEmpty && outbox.isFlushed == false)
        outbox.open()
        #expect(send(&outbox, limit: 1) == ["1"])
        #expect(outbox.enqueue(message("3")) == .accepted)
        #expect(send(&outbox) == ["2", "3"])
        #expect(outbox.state(of: "1") == .sending)
        _ = outbox.acknowledged(id: "1", sequence: 1)
        #expect(!outbox.isFlushed)
        _ = outbox.acknowledged(id: "2", sequence: 2)
        #expect(outbox.isFlushed, "What came after the opening does not hold the flush up")
        #expect(outbox.state(of: "3") == .sending && outbox.state(of: "1") == nil)
        outbox.connectionLost()
        #expect(!outbox.isFlushed)
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
        var outbox = filled(["1", "2", "3"])
        #expect(outbox.state(of: "1") == .queued && outbox.queuedCount == 3)
        outbox.open()
        _ = send(&outbox)
        #expect(
            outbox.acknowledged(id: "1", sequence: 7, duplicate: true)
                == PublishResolution(id: "1", outcome: .acknowledged(sequence: 7, duplicate: true))
        )
        #expect(outbox.acknowledged(id: "1", sequence: 7) == nil)
        #expect(outbox.failed(id: "1", .outboxFull, retryable: false) == nil)
        #expect(
            outbox.failed(id: "2", .notAuthorized("t"), retryable: false)?.outcome == .failed(.notAuthorized("t"))
        )
        #expect(outbox.failed(id: "2", .notAuthorized("t"), retryable: true) == nil)
        #expect(outbox.discardAll(.closedByUser) == [PublishResolution(id: "3", outcome: .discarded(.closedByUser))])
        #expect(outbox.acknowledged(id: "3", sequence: 9) == nil)
        #expect(outbox.isEmpty && outbox.byteCount == 0 && outbox.inFlightCount == 0)
        #expect(PublishState(PublishOutcome.acknowledged(sequence: 7, duplicate: false)) == .acknowledged(sequence: 7))
        #expect(PublishState(.discarded(.closedByUser)).isFinal && !PublishState.sending.isFinal)
    }

    @Test("B30: what was under way when the connection was lost is sent again, in order, under the same identifiers")
    func outage() {
        var outbox = filled(["1", "2", "3", "4"])
        outbox.open()
        #expect(send(&outbox, limit: 3) == ["1", "2", "3"])
        _ = outbox.acknowledged(id: "2", sequence: 2)
        outbox.connectionLost()
        #expect(outbox.enqueue(message("5")) == .accepted)
        #expect(send(&outbox).isEmpty && outbox.state(of: "1") == .queued)
        // The acknowledgement of what was sent before the loss may still arrive.
        #expect(outbox.acknowledged(id: "1", sequence: 1) != nil)
        outbox.open()
        #expect(send(&outbox) == ["3", "4", "5"])
    }

    @Test("B30: a message that fails in passing goes alone until it has succeeded, and holds its own topic only")
    func retry() {
        var outbox = filled(["1", "2", "3", "4"])
        #expect(outbox.enqueue(message("x", "other")) == .accepted)
        outbox.open()
        #expect(send(&outbox, limit: 3) == ["1", "2", "3"])
        #expect(outbox.failed(id: "2", .timeout("publish"), retryable: true) == nil)
        #expect(send(&outbox) == ["x"], "The topic waits for what is still under way")
        _ = outbox.acknowledged(id: "1", sequence: 1)
        #expect(outbox.failed(id: "3", .timeout("publish"), retryable: true) == nil)
        #expect(send(&outbox) == ["2"])
        _ = outbox.acknowledged(id: "2", sequence: 2)
        #expect(send(&outbox) == ["3", "4"])
    }

    @Test("A message that keeps failing fails for good; lost connections do not count")
    func attempts() {
        var outbox = filled(["1", "2"], policy: OutboxPolicy(maximumAttempts: 3))
        for _ in 0..<20 {
            outbox.open()
            _ = send(&outbox)
            outbox.connectionLost()
        }
        outbox.open()
        for _ in 0..<2 {
            #expect(send(&outbox).first == "1")
            #expect(outbox.failed(id: "1", .timeout("publish"), retryable: true) == nil)
            _ = outbox.failed(id: "2", .timeout("publish"), retryable: true)
        }
        #expect(send(&outbox) == ["1"])
        #expect(outbox.failed(id: "1", .timeout("publish"), retryable: true)?.outcome == .failed(.timeout("publish")))
        #expect(send(&outbox) == ["2"])
    }

    @Test("Topics share the way fairly, oldest first, within the bounds on what is under way")
    func inFlightBounds() {
        var outbox = Outbox(policy: OutboxPolicy(maximumInFlight: 5, maximumInFlightPerTopic: 2))
        for number in 0..<4 {
            for topic in ["a", "b", "c"] { _ = outbox.enqueue(message("\(topic)\(number)", topic)) }
        }
        outbox.open()
        #expect(send(&outbox) == ["a0", "b0", "c0", "a1", "b1"])
        #expect(send(&outbox).isEmpty)
        _ = outbox.acknowledged(id: "a0", sequence: 1)
        #expect(send(&outbox) == ["c1"])
    }

    @Test("B31: a full outbox refuses new messages, by count and by bytes")
    func rejectNew() {
        var outbox = filled(["1", "2"], policy: OutboxPolicy(maximumMessages: 2))
        #expect(outbox.enqueue(message("3")) == .rejected(.outboxFull))
        outbox = Outbox(policy: OutboxPolicy(maximumBytes: 10))
        #expect(outbox.enqueue(message("1", bytes: 6)) == .accepted)
        #expect(outbox.enqueue(message("2", bytes: 5)) == .rejected(.outboxFull))
        #expect(outbox.enqueue(message("3", bytes: 4)) == .accepted)
        #expect(outbox.enqueue(message("4", bytes: 11)) == .rejected(.tooLarge(bytes: 11, limit: 10)))
        guard case .rejected(.invalidArgument) = outbox.enqueue(message("1", bytes: 0)) else {
            return #expect(Bool(false), "an identifier that is on its way was accepted again")
        }
        #expect(outbox.count == 2 && outbox.byteCount == 10)
    }

    @Test("B31: or drops the oldest waiting ones, each with an outcome, and never what is under way")
    func dropOldest() {
        let policy = OutboxPolicy(maximumMessages: 3, maximumBytes: 10, overflow: .dropOldest)
        var outbox = filled(["1", "2", "3"], policy: policy)
        let full = PublishOutcome.failed(.outboxFull)
        #expect(outbox.enqueue(message("4", "u")) == .acceptedDropping([.init(id: "1", outcome: full)]))
        #expect(
            outbox.enqueue(message("5", bytes: 9))
                == .acceptedDropping([.init(id: "2", outcome: full), .init(id: "3", outcome: full)])
        )
        outbox.open()
        #expect(send(&outbox, limit: 1) == ["4"])
        #expect(outbox.enqueue(message("6", bytes: 10)) == .rejected(.outboxFull))
        #expect(outbox.enqueue(message("7", bytes: 2)) == .acceptedDropping([.init(id: "5", outcome: full)]))
        #expect(send(&outbox) == ["7"])
        #expect(outbox.enqueue(message("8", bytes: 8)) == .rejected(.outboxFull))
    }

    @Test("B32: the end of a session discards by policy, naming each message in order")
    func sessionEnd() {
        var outbox = filled(["1", "2"], policy: .relayx)
        outbox.open()
        _ = send(&outbox, limit: 1)
        #expect(outbox.sessionEnded(.windowExpired).map(\.id) == ["1", "2"] && outbox.isEmpty)

        outbox = filled(["1", "2"])
        outbox.open()
        _ = send(&outbox, limit: 1)
        #expect(outbox.sessionEnded(.timeLimit(.seconds(1))).isEmpty && outbox.queuedCount == 2 && !outbox.isOpen)
        #expect(outbox.messages.map(\.id) == ["1", "2"])
        #expect(
            outbox.sessionEnded(.closedByUser).map(\.outcome) == [.discarded(.closedByUser), .discarded(.closedByUser)])

        outbox = filled(["1"], policy: OutboxPolicy(discardsOnClose: false))
        #expect(outbox.sessionEnded(.closedByUser).isEmpty && outbox.count == 1)
    }

    @Test("A waiting message can be taken back; one under way cannot")
    func cancel() {
        var outbox = filled(["1", "2", "3"])
        outbox.open()
        _ = send(&outbox, limit: 1)
        #expect(outbox.cancel(id: "1") == nil && outbox.cancel(id: "unknown") == nil)
        #expect(outbox.cancel(id: "2") == PublishResolution(id: "2", outcome: .failed(.cancelled)))
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
            moment = batch.resumeAt ?? moment + .milliseconds(1)
        }
        #expect(order == (0..<12).map(String.init))
        for index in 5..<12 { #expect(sent[index] - sent[index - 5] >= .seconds(1)) }
        #expect(sent[11] - now == .seconds(2))
    }
}
