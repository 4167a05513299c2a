import Relay
import Synchronization
import TestSupport
import Testing

@testable import Parley

/// How often a queue has asked for attention, and whether it is still to get it.
final class WakeFlag: Sendable {
    private let isRaised = Atomic(false)
    private let raised = Atomic(0)

    var count: Int { raised.load(ordering: .sequentiallyConsistent) }

    func raise() {
        raised.wrappingAdd(1, ordering: .sequentiallyConsistent)
        isRaised.store(true, ordering: .sequentiallyConsistent)
    }

    /// True once for any number of calls of `raise`.
    func take() -> Bool { isRaised.exchange(false, ordering: .sequentiallyConsistent) }
}

@Suite("News on their way to the screen")
struct EventQueueTests {
    private func news(_ sequence: UInt64, _ topic: String = "chat.lobby", text: String = "x") -> ChatEvent {
        .topic(topic, .messages([message(sequence, text, topic: topic)]))
    }

    @Test("A page of letters is an answer that a person waits for, and a portion of those to be marked is none")
    func answers() {
        let page = ListOutput<PostboxMessage>(items: [], nextToken: nil)
        #expect(ChatEvent.postbox(.page(request: 1, page)).isAnswer)
        #expect(!ChatEvent.postbox(.portion(request: 1, LetterPortion(letters: []))).isAnswer)
        #expect(!ChatEvent.postbox(.portionFailed(request: 1, .notConnected)).isAnswer)
    }

    /// What waits: each topic with the sequences of its messages, or `-` for another event.
    private func taken(_ queue: EventQueue) -> [String] {
        var found: [String] = []
        while let (event, _) = queue.take() {
            if case .topic(let name, let events) = event {
                let parts = events.map { $0.shown(at: Desk.wall).map { "\($0.sequence)" } ?? "-" }
                found.append("\(name) \(parts.joined(separator: ","))")
            } else {
                found.append("-")
            }
        }
        return found
    }

    @Test("What one topic tells is one event while it waits, in the order in which it came, whatever others tell")
    func joins() {
        let queue = EventQueue {}
        for sequence in 1...3 as ClosedRange<UInt64> {
            #expect(queue.offer(news(sequence, "a")) && queue.offer(news(sequence, "b")))
            if sequence == 2 { #expect(queue.offer(.topic("a", .gap(lost: 2)))) }
        }
        #expect(taken(queue) == ["a 1,2,-,3", "b 1,2,3"])
        #expect(queue.waitingMessages == 0 && queue.offer(news(4, "a")))
        #expect(taken(queue) == ["a 4"])
    }

    @Test("What comes behind any other event stays behind it")
    func order() {
        let queue = EventQueue {}
        #expect(queue.offer(news(1, "a")) && queue.offer(news(1, "b")) && queue.take() != nil)
        #expect(queue.offer(news(2, "b")) && queue.offer(.log("x")) && queue.offer(news(2, "a")))
        #expect(queue.offer(news(3, "b")) && queue.offer(news(3, "a")))
        #expect(taken(queue) == ["b 1,2", "-", "a 2,3", "b 3"])
    }

    @Test("An event grows no larger than a batch")
    func batches() {
        let queue = EventQueue {}
        for sequence in 1...UInt64(EventQueue.batch * 2 + 1) { #expect(queue.offer(news(sequence))) }
        var counts: [Int] = []
        while let (_, messages) = queue.take() { counts.append(messages) }
        #expect(counts == [EventQueue.batch, EventQueue.batch, 1])
    }

    @Test("It is bounded by messages, by bytes and by events, and takes more when something was taken")
    func bounds() {
        let many = EventQueue {}
        var messages = 0
        while many.offer(news(UInt64(messages))) { messages += 1 }
        #expect(messages == 4_096 && !many.offer(.log("x")))
        #expect(many.take()?.messages == EventQueue.batch)
        #expect(many.offer(.log("x")))

        let large = EventQueue {}
        let text = String(repeating: "x", count: 1 << 20)
        let isTaken = (1...5).map { large.offer(news($0, $0 == 2 ? "b" : "chat.lobby", text: text)) }
        #expect(isTaken == [true, true, true, true, false])
        let hasRoom = large.take() != nil && large.offer(news(5, text: text))
        #expect(hasRoom)

        let small = EventQueue {}
        var events = 0
        while small.offer(.log("x")) { events += 1 }
        #expect(events == 1_024)
    }

    @Test("It asks for attention once, until everything is taken")
    func wakes() {
        let flag = WakeFlag()
        let queue = EventQueue { flag.raise() }
        for sequence in 1...500 as ClosedRange<UInt64> { #expect(queue.offer(news(sequence, "t\(sequence % 7)"))) }
        #expect(flag.count == 1)
        #expect(queue.take() != nil && queue.offer(.log("x")) && flag.count == 1)
        _ = taken(queue)
        #expect(queue.offer(.log("x")) && flag.count == 2)
    }

    @Test("Senders that are faster than the screen wait, and nothing is lost or out of order", .processorBound)
    func waiting() async throws {
        let queue = EventQueue {}
        let (topics, each) = (4, 5_000)
        let senders = (0..<topics).map { topic in
            Task.detached {
                for sequence in 1...UInt64(each) {
                    await queue.send(.topic("t\(topic)", .messages([message(sequence, "x", topic: "t\(topic)")])))
                }
            }
        }
        var received = [[UInt64]](repeating: [], count: topics)
        try await eventually("all messages") {
            while let (event, _) = queue.take() {
                guard case .topic(let name, let events) = event, let topic = Int(name.dropFirst()) else { continue }
                received[topic] += events.messages.map(\.sequence)
            }
            return received.allSatisfy { $0.count >= each }
        }
        for sender in senders { await sender.value }
        for sequences in received { #expect(sequences == Array(1...UInt64(each))) }
    }

    @Test("A queue that is closed lets its senders go, and keeps nothing")
    func closing() async {
        let queue = EventQueue {}
        while queue.offer(.log("x")) {}
        let sender = Task.detached { await queue.send(.log("y")) }
        await Task.yield()
        queue.close()
        await sender.value
        #expect(queue.take() == nil && queue.offer(.log("z")) && queue.take() == nil)
    }
}
