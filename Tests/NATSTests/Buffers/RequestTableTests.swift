import NIOConcurrencyHelpers
import NIOCore
import Testing

@testable import NATS

@Suite("Table of requests")
struct RequestTableTests {
    private final class Answers: Sendable {
        private let list = NIOLockedValueBox<[Result<String, NATSError>]>([])
        var all: [Result<String, NATSError>] { list.withLockedValue { $0 } }
        func add(_ answer: Result<NATSMessage, NATSError>) { list.withLockedValue { $0.append(answer.map(\.text)) } }
    }

    private func message(_ text: String, block: String = "") -> NATSMessage {
        NATSMessage(
            subject: "s", reply: nil, content: ByteBuffer(string: block + text), headerLength: block.utf8.count)
    }

    private func answer(_ table: RequestTable, _ token: RequestToken, _ message: NATSMessage) {
        Array(table.reply(for: token).utf8).withUnsafeBytes { table.resolve($0) { _ in message } }
    }

    private let later = NIODeadline.now() + .hours(1)

    @Test("answers each request once, by its token")
    func answers() throws {
        let table = RequestTable(inbox: "_INBOX.c")
        let (one, two) = (Answers(), Answers())
        let first = try table.add(subject: "s", deadline: later, for: .message(one.add))
        let second = try table.add(subject: "s", deadline: later, for: .message(two.add))
        #expect(first != second)
        answer(table, second, message("b"))
        answer(table, second, message("again"))
        Array("_INBOX.c.0000000000A".utf8).withUnsafeBytes { table.resolve($0) { _ in message("nobody's") } }
        answer(table, first, message("a"))
        #expect(one.all == [.success("a")])
        #expect(two.all == [.success("b")])
        #expect(table.isEmpty)
    }

    private final class Observer: StorageObserver {
        private let list = NIOLockedValueBox<[String]>([])
        var all: [String] { list.withLockedValue { $0 } }
        func answered(_ id: String, tag: UInt64, _ result: Result<PublishAcknowledgement, NATSError>) {
            let text =
                switch result {
                case .success(let stored): "\(id) \(tag) \(stored.stream) \(stored.sequence)"
                case .failure(let error): "\(id) \(tag) \(error)"
                }
            list.withLockedValue { $0.append(text) }
        }
    }

    @Test("tells an observer of each message once how it was stored, or why it was not")
    func observed() throws {
        let table = RequestTable(inbox: "_INBOX.c")
        let observer = Observer()
        let tokens = try ["a", "b", "c", "d"].map { id in
            try table.add(subject: "s", deadline: later, for: .storage(observer, id: id, tag: 7))
        }
        answer(table, tokens[1], message(#"{"stream":"S","seq":5}"#))
        answer(table, tokens[1], message(#"{"stream":"S","seq":6}"#))
        answer(table, tokens[0], message("", block: "NATS/1.0 503\r\n\r\n"))
        answer(table, tokens[2], message(#"{"success":true}"#))
        table.close(.closed)
        #expect(
            observer.all == [
                "b 7 S 5", "a 7 \(NATSError.noResponders(subject: "s"))",
                "c 7 \(NATSError.protocolViolation("a publish was answered by something else"))",
                "d 7 \(NATSError.closed)",
            ])
    }

    /// The texts of so many tokens.
    private func tokens(_ count: Int, of table: RequestTable) throws -> [String] {
        try (0..<count).map { _ in
            let reply = table.reply(for: try table.add(subject: "s", deadline: later, for: .message { _ in }))
            #expect(reply.hasPrefix("_INBOX.c.") && Subject.isPublishable(reply))
            return String(reply.dropFirst("_INBOX.c.".count))
        }
    }

    @Test("a token is read from its text, and from no other")
    func texts() throws {
        func token(_ text: String) -> RequestToken? { Array(text.utf8).withUnsafeBytes { RequestToken($0) } }
        let table = RequestTable(inbox: "_INBOX.c")
        for text in try tokens(1_000, of: table) {
            let read = try #require(token(text))
            #expect(text.utf8.count == 11 && table.reply(for: read) == "_INBOX.c." + text)
        }
        for text in ["0000000000-", "F__________", "00000000000"] {
            #expect(token(text).map(table.reply) == "_INBOX.c." + text)
        }
        for text in ["", "1", "0000000000", "000000000000", "0000000000.", "0000000000*", "G0000000000", "0000 000000"]
        {
            #expect(token(text) == nil, "\(text)")
        }
        table.close(.closed)
    }

    @Test("who has seen some tokens knows nothing of the next")
    func unguessable() throws {
        let table = RequestTable(inbox: "_INBOX.c")
        let seen = try tokens(4_000, of: table)
        #expect(Set(seen).count == seen.count)
        // Of 4,000 random ones hardly two share their first 40 bits, or their last 48.
        #expect(Set(seen.map { $0.prefix(7) }).count > 3_990)
        #expect(Set(seen.map { $0.suffix(8) }).count > 3_990)
        for place in 1..<11 { #expect(Set(seen.map { Array($0)[place] }).count == 64, "place \(place)") }
        // Two tables have nothing in common.
        let other = RequestTable(inbox: "_INBOX.c")
        #expect(Set(seen).isDisjoint(with: try tokens(4_000, of: other)))
        table.close(.closed)
        other.close(.closed)
    }

    @Test("takes a server's 503 for nobody, and not a header that looks like it")
    func noResponders() throws {
        let table = RequestTable(inbox: "_INBOX.c")
        let answers = Answers()
        let blocks = ["NATS/1.0 503\r\n\r\n", "NATS/1.0 503 No Responders\r\nNats-Subject: s\r\n\r\n"]
        for block in blocks + ["NATS/1.0\r\nStatus: 503\r\n\r\n", "NATS/1.0 404 Not Found\r\n\r\n"] {
            let token = try table.add(subject: "s", deadline: later, for: .message(answers.add))
            answer(table, token, message("x", block: block))
        }
        #expect(
            answers.all == [
                .failure(.noResponders(subject: "s")), .failure(.noResponders(subject: "s")), .success("x"),
                .success("x"),
            ])
    }

    @Test("ends requests whose time is up, and only those")
    func expiry() throws {
        let table = RequestTable(inbox: "_INBOX.c")
        let answers = Answers()
        let now = NIODeadline.now()
        _ = try table.add(subject: "a", deadline: now, for: .message(answers.add))
        let kept = try table.add(subject: "b", deadline: now + .nanoseconds(1), for: .message { _ in })
        #expect(table.expire(at: now).isEmpty)
        #expect(answers.all == [.failure(.timeout("a request to a"))])
        #expect(!table.isEmpty)
        table.remove(kept)
        #expect(table.isEmpty)
    }

    @Test("a patient request that is late has its time once more from when the server has it, and then no more")
    func patience() throws {
        let table = RequestTable(inbox: "_INBOX.c")
        let answers = Answers()
        let now = NIODeadline.now()
        let token = try table.add(subject: "a", deadline: now, patience: .seconds(5), for: .message(answers.add))
        #expect(table.expire(at: now) == [token])
        #expect(table.expire(at: now + .hours(1)).isEmpty)
        table.arrived([token], at: now + .hours(1))
        #expect(table.expire(at: now + .hours(1) + .seconds(4)).isEmpty && answers.all.isEmpty)
        #expect(table.expire(at: now + .hours(1) + .seconds(5)).isEmpty)
        #expect(answers.all == [.failure(.timeout("a request to a"))])
        #expect(table.isEmpty)
    }

    @Test("a refused publish fails the oldest request to that subject")
    func refusal() throws {
        let table = RequestTable(inbox: "_INBOX.c")
        let (oldest, newer, other) = (Answers(), Answers(), Answers())
        _ = try table.add(subject: "s", deadline: later, for: .message(oldest.add))
        _ = try table.add(subject: "s", deadline: later, for: .message(newer.add))
        _ = try table.add(subject: "t", deadline: later, for: .message(other.add))
        table.fail(subject: "s", with: .publishNotPermitted(subject: "s"))
        #expect(oldest.all == [.failure(.publishNotPermitted(subject: "s"))])
        #expect(newer.all.isEmpty && other.all.isEmpty)
        table.fail(subject: "unknown", with: .publishNotPermitted(subject: "unknown"))
        table.close(.staleConnection)
        #expect(newer.all == [.failure(.staleConnection)] && other.all == [.failure(.staleConnection)])
    }

    @Test("takes no request while the answers' subscription is refused, and takes them again afterwards")
    func refusedInbox() throws {
        let table = RequestTable(inbox: "_INBOX.c")
        let answers = Answers()
        let refusal = NATSError.subscribeNotPermitted(subject: table.subscription)
        _ = try table.add(subject: "s", deadline: later, for: .message(answers.add))
        table.refuse(refusal)
        // The server may have carried it out.
        #expect(answers.all.count == 1)
        if case .failure(let error) = answers.all.first { #expect(error.isRetryable) }
        #expect(throws: refusal) { try table.add(subject: "s", deadline: later, for: .message { _ in }) }
        table.permit()
        _ = try table.add(subject: "s", deadline: later, for: .message { _ in })
        table.close(.closed)
        table.permit()
        #expect(throws: NATSError.closed) { try table.add(subject: "s", deadline: later, for: .message { _ in }) }
    }

    @Test("closes once: later requests get the first reason")
    func closing() {
        let table = RequestTable(inbox: "_INBOX.c")
        table.close(.staleConnection)
        table.close(.closed)
        #expect(throws: NATSError.staleConnection) {
            try table.add(subject: "s", deadline: later, for: .message { _ in })
        }
    }
}
