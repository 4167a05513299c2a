import NIOCore
import Testing

@testable import NATS
@testable import Relay

/// What stands on a page of letters, and where the next one begins.
@Suite("A page of letters")
struct LetterPageTests {
    /// A letter that counts so many bytes, its subject's included.
    private func letter(
        _ sequence: UInt64, to postbox: String = "personal", bytes: Int = 40, headers: NATSHeaders = [:]
    ) -> StoredMessage {
        let subject = "postbox.alice.\(postbox).bob"
        let text = String(repeating: "x", count: max(0, bytes - subject.utf8.count))
        return StoredMessage(
            subject: subject, sequence: sequence, time: ServerTime(nanoseconds: 0), headers: headers,
            payload: ByteBuffer(string: text))
    }

    /// Gives a page the stream's messages until it is full, and says how many it has gone through.
    private func fill(_ page: inout LetterPage, _ messages: [StoredMessage]) -> Int {
        var count = 0
        for message in messages {
            guard page.take(message) else { break }
            count += 1
        }
        return count
    }

    @Test("B45 a page is asked for with 1 to 100 letters, and with one where no limit is given")
    func limits() throws {
        for limit in [0, -1, 101, Int.min, Int.max] {
            #expect(throws: RelayError.invalidArgument("The limit is from 1 to 100")) {
                try LetterPage(limit: limit, nextToken: nil, postbox: nil)
            }
        }
        // One more than are wanted tells where the next page begins.
        for limit in [1, 100] {
            #expect(try LetterPage(limit: limit, nextToken: nil, postbox: nil).missingMessages == limit + 1)
        }
        #expect(try LetterPage(limit: nil, nextToken: nil, postbox: nil).missingMessages == 2)
        #expect(RelayClient.maximumPage == 100)
    }

    @Test("B45 a damaged token is refused, and so is a name that no postbox has")
    func refusals() {
        for token in ["", "x", String(repeating: "a", count: 32)] {
            #expect(throws: RelayError.invalidToken) { try LetterPage(limit: 1, nextToken: token, postbox: nil) }
        }
        for postbox in ["", "a.b", "a*", ">", "a b", "é", String(repeating: "x", count: 65)] {
            #expect(throws: RelayError.invalidArgument("The postbox's name is not one")) {
                try LetterPage(limit: 1, nextToken: nil, postbox: postbox)
            }
        }
    }

    @Test("B45 a full page's token leads to the first letter that it left out")
    func fullPage() throws {
        var page = try LetterPage(limit: 2, nextToken: nil, postbox: nil)
        #expect(page.token == nil)
        #expect(fill(&page, [letter(3), letter(7), letter(9), letter(10)]) == 2)
        let output = page.output(incarnation: 5, owner: "alice")
        let places = output.items.compactMap { PostboxMessageID($0.id) }
        #expect(places.map(\.sequence) == [3, 7])
        #expect(places.allSatisfy { $0.incarnation == 5 })
        #expect(output.items.allSatisfy { $0.ownerId == "alice" && $0.from == "bob" })
        let next = try LetterPage(limit: 2, nextToken: output.nextToken, postbox: nil)
        #expect(next.token == PageToken(incarnation: 5, sequence: 9))
    }

    @Test("Letters of many bytes end a page before its limit, and one is on it in any case")
    func bytes() throws {
        var page = try LetterPage(limit: 10, nextToken: nil, postbox: nil, bytes: 100)
        let count = fill(&page, [letter(1, bytes: 60), letter(2, bytes: 40)])
        #expect(count == 2 && page.missingBytes == 1)
        #expect(fill(&page, [letter(3, bytes: 30), letter(4, bytes: 30)]) == 0)
        let token = PageToken(incarnation: 1, sequence: 3).text
        #expect(page.output(incarnation: 1, owner: "alice").nextToken == token)
        var large = try LetterPage(limit: 10, nextToken: nil, postbox: nil, bytes: 100)
        #expect(large.missingBytes == 100)
        #expect(fill(&large, [letter(1, bytes: 500), letter(2, bytes: 30)]) == 1)
        var headed = try LetterPage(limit: 10, nextToken: nil, postbox: nil, bytes: 100)
        let blank = String(repeating: " ", count: 60)
        let some = fill(&headed, [letter(1, headers: ["A": blank]), letter(2, headers: ["A": blank])])
        #expect(some == 1 && headed.missingBytes == 1)
    }
}
