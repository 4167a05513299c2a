import NATS
import Testing

@testable import Relay

/// How a user's postboxes are listed in pages.
@Suite("A page of postboxes")
struct PostboxPageTests {
    private func postbox(_ id: String, _ moment: Int64) -> Postbox {
        Postbox(id: id, name: id, sudoId: "alice", isEnabled: true, createdAt: Timestamp(milliseconds: moment))
    }

    private func page(_ all: [Postbox], limit: Int?, after token: String? = nil) throws -> ListOutput<Postbox> {
        try PostboxPage(limit: limit, nextToken: token).output(of: all)
    }

    @Test("B45 pages of postboxes show each once, those of the same moment too, while others are made and deleted")
    func walk() throws {
        var random = SeededGenerator(seed: 51)
        for _ in 0..<200 {
            var all = (0..<Int.random(in: 0...12, using: &random)).map { number in
                postbox("box\(number)", Int64.random(in: 1...3, using: &random))
            }
            var stayed = Set(all.map(\.id))
            var seen: [String] = []
            var token: String?
            repeat {
                let page = try page(
                    all.shuffled(using: &random), limit: Int.random(in: 1...3, using: &random), after: token)
                seen += page.items.map(\.id)
                token = page.nextToken
                if let index = all.indices.randomElement(using: &random) { stayed.remove(all.remove(at: index).id) }
                all.append(postbox("new\(random.next())", Int64.random(in: 1...3, using: &random)))
            } while token != nil && seen.count < 1_000
            #expect(Set(seen).count == seen.count)
            #expect(stayed.isSubset(of: seen))
        }
    }

    @Test("B45 postboxes are listed oldest first, with a token where there are more")
    func order() throws {
        let all = [postbox("late", 3), postbox("early", 1), postbox("middle", 2)]
        let first = try page(all, limit: 2)
        #expect(first.items.map(\.id) == ["early", "middle"])
        let token = try #require(first.nextToken)
        let second = try page(all, limit: 2, after: token)
        #expect(second.items.map(\.id) == ["late"] && second.nextToken == nil)
        #expect(try page(all, limit: nil).items.count == 3)
    }

    @Test("B45 limits out of range, damaged tokens and those of letters are refused")
    func refusals() throws {
        for limit in [0, -1, 101] {
            #expect(throws: RelayError.invalidArgument("The limit is from 1 to 100")) { try page([], limit: limit) }
        }
        for token in ["", "x", PageToken(incarnation: 1, sequence: 2).text] {
            #expect(throws: RelayError.invalidToken) { try page([], limit: 1, after: token) }
        }
    }
}
