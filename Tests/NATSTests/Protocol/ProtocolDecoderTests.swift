import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Decoder of the server's operations")
struct ProtocolDecoderTests {
    private typealias Event = RecordingSink.Event

    private static let block = "NATS/1.0 503 Nobody\r\nA: 1\r\n\r\n"

    /// Every operation in every form that servers use, with what is to be found.
    private static let transcript: (bytes: [UInt8], events: [Event]) = {
        var text = "INFO {\"server_id\":\"A\",\"max_payload\":1048576} \r\n"
        var events: [Event] = [.info("{\"server_id\":\"A\",\"max_payload\":1048576}")]
        func message(
            _ line: String, _ sid: UInt64, _ subject: String, _ reply: String?, _ headerLength: Int, _ content: String
        ) {
            text += line + "\r\n" + content + "\r\n"
            events.append(
                .message(
                    sid: sid, subject: subject, reply: reply, headerLength: headerLength, content: Array(content.utf8)))
        }
        message("MSG a.b 7 5", 7, "a.b", nil, 0, "hello")
        message("MSG a.b 7 _INBOX.x.1 5", 7, "a.b", "_INBOX.x.1", 0, "world")
        message("MSG _INBOX.p.6 6  2", 6, "_INBOX.p.6", nil, 0, "{}")
        message("msg\ta\t8\t\tr\t 3", 8, "a", "r", 0, "t\tb")
        text += "PING\r\n+OK\r\nping\r\nPONG\r\n"
        events += [.ping, .ping, .pong]
        message("MSG empty 9 0", 9, "empty", nil, 0, "")
        message("MSG lines 9 8", 9, "lines", nil, 0, "PING\r\n\r\n")
        let size = block.utf8.count
        message("HMSG h 10 \(size) \(size + 4)", 10, "h", nil, size, block + "body")
        message("HMSG h 10 reply.to  \(size) \(size)", 10, "h", "reply.to", size, block)
        message("HMSG h 10  0 2", 10, "h", nil, 0, "no")
        message("MSG grüße.日本 123456789012345678 3", 123_456_789_012_345_678, "grüße.日本", nil, 0, "\r\n\n")
        text += "-ERR 'Permissions Violation for Publish to \"a b\"'\r\n-err  'Stale Connection' \r\nPONG \r\n\r\n"
        events += [.error("Permissions Violation for Publish to \"a b\""), .error("Stale Connection"), .pong]
        text += "INFO {}\r\n"
        events.append(.info("{}"))
        return (Array(text.utf8), events)
    }()

    @Test("reads a whole transcript from one chunk")
    func wholeTranscript() {
        let (sink, failure) = ProtocolDecoder.read([Self.transcript.bytes])
        #expect(failure == nil)
        #expect(sink.events == Self.transcript.events)
    }

    @Test("finds the same however the transcript is cut in two")
    func everyCut() {
        let bytes = Self.transcript.bytes
        for place in 0...bytes.count {
            let (sink, failure) = ProtocolDecoder.read(bytes.cut(at: [place]))
            guard failure == nil, sink.events == Self.transcript.events else {
                Issue.record("cut at \(place): \(failure.map { "\($0)" } ?? "other events")")
                return
            }
        }
    }

    @Test("finds the same byte by byte")
    func byteByByte() {
        let (sink, failure) = ProtocolDecoder.read(Self.transcript.bytes.map { [$0] })
        #expect(failure == nil)
        #expect(sink.events == Self.transcript.events)
    }

    @Test("reads a payload of 70 KB, cut everywhere near its ends, in reads of every size, and byte by byte")
    func largePayload() async {
        let payload = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let line = Array("MSG large 1 70000\r\n".utf8)
        let bytes = Array("PING\r\n".utf8) + line + payload + Array("\r\nPONG\r\n".utf8)
        let events: [Event] = [
            .ping, .message(sid: 1, subject: "large", reply: nil, headerLength: 0, content: payload), .pong,
        ]
        let start = 6 + line.count
        let places = Array(0...start + 3) + Array(start + 69_990...bytes.count) + [start + 65_536]
        for place in places {
            await Task.yield()
            let (sink, failure) = ProtocolDecoder.read(bytes.cut(at: [place]))
            #expect(failure == nil && sink.events == events, "cut at \(place)")
        }
        for size in [1, 1_024, 4_097, 65_536] {
            let (sink, failure) = ProtocolDecoder.read(
                bytes.cut(at: Array(stride(from: size, to: bytes.count, by: size))))
            #expect(failure == nil && sink.events == events, "reads of \(size) bytes")
        }
    }

    @Test("says whether plain bytes follow INFO, as TLS must not begin then")
    func trailingBytes() {
        #expect(ProtocolDecoder.read("INFO {}\r\n").sink.trailing == [false])
        #expect(ProtocolDecoder.read("INFO {}\r\nP").sink.trailing == [true])
        #expect(ProtocolDecoder.read([Array("INF".utf8), Array("O {}\r\n".utf8)]).sink.trailing == [false])
        #expect(ProtocolDecoder.read([Array("INF".utf8), Array("O {}\r\nPING\r\n".utf8)]).sink.trailing == [true])
    }
}
