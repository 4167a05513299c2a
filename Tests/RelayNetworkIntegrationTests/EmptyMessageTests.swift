import NATS
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// A message without bytes, which anybody may publish with any client. The server takes it for the end of a pull.
@Suite("Network: messages without bytes", .realProcesses)
struct EmptyMessageTests {
    /// Which messages have bytes.
    private static let pattern = [false, true, false, false, true]

    /// So rare that nobody mistakes one for what a busy machine takes for an event.
    private static let heartbeat = Duration.seconds(60)

    /// What comes next, long before a heartbeat.
    private func next<Event>(
        _ iterator: inout Subscription<Event>.Iterator, _ isWanted: (Event) -> Bool
    ) async throws -> Event {
        let begun = ContinuousClock.now
        while let event = try await iterator.next() {
            guard isWanted(event) else { continue }
            let lasted = ContinuousClock.now - begun
            #expect(lasted < Self.heartbeat / 3, "\(event) took \(lasted)")
            return event
        }
        throw TestFailure("a subscription has ended")
    }

    @Test(
        "B63: an empty message, value or letter is shown as one, and what follows it comes at once and is listed",
        arguments: TestServers.all)
    func everyReader(server: String) async throws {
        try await TestNetwork.run(server: server) { network in
            let alice = try network.client(surroundings: Surroundings(heartbeat: Self.heartbeat))
            try await alice.connect(timeLimit: 60)
            _ = try await alice.postboxes()
            let carol = try await network.connect(as: "carol")
            let jetStream = network.jetStream(carol)
            func publish(_ bytes: [UInt8], to subject: String) async throws {
                _ = try await jetStream.publish(ByteBuffer(bytes: bytes), to: subject)
            }
            let topic = "\(network.description.hash).chat.room"

            // What comes while somebody reads: the empty one alone, and several of them between others.
            var topics = try await alice.messages(topic: "chat.room", from: .new).makeAsyncIterator()
            var keys = try await alice.watch(key: ">").makeAsyncIterator()
            var letters = try await alice.postboxMessages().makeAsyncIterator()
            _ = try await next(&topics) { $0 == .live }
            _ = try await next(&keys) { $0 == .live }
            _ = try await next(&letters) { $0 == .status(.connected) }
            for round in 0..<3 {
                for (place, isFull) in Self.pattern.enumerated() {
                    let id = "\(round)-\(place)"
                    let line = Envelope(
                        id: id, room: "chat.room", message: "full", start: Timestamp(milliseconds: 1_763_719_262_345))
                    try await publish(isFull ? line.encoded() : [], to: topic)
                    try await publish(isFull ? [UInt8](#""full""#.utf8) : [], to: "$KV.local.key\(round)")
                    try await publish(isFull ? Array("full".utf8) : [], to: "postbox.alice.personal")
                    guard
                        case .message(let message) = try await next(&topics, { _ in true }),
                        case .change(let change) = try await next(&keys, { _ in true }),
                        case .message(let letter) = try await next(&letters, { _ in true })
                    else { throw TestFailure("other news") }
                    #expect(message.isEmpty == !isFull && message.text == (isFull ? "full" : ""))
                    #expect(message.id == (isFull ? id : "sequence-\(message.sequence)"))
                    #expect(change.stored?.value.description == (isFull ? #""full""# : #""""#))
                    #expect(letter.message == (isFull ? "full" : ""))
                }
            }

            // What is there already.
            for (key, text) in [("a", "1"), ("b", ""), ("c", "3"), ("d", ""), ("e", "5")] {
                try await publish(Array(text.utf8), to: "$KV.local.\(key)")
            }
            #expect(try await alice.keys() == ["key0", "key1", "key2", "a", "b", "c", "d", "e"])
            let history = try await alice.history(topic: "chat.room", start: Timestamp(milliseconds: 0))
            #expect(history.messages.map { !$0.isEmpty } == Self.pattern + Self.pattern + Self.pattern)
            #expect(history.unreadable.isEmpty)
            let page = try await alice.listMessages(limit: 100)
            // The network's welcome is the first.
            #expect(page.items.count == 16 && page.unreadable.isEmpty)
            let empty = page.items.filter(\.message.isEmpty).map(\.id)
            #expect(empty.count == 9)
            #expect(try await alice.bulkDeleteMessage(withMessageIds: empty) == empty)
            #expect(try await alice.listMessages(limit: 100).items.count == 7)

            // A question without bytes is answered.
            _ = try await carol.ask(to: NamespaceService.subject)
            _ = try await carol.ask(to: "relay.postbox.carol.list")
            await alice.close()
            await carol.close()
        }
    }
}
