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

    @Test("survives 8,000 mutations of a valid transcript", .processorBound, arguments: [11 as UInt64, 12])
    func mutations(seed: UInt64) async {
        let block = "NATS/1.0\r\nA: 1\r\n\r\n"
        let text =
            "INFO {\"a\":1}\r\nMSG a.b 7 r 5\r\nhello\r\nHMSG h 8 \(block.utf8.count) \(block.utf8.count + 2)\r\n\(block)ok\r\n"
            + "PING\r\nMSG c 9  0\r\n\r\n-ERR 'x'\r\n+OK\r\nPONG\r\n"
        let original = Array(text.utf8)
        var generator = SeededGenerator(seed)
        var refused = 0
        for round in 0..<4_000 {
            if round % 100 == 0 { await Task.yield() }
            var bytes = original
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<5, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(UInt8.random(in: 0x20...0x39, using: &generator), at: place)
                case 3: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                default: bytes.removeSubrange(place..<min(bytes.count, place + 7))
                }
            }
            let whole = ProtocolDecoder.read([bytes])
            let cut = ProtocolDecoder.read(
                bytes.cut(at: [
                    Int.random(in: 0...bytes.count, using: &generator),
                    Int.random(in: 0...bytes.count, using: &generator),
                ]))
            if whole.failure != nil { refused += 1 }
            guard whole.sink.events == cut.sink.events, (whole.failure == nil) == (cut.failure == nil) else {
                Issue.record(
                    "a cut changes what is found in \(String(decoding: bytes, as: UTF8.self).debugDescription)")
                return
            }
        }
        #expect(refused > 0)
    }
}
