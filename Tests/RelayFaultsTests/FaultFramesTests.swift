import NIOCore
import Testing

@testable import RelayFaults

@Suite("Faults: what happens to single messages")
struct FaultFramesTests {
    private static let ping = "PING\r\n"
    private static let reply = "MSG _INBOX.a 1 3\r\nack\r\n"
    private static let first = "MSG room.a 2 $JS.ACK.s.c.1 5\r\nM\r\nSG\r\n"
    private static let second = "HMSG room.b 2 12 15\r\nNATS/1.0\r\n\r\nabc\r\n"
    private static let third = "MSG room.c 2 0\r\n\r\n"

    /// What comes out of texts that are read in pieces of so many bytes, some messages struck before.
    private func passed(
        _ texts: String..., in length: Int = .max, striking faults: FaultProxy.MessageFault...
    ) -> String {
        var frames = FaultFrames()
        for fault in faults { frames.strike(fault) }
        var (bytes, out) = (ByteBuffer(string: texts.joined()), ByteBuffer())
        while let piece = bytes.readSlice(length: min(length, bytes.readableBytes)), piece.readableBytes > 0 {
            out.writeImmutableBuffer(frames.pass(piece))
        }
        out.writeImmutableBuffer(frames.end())
        return String(buffer: out)
    }

    @Test("However frames are read, each passes as it came", arguments: [1, 2, 3, 7, 20, 10_000])
    func passing(length: Int) {
        let text = "INFO {\"a\":1}\r\n\(Self.ping)\(Self.reply)\(Self.first)+OK\r\n\(Self.second)\(Self.third)PONG\r\n"
        #expect(passed(text, in: length) == text)
        var frames = FaultFrames()
        // Nothing is held that no fault waits for.
        #expect(String(buffer: frames.pass(ByteBuffer(string: "MSG room"))) == "MSG room")
        #expect(String(buffer: frames.pass(ByteBuffer(string: ".a 1 5\r\nab"))) == ".a 1 5\r\nab")
    }

    @Test(
        "The next message is doubled, dropped, or comes behind the one after it; what lies between passes",
        arguments: [1, 2, 5, 10_000])
    func striking(length: Int) {
        let (ping, reply, first, second, third) = (Self.ping, Self.reply, Self.first, Self.second, Self.third)
        #expect(
            passed(reply, ping, first, second, in: length, striking: .duplicate) == reply + ping + first + first
                + second)
        #expect(passed(ping, first, ping, second, in: length, striking: .drop) == ping + ping + second)
        #expect(
            passed(first, reply, ping, second, third, in: length, striking: .reorder)
                == reply + ping + second + first + third)
        #expect(
            passed(second, first, third, in: length, striking: .drop, .duplicate) == first + first + third)
        // Where none comes behind it, it comes at the end.
        #expect(passed(first, ping, in: length, striking: .reorder) == ping + first)
    }

    @Test("What a client publishes with an identifier is a message too, and what it asks for is none")
    func publishing() {
        let own = "PUB $JS.API.INFO _INBOX.1 0\r\n\r\nHPUB net.API.INFO _INBOX.2 12 14\r\nNATS/1.0\r\n\r\nhi\r\n"
        let line = "HPUB room.a _INBOX.3 28 30\r\nNATS/1.0\r\nNats-Msg-Id: a\r\n\r\nhi\r\n"
        let connect = "CONNECT {}\r\n"
        for length in [1, 3, 1_000] {
            #expect(passed(connect, own, line, in: length, striking: .duplicate) == connect + own + line + line)
        }
    }

    @Test("A message whose beginning has passed already is left alone, and the next one struck")
    func begun() {
        var frames = FaultFrames()
        var out = frames.pass(ByteBuffer(string: "MSG room.a 1 2\r\na"))
        frames.strike(.drop)
        out.writeImmutableBuffer(frames.pass(ByteBuffer(string: "b\r\n\(Self.second)\(Self.third)")))
        #expect(String(buffer: out) == "MSG room.a 1 2\r\nab\r\n\(Self.third)")
        #expect(frames.struck == 1)
    }

    @Test("What is no frame passes, and nothing is held of it")
    func strange() {
        #expect(passed("INFO {}\r\n", "\u{16}\u{3}\u{1}", Self.first, striking: .drop).hasSuffix(Self.first))
        #expect(passed("MSG room.a 1 99999999999999999999\r\n", Self.ping, striking: .drop).hasSuffix(Self.ping))
        #expect(passed("MSG room.a 1 -5\r\n", Self.first, striking: .drop) == "MSG room.a 1 -5\r\n")
    }
}
