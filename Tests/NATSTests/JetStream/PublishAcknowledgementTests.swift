import NIOCore
import Testing

@testable import NATS

@Suite("Acknowledgement of a publish")
struct PublishAcknowledgementTests {
    private func read(_ text: String) throws(NATSError) -> PublishAcknowledgement {
        try PublishAcknowledgement(
            NATSMessage(subject: "s", reply: nil, content: ByteBuffer(string: text), headerLength: 0))
    }

    @Test(
        "the usual form reads as the general one, with the blanks of old servers too",
        arguments: [0, 1, 9, 10, 123_456_789, ServerNumber.limit])
    func forms(sequence: UInt64) throws {
        let expected = PublishAcknowledgement(stream: "ST-1_x", sequence: sequence)
        for text in [
            "{\"stream\":\"ST-1_x\",\"seq\":\(sequence)}", "{\"stream\":\"ST-1_x\", \"seq\":\(sequence)}",
            "{\"stream\":\"ST-1_x\", \"seq\": \(sequence)}", "{ \"stream\" : \"ST-1_x\" , \"seq\" : \(sequence) }",
            "{\"seq\":\(sequence),\"stream\":\"ST-1_x\"}", "{\"stream\":\"ST\\u002D1_x\",\"seq\":\(sequence)}",
            "{\"stream\":\"ST-1_x\",\"seq\":\(sequence)} ",
            "{\"stream\":\"ST-1_x\",\"seq\":\(sequence),\"domain\":\"D\"}",
            "{\"type\":\"x\",\"stream\":\"ST-1_x\",\"seq\":\(sequence)}",
        ] { #expect(try read(text) == expected, "\(text)") }
    }

    @Test("duplicates are reported")
    func duplicates() throws {
        let expected = PublishAcknowledgement(stream: "S", sequence: 7, isDuplicate: true)
        #expect(try read("{\"stream\":\"S\",\"seq\":7,\"duplicate\":true}") == expected)
        #expect(try read("{\"stream\":\"S\", \"seq\":7,\"duplicate\": true}") == expected)
        #expect(try !read("{\"stream\":\"S\",\"seq\":7,\"duplicate\":false}").isDuplicate)
    }

    @Test("a refusal is thrown with the server's codes")
    func refusals() {
        let failure = JetStreamFailure(
            code: 400, errorCode: JetStreamFailure.wrongLastSequence, text: "wrong last sequence: 3")
        #expect(throws: NATSError.jetStream(failure)) {
            try read(
                "{\"error\":{\"code\":400,\"err_code\":10071,\"description\":\"wrong last sequence: 3\"},\"stream\":\"S\",\"seq\":0}"
            )
        }
        #expect(throws: NATSError.jetStream(JetStreamFailure(code: 500, errorCode: 0, text: "no reason given"))) {
            try read("{\"error\":{}}")
        }
    }

    @Test(
        "anything else is a broken protocol",
        arguments: [
            "", "+OK", "{}", "[]", "{\"stream\":\"S\"}", "{\"seq\":1}", "{\"stream\":\"S\",\"seq\":-1}",
            "{\"stream\":\"S\",\"seq\":}", "{\"stream\":\"S\",\"seq\":1", "{\"stream\":\"S\",\"seq\":1x}",
            "{\"stream\":\"S\",\"seq\":99999999999999999999}", "{\"stream\":\"S\",\"seq\":18446744073709551615}",
            "{\"stream\":\"S\",\"seq\":4611686018427387904}", "{\"stream\":\"S", "{\"stream\":\"",
            "hello, this is no JSON",
            "{\"stream\":\"S\",\"seq\":1}}",
        ])
    func others(text: String) {
        #expect {
            try read(text)
        } throws: { error in
            if case NATSError.protocolViolation = error { true } else { false }
        }
    }

    @Test("survives every truncation of every form")
    func truncations() {
        for text in [
            "{\"stream\":\"STREAM\",\"seq\":123}", "{\"stream\":\"STREAM\", \"seq\": 123,\"duplicate\": true}",
        ] {
            for count in 0..<text.count { #expect(throws: NATSError.self) { try read(String(text.prefix(count))) } }
        }
    }
}
