import NIOCore
import Testing

@testable import NATS

@Suite("An answer to a batched direct get")
struct BatchAnswerTests {
    private func message(_ block: String, _ payload: String = "") -> NATSMessage {
        NATSMessage(
            subject: "_INBOX.a.b", reply: nil, content: ByteBuffer(string: block + payload),
            headerLength: block.utf8.count)
    }

    /// What a server writes behind a message's own headers.
    private static let place =
        "Nats-Stream: S\r\nNats-Subject: s.a\r\nNats-Sequence: 7\r\nNats-Time-Stamp: 2026-01-02T03:04:05.000000006Z\r\n"
        + "Nats-Num-Pending: 2\r\nNats-Last-Sequence: 5\r\n\r\n"

    private func stored(_ answer: BatchAnswer?) throws -> (message: StoredMessage, previous: UInt64) {
        guard case .message(let message, let previous)? = answer else { throw NATSError.closed }
        return (message, previous)
    }

    @Test("is a stored message with its place")
    func messages() throws {
        let plain = try stored(BatchAnswer(message("NATS/1.0\r\n" + Self.place, "text")))
        #expect(plain.message.sequence == 7 && plain.previous == 5)
        #expect(plain.message.sequence == 7 && plain.message.subject == "s.a")
        #expect(plain.message.time.description.hasPrefix("2026-01-02T03:04:05"))
        #expect(String(buffer: plain.message.payload) == "text")
        let own = try stored(BatchAnswer(message("NATS/1.0\r\nNats-Msg-Id: x\r\nA: 1\r\n" + Self.place)))
        #expect(own.message.headers["Nats-Msg-Id"] == "x" && own.message.headers["A"] == "1")
        #expect(own.message.sequence == 7)
    }

    @Test(
        "has the server's word for its place, whatever the sender wrote",
        arguments: [
            "NATS/1.0\r\nNats-Sequence: 99\r\nNats-Subject: s.b\r\nNats-Last-Sequence: 98\r\n",
            "NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\nNats-Last-Sequence: 5\r\n",
            "NATS/1.0 204 EOB\r\nNats-Num-Pending: 0\r\nNats-Last-Sequence: 5\r\n\r\n",
            "NATS/1.0 404 Message Not Found\r\n\r\n", "NATS/1.0\r\n\r\n\r\n\n\n", "\r\n", "x",
            "NATS/1.0\r\n" + String(repeating: "a: b\r\n", count: 5_000),
        ])
    func forged(head: String) throws {
        let found = try stored(BatchAnswer(message(head + Self.place, "text")))
        #expect(found.message.sequence == 7 && found.message.subject == "s.a")
        #expect(found.previous == 5)
    }

    @Test("is the end of the batch, or says that nothing matches")
    func endings() {
        let end = BatchAnswer(message("NATS/1.0 204 EOB\r\nNats-Num-Pending: 3\r\nNats-Last-Sequence: 9\r\n\r\n"))
        guard case .end(last: 9, pending: 3)? = end else {
            Issue.record("\(String(describing: end))")
            return
        }
        guard case .nothing? = BatchAnswer(message("NATS/1.0 404 Message Not Found\r\n\r\n")) else {
            Issue.record("not the answer of a stream without such messages")
            return
        }
    }

    @Test(
        "is none where the server knows no batches, refuses, or says nothing of the place",
        arguments: [
            "", "NATS/1.0\r\n\r\n", "NATS/1.0 503\r\n\r\n", "NATS/1.0 503\r\nNats-Subject: s\r\n\r\n",
            "NATS/1.0 408 Bad Request\r\n\r\n", "NATS/1.0 204 EOB\r\n\r\n",
            "NATS/1.0\r\nNats-Stream: S\r\nNats-Subject: s\r\nNats-Sequence: 7\r\n"
                + "Nats-Time-Stamp: 2026-01-02T03:04:05Z\r\n\r\n",
            "NATS/1.0\r\nA: 1\r\nNats-Stream: S\r\nNats-Subject: s\r\nNats-Sequence: 7\r\n"
                + "Nats-Time-Stamp: 2026-01-02T03:04:05Z\r\n\r\n",
            "NATS/1.0\r\nNats-Subject: s\r\nNats-Sequence: x\r\nNats-Time-Stamp: 2026-01-02T03:04:05Z\r\n"
                + "Nats-Num-Pending: 0\r\nNats-Last-Sequence: 0\r\n\r\n",
            "NATS/1.0\r\nNats-Subject: s\r\nNats-Sequence: 3\r\nNats-Time-Stamp: 2026-01-02T03:04:05Z\r\n"
                + "Nats-Num-Pending: 0\r\nNats-Last-Sequence: 3\r\n\r\n",
        ])
    func others(block: String) {
        let isAnswer = BatchAnswer(message(block)) != nil
        #expect(!isAnswer)
    }
}
