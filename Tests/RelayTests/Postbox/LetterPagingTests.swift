import NIOConcurrencyHelpers
import NIOCore
import Testing

@testable import NATS
@testable import Relay

/// A stream of letters that others change before each read.
private final class ChangingStream: Sendable {
    struct State {
        var letters: [StoredMessage] = []
        var last: UInt64 = 0
        var random: SeededGenerator
        /// The letters that were there at first and have not been deleted.
        var old: Set<UInt64> = []
        var changes = 0

        mutating func add() {
            last += 1
            let postbox = Bool.random(using: &random) ? "personal" : "work"
            let text = String(repeating: "x", count: Int.random(in: 0...40, using: &random))
            letters.append(
                StoredMessage(
                    subject: "postbox.alice.\(postbox).bob", sequence: last, time: ServerTime(nanoseconds: 0),
                    headers: NATSHeaders(), payload: ByteBuffer(string: text)))
        }

        mutating func change() {
            guard changes > 0 else { return }
            changes -= 1
            for _ in 0..<Int.random(in: 0...3, using: &random) { add() }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                guard let index = letters.indices.randomElement(using: &random) else { return }
                old.remove(letters.remove(at: index).sequence)
            }
        }
    }

    let state: NIOLockedValueBox<State>

    init(seed: UInt64) {
        var state = State(random: SeededGenerator(seed: seed))
        for _ in 0..<Int.random(in: 0...60, using: &state.random) { state.add() }
        // What was deleted before leaves holes.
        for _ in 0..<state.letters.count / 3 {
            guard let index = state.letters.indices.randomElement(using: &state.random) else { break }
            state.letters.remove(at: index)
        }
        state.old = Set(state.letters.map(\.sequence))
        state.changes = 200
        self.state = NIOLockedValueBox(state)
    }

    var extent: StreamExtent {
        state.withLockedValue {
            StreamExtent(incarnation: 7, first: $0.letters.first?.sequence ?? $0.last + 1, last: $0.last)
        }
    }

    /// Fills a page with the letters that are there at each read.
    func fill(_ page: inout LetterPage, last: UInt64? = nil) async throws {
        let isAscending = page.order == .oldestFirst
        try await page.fill(last: last ?? extent.last) { place, limit, bytes throws(NATSError) in
            state.withLockedValue { state in
                state.change()
                let matching =
                    isAscending
                    ? state.letters.filter { $0.sequence >= place }
                    : state.letters.filter { $0.sequence <= place }.reversed()
                let part = Self.part(matching, limit, bytes)
                guard part.count < matching.count, let last = part.last?.sequence else { return (part, nil) }
                return (part, isAscending ? last + 1 : last - 1)
            }
        }
    }

    private static func part(_ messages: [StoredMessage], _ limit: Int, _ bytes: Int) -> [StoredMessage] {
        var total = 0
        var part: [StoredMessage] = []
        for message in messages {
            total += message.size
            guard part.count < limit, part.isEmpty || total <= bytes else { break }
            part.append(message)
        }
        return part
    }
}

/// Pages of letters that others write and delete meanwhile, over a stream as a value.
@Suite("Paging through changing letters")
struct LetterPagingTests {
    @Test(
        "B45 B46 each letter that stays is on one page, in order, whatever comes and goes between two reads",
        arguments: [LetterOrder.oldestFirst, .newestFirst], [nil, "work"])
    func randomChanging(_ order: LetterOrder, postbox: String?) async throws {
        for seed in UInt64(0)..<150 {
            let stream = ChangingStream(seed: seed)
            let isWanted = { (sequence: UInt64) in
                stream.state.withLockedValue { state in
                    state.letters.contains {
                        $0.sequence == sequence && (postbox.map($0.subject.contains) ?? true)
                    }
                }
            }
            var random = SeededGenerator(seed: seed &* 31)
            let newest = stream.extent.last
            var token: String?
            var seen: [UInt64] = []
            var pages = 0
            repeat {
                var page = try LetterPage(
                    limit: Int.random(in: 1...7, using: &random), nextToken: token, postbox: postbox, order: order,
                    bytes: 150)
                let extent = stream.extent
                try await stream.fill(&page, last: extent.last)
                let output = page.output(incarnation: 7, owner: "alice")
                let places = output.items.compactMap { PostboxMessageID($0.id)?.sequence }
                #expect(places.allSatisfy(page.part(last: extent.last).contains) || order == .oldestFirst)
                seen += places
                token = output.nextToken
                pages += 1
            } while token != nil && pages < 1_000
            #expect(token == nil)
            #expect(seen == (order == .oldestFirst ? seen.sorted() : seen.sorted(by: >)))
            #expect(Set(seen).count == seen.count)
            #expect(stream.state.withLockedValue(\.old).filter(isWanted).isSubset(of: seen), "seed \(seed)")
            if order == .newestFirst { #expect(seen.allSatisfy { $0 <= newest }) }
        }
    }

    @Test("B45 a token of a list in one order is refused in the other")
    func tokens() throws {
        for (order, other) in [(LetterOrder.oldestFirst, LetterOrder.newestFirst), (.newestFirst, .oldestFirst)] {
            let token = PageToken(incarnation: 7, sequence: 3, order: order)
            #expect(try PageToken(token.text) == token)
            #expect(try LetterPage(limit: 1, nextToken: token.text, postbox: nil, order: order).token == token)
            #expect(throws: RelayError.invalidToken) {
                try LetterPage(limit: 1, nextToken: token.text, postbox: nil, order: other)
            }
        }
    }
}
