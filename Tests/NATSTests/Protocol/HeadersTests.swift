import NIOCore
import Testing

@testable import NATS

@Suite("Headers")
struct HeadersTests {
    private func block(_ text: String) -> HeaderBlock { HeaderBlock(ByteBuffer(string: text)) }

    @Test("keeps order, repeated names and the case of names (ADR-4)")
    func values() {
        var headers: NATSHeaders = ["b": "1", "A": "2"]
        headers.append("3", for: "b")
        headers.append("4", for: "B")
        #expect(headers.count == 4)
        #expect(headers["b"] == "1")
        #expect(headers["a"] == nil)
        #expect(headers.values(for: "b") == ["1", "3"])
        #expect(headers.pairs.map(\.name) == ["b", "A", "b", "B"])
        headers["b"] = "5"
        #expect(headers.values(for: "b") == ["5"])
        headers["b"] = nil
        #expect(headers.pairs.map(\.name) == ["A", "B"])
        #expect(NATSHeaders().isEmpty)
    }

    @Test("reads so many fields of a block and no more, whatever it is made of")
    func manyFields() {
        for line in ["a:b\n", "\n", ":\n", "a:\r\n", "x\n"] {
            let block = block("NATS/1.0\r\n" + String(repeating: line, count: (1 << 15) / line.utf8.count) + "\r\n")
            #expect(block.headers.count <= HeaderBlock.maximumFields)
        }
        let many = (0..<5_000).map { "N\($0): \($0)\r\n" }.joined()
        let headers = block("NATS/1.0 100 Idle\r\n\(many)\r\n").headers
        #expect(headers.count == HeaderBlock.maximumFields && headers["N4095"] == "4095" && headers["N4096"] == nil)
    }

    @Test("reads back what it writes")
    func roundTrip() {
        let headers: NATSHeaders = ["A": "1", "B": "with: colon", "C": "ü", "Empty": "", "-x!": "tab\tinside"]
        var buffer = ByteBuffer()
        headers.write(into: &buffer)
        let read = HeaderBlock(buffer)
        #expect(read.status == nil && read.statusText == nil)
        #expect(read.headers == headers)
    }

    struct StatusLine: Sendable {
        var text: String
        var status: Int?
        var words: String?
    }

    @Test(
        "reads the status line",
        arguments: [
            StatusLine(text: "NATS/1.0\r\n\r\n"), StatusLine(text: "NATS/1.0 503\r\n\r\n", status: 503),
            StatusLine(text: "NATS/1.0 404 Message Not Found\r\n\r\n", status: 404, words: "Message Not Found"),
            StatusLine(text: "NATS/1.0  100   Idle Heartbeat \r\n\r\n", status: 100, words: "Idle Heartbeat"),
            StatusLine(text: "NATS/1.0503\r\n\r\n", status: 503), StatusLine(text: "NATS/1.0 xyz\r\n\r\n"),
            StatusLine(text: "NATS/1.0 50"), StatusLine(text: "NATS"), StatusLine(text: ""), StatusLine(text: "\r\n"),
        ])
    func status(line: StatusLine) {
        let read = block(line.text)
        // Two digits are no status code.
        #expect(read.status == line.status || line.text.hasSuffix(" 50"))
        #expect(read.statusText == line.words)
        #expect(read.headers.isEmpty)
    }

    @Test("leaves damaged lines out and keeps the rest")
    func damage() {
        let read = block("NATS/1.0\r\nno colon\r\n: no name\r\nA:1\r\n\r\nB :\t2 \t\r\nC: x\nlast: without end")
        #expect(read.headers["A"] == "1")
        #expect(read.headers.values(for: "C") == ["x"])
        #expect(read.headers["last"] == "without end")
        #expect(!read.headers.pairs.contains { $0.name.isEmpty })
        #expect(!read.headers.pairs.contains { $0.value == "no colon" })
    }

    @Test("survives every truncation and 5,000 mutations of a block")
    func mutations() {
        let original = Array("NATS/1.0 409 Consumer Deleted\r\nA: 1\r\nA: 2\r\nLong-Name: value, ü\r\n\r\n".utf8)
        for count in 0...original.count { _ = HeaderBlock(ByteBuffer(bytes: original.prefix(count))) }
        var generator = SeededGenerator(seed: 5)
        var unchanged = 0
        for _ in 0..<5_000 {
            var bytes = original
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            let read = HeaderBlock(ByteBuffer(bytes: bytes))
            if read.headers.count == 3 { unchanged += 1 }
            #expect(read.headers.count <= 4)
        }
        #expect(unchanged > 0)
    }

    @Test(
        "are writable with any printable value, and not when they would change the frame around them",
        arguments: [
            ("A\r\nB", "x"), ("A", "x\r\nInjected: y"), ("A", "x\n"), ("A", "\r"), ("", "x"), ("a b", "x"),
            ("a:b", "x"), ("ä", "x"), ("a\u{7F}", "x"), ("a\u{0}", "x"), ("A", "x\r\n\r\nPUB other 1\r\n1"),
        ])
    func injection(name: String, value: String) {
        #expect(!([name: value] as NATSHeaders).isWritable)
        for good in ["", " ", "ü", "a:b", "{\"json\":1}", "tab\t"] {
            #expect((["Name-1_x": good] as NATSHeaders).isWritable)
        }
    }

    @Test("a message tells status and headers, and its payload without them")
    func message() {
        let block = "NATS/1.0 503\r\nA: 1\r\n\r\n"
        let message = NATSMessage(
            subject: "s", reply: nil, content: ByteBuffer(string: block + "body"), headerLength: block.utf8.count)
        #expect(message.hasHeaders && message.hasStatusLine)
        #expect(message.status == 503)
        #expect(message.headers["A"] == "1")
        #expect(message.text == "body" && message.bytes == Array("body".utf8))
        let plain = NATSMessage(subject: "s", reply: nil, content: ByteBuffer(string: "body"), headerLength: 0)
        #expect(!plain.hasHeaders && plain.status == nil && plain.headers.isEmpty && plain.text == "body")
    }
}
