import Testing

@testable import Relay

@Suite("Topics: what is held of a history")
struct HistoryPartTests {
    private static let stream = StreamIdentity(name: "n_stream", incarnation: 1)

    /// A message with so many values of a byte each.
    private static func message(_ sequence: UInt64, values: Int) -> KeptMessage {
        let envelope = Envelope(
            id: "\(sequence)", room: "chat", message: .array(Array(repeating: .int(1), count: values)),
            start: Timestamp(milliseconds: 1))
        return KeptMessage(
            place: KeptPlace(stream: stream, sequence: sequence), topic: "chat", time: Timestamp(milliseconds: 1),
            payload: envelope.encoded())
    }

    private static func part(limit: Int = 100, bytes: Int) -> HistoryPart {
        HistoryPart(stream, limit: limit, bytes: bytes, withPayload: false)
    }

    @Test("B40: a part takes no more messages than its bytes hold, and one in any case")
    func forwards() {
        let messages = (1...10).map { Self.message($0, values: 1_000) }
        let size = messages[0].message?.heldBytes ?? 0
        var part = Self.part(bytes: 3 * size + size / 2)
        #expect(part.append(messages) == 4)
        #expect(part.history.messages.map(\.sequence) == [1, 2, 3] && !part.hasRoom)
        var small = Self.part(bytes: 1)
        #expect(small.append(messages) == 2 && small.history.count == 1)
        var large = Self.part(bytes: 11 * size)
        #expect(large.append(messages) == nil && large.history.count == 10 && large.hasRoom)
    }

    @Test("B40: a part that is read from its end takes the newest messages that its bytes hold")
    func backwards() {
        let messages = (1...10).map { Self.message($0, values: 1_000) }
        let size = messages[0].message?.heldBytes ?? 0
        var part = Self.part(bytes: 3 * size + size / 2)
        #expect(part.prepend(Array(messages[8...]), isCut: false) == nil)
        #expect(part.prepend(Array(messages[..<8]), isCut: false) == 7)
        #expect(part.history.messages.map(\.sequence) == [8, 9, 10])
    }

    @Test("B34 B40: what cannot be read takes more than its bytes, so that a part of nothing else has an end")
    func unreadable() {
        let messages = (1...1_000 as ClosedRange<UInt64>).map { number in
            KeptMessage(
                place: KeptPlace(stream: Self.stream, sequence: number), topic: "chat",
                time: Timestamp(milliseconds: 1), payload: [0xC1])
        }
        var part = Self.part(bytes: 10_000)
        #expect(part.append(messages) != nil && !part.hasRoom)
        #expect((1...200).contains(part.history.unreadable.count))
        var backwards = Self.part(bytes: 10_000)
        #expect(backwards.prepend(messages, isCut: false) != nil)
        #expect(backwards.history.unreadable.last?.place.sequence == 1_000)
    }

    @Test("B63: a kept message without bytes is an empty message")
    func empty() {
        let kept = KeptMessage(
            place: KeptPlace(stream: Self.stream, sequence: 7), topic: "chat", time: Timestamp(milliseconds: 1),
            payload: [])
        let message = kept.message
        #expect(message?.isEmpty == true && message?.id == "sequence-7" && message?.message == .null)
        var part = Self.part(bytes: 64 << 20)
        #expect(part.append([kept]) == nil && part.history.count == 1 && part.history.unreadable.isEmpty)
    }
}
