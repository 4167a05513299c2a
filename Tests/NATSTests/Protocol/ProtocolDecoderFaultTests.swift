import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Decoder against a peer that breaks the protocol")
struct ProtocolDecoderFaultTests {
    private static func isViolation(_ error: NATSError?) -> Bool {
        if case .protocolViolation = error { true } else { false }
    }

    @Test(
        "refuses a malformed frame with a typed error, however it is cut",
        arguments: [
            "MSG a 1 -1\r\n", "MSG a 1 99999999999999999999999\r\n", "MSG a 1 999999999999999999\r\n",
            "MSG a 1 67108865\r\n", "MSG a 1 x\r\nabc\r\n", "MSG a x 3\r\nabc\r\n", "MSG a -1 3\r\nabc\r\n",
            "MSG a 1 3\r\nabcd\r\n", "MSG a 1 3\r\nabc\n\n", "MSG a 1 4\r\nabc\r\nPING\r\n", "MSG a 1\r\n",
            "MSG a\r\n", "MSG  \r\n", "MSG a 1 r 3 extra\r\n", "MSG a 1 r 3 extra more words\r\n", "HMSG a 1 12\r\n",
            "HMSG a 1 13 12\r\nNATS/1.0\r\n\r\n\r\n", "HMSG a 1 -1 12\r\n", "HMSG a 1 r 12 12 12\r\n",
            "HMSG a 1 99999999999999999999 99999999999999999999\r\n", "HELLO\r\n", "GET / HTTP/1.1\r\n",
            "HTTP/1.1 400 Bad Request\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}\u{1}\u{2}\r\n", "+\r\n", "-E\r\n",
        ])
    func malformed(text: String) {
        let bytes = Array(text.utf8)
        for place in 0...bytes.count {
            let (_, failure) = ProtocolDecoder.read(bytes.cut(at: [place]))
            #expect(Self.isViolation(failure), "cut at \(place): \(String(describing: failure))")
        }
    }

    @Test("takes what came before a malformed frame")
    func framesBefore() {
        let (sink, failure) = ProtocolDecoder.read("PING\r\nMSG a 1 1\r\nx\r\nNONSENSE\r\nPONG\r\n")
        #expect(Self.isViolation(failure))
        #expect(
            sink.events == [.ping, .message(sid: 1, subject: "a", reply: nil, headerLength: 0, content: [0x78])])
    }

    @Test("refuses a line without an end before it has grown beyond 1 MiB", arguments: [1_000, 65_536, 2 << 20])
    func endlessLine(size: Int) {
        var decoder = ProtocolDecoder()
        let sink = RecordingSink()
        let chunk = ByteBuffer(repeating: UInt8(ascii: "x"), count: size)
        var sent = 0
        var failure: NATSError?
        while failure == nil, sent <= 4 << 20 {
            sent += size
            do throws(NATSError) { try decoder.decode(chunk, into: sink) } catch { failure = error }
        }
        #expect(Self.isViolation(failure))
        #expect(sent <= ProtocolDecoder.maximumControlLine + 2 * size)
        #expect(sink.events.isEmpty)
    }

    @Test("shows no control character of the peer in its error")
    func printableError() throws {
        let failure = try #require(ProtocolDecoder.read("\u{1B}[31mred\u{7}\r\n").failure)
        #expect(!failure.description.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
    }
}
