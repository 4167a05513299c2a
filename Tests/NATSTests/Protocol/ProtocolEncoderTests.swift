import NIOCore
import Platform
import Testing

@testable import NATS

@Suite("Encoder of the client's operations")
struct ProtocolEncoderTests {
    private func written(_ write: (inout ByteBuffer) -> Void) -> String {
        var buffer = ByteBuffer()
        write(&buffer)
        return String(buffer: buffer)
    }

    @Test("writes PUB", arguments: [0, 1, 9, 10, 99, 100, 12_345, 1_000_000])
    func publish(size: Int) {
        let payload = ByteBuffer(repeating: UInt8(ascii: "p"), count: size)
        let body = String(repeating: "p", count: size)
        #expect(
            written { ProtocolEncoder.writePublish(payload, subject: "a.b", reply: nil, into: &$0) }
                == "PUB a.b \(size)\r\n\(body)\r\n")
        #expect(
            written { ProtocolEncoder.writePublish(payload, subject: "a.b", reply: "_INBOX.1", into: &$0) }
                == "PUB a.b _INBOX.1 \(size)\r\n\(body)\r\n")
    }

    @Test("writes HPUB with the length of the headers and of all")
    func publishWithHeaders() {
        var block = ByteBuffer()
        (["A": "1", "Ü": "ö"] as NATSHeaders).write(into: &block)
        let size = block.readableBytes
        let text = String(buffer: block)
        #expect(text == "NATS/1.0\r\nA: 1\r\nÜ: ö\r\n\r\n")
        let payload = ByteBuffer(string: "body")
        #expect(
            written { ProtocolEncoder.writePublish(payload, headers: block, subject: "s", reply: nil, into: &$0) }
                == "HPUB s \(size) \(size + 4)\r\n\(text)body\r\n")
        #expect(
            written { ProtocolEncoder.writePublish(payload, headers: block, subject: "s", reply: "r", into: &$0) }
                == "HPUB s r \(size) \(size + 4)\r\n\(text)body\r\n")
    }

    @Test("writes a message for a stream in one go as it would write it from its parts")
    func publishWithID() throws {
        let table = RequestTable(inbox: "_INBOX.x")
        let token = try table.add(subject: "s", deadline: .distantFuture, for: .message { _ in })
        for (id, text) in [("1", "body"), ("ü-\u{1F600}", ""), (String(repeating: "i", count: 300), "longer text")] {
            let block = try #require(try (["Nats-Msg-Id": id] as NATSHeaders).block())
            let payload = ByteBuffer(string: text)
            let expected = written {
                ProtocolEncoder.writePublish(
                    payload, headers: block, subject: "s.t", reply: table.reply(for: token), into: &$0)
            }
            for isArray in [true, false] {
                let direct = written { buffer in
                    if isArray {
                        ProtocolEncoder.writePublish(
                            Array(text.utf8), messageID: id, subject: "s.t", stem: table.stem, token: token,
                            into: &buffer)
                    } else {
                        ProtocolEncoder.writePublish(
                            payload, messageID: id, subject: "s.t", stem: table.stem, token: token, into: &buffer)
                    }
                }
                #expect(direct == expected)
            }
        }
    }

    @Test("writes subjects beyond ASCII by their bytes")
    func otherText() {
        // A string made of a lazy sequence is not contiguous UTF-8 storage on every platform.
        let subject = String("grüße.日本".reversed().reversed())
        #expect(
            written { ProtocolEncoder.writePublish(ByteBuffer(string: "é"), subject: subject, reply: nil, into: &$0) }
                == "PUB grüße.日本 2\r\né\r\n")
    }

    @Test("writes SUB and UNSUB")
    func subscribe() {
        #expect(
            written { ProtocolEncoder.writeSubscribe(subject: "a.>", queue: nil, sid: 3, into: &$0) } == "SUB a.> 3\r\n"
        )
        #expect(
            written { ProtocolEncoder.writeSubscribe(subject: "a.*", queue: "q", sid: 3, into: &$0) }
                == "SUB a.* q 3\r\n")
        #expect(written { ProtocolEncoder.writeUnsubscribe(sid: 3, after: nil, into: &$0) } == "UNSUB 3\r\n")
        #expect(written { ProtocolEncoder.writeUnsubscribe(sid: 3, after: 5, into: &$0) } == "UNSUB 3 5\r\n")
    }

    @Test("logs in with every choice stated, as the server's defaults differ")
    func connectLine() {
        var request = ConnectRequest()
        request.token = "t"
        let line = String(decoding: request.line, as: UTF8.self)
        #expect(line.hasPrefix("CONNECT {") && line.hasSuffix("}\r\n"))
        for field in [
            "\"verbose\":false", "\"pedantic\":false", "\"echo\":true", "\"headers\":true", "\"no_responders\":true",
            "\"protocol\":1", "\"tls_required\":false", "\"auth_token\":\"t\"",
        ] {
            #expect(line.contains(field))
        }
        #expect(!line.contains("pass") && !line.contains("jwt") && !line.contains("nkey"))
    }

    @Test("writes a name or password of any characters as JSON")
    func connectTexts() throws {
        var request = ConnectRequest()
        request.name = "a \"name\" \\ with\nall\u{1} — 中😀"
        request.password = "\u{7F}\t/"
        let json = Array(request.line.dropFirst("CONNECT ".utf8.count).dropLast(2))
        #expect(!json.contains { $0 < 0x20 })
        let read = try JSONDecoder().decode([String: JSONValue].self, from: Data(json))
        #expect(read["name"] == .string(request.name ?? "") && read["pass"] == .string(request.password ?? ""))
        #expect(read["protocol"] == .integer(1) && read["user"] == nil)
    }

    @Test("asks for no-responders only where headers are supported, as the server refuses it otherwise")
    func noRespondersNeedHeaders() throws {
        let request = try ConnectRequest(
            options: ConnectOptions(), authentication: .none, nonce: nil, tls: false, headers: false)
        #expect(!request.headers && !request.noResponders)
    }
}
