import NATS
import Relay
import Testing

@Suite struct PayloadTests {
    private static let moment = Timestamp(milliseconds: 1_763_719_262_345)

    @Test("B34: everything that an envelope holds is read, in its order, unknown and repeated keys included")
    func envelope() {
        let stored: MessageMap = [
            "trace": ["hop": 2], "client_id": "ios_1", "id": "1", "room": "chat.lobby", "message": "hi",
            "start": 1_763_719_262, "trace": nil,
        ]
        #expect(MessageMap(payload: MessagePack.encode(.map(stored))) == stored)
        let sent = Envelope(
            clientID: "ios_1", id: "1", room: "chat.lobby", message: ["text": "hi"], start: Self.moment,
            unknown: [.init(key: "later", value: [1, 2.5]), .init(key: 7, value: true)])
        var expected: MessageMap = [
            "client_id": "ios_1", "id": "1", "room": "chat.lobby", "message": ["text": "hi"],
            "start": 1_763_719_262_345, "later": [1, 2.5],
        ]
        expected.entries.append(MessageMap.Entry(key: 7, value: true))
        #expect(MessageMap(payload: sent.encoded()) == expected)
    }

    @Test("B34: a binary message that holds JSON is that JSON, and other binary values stay what they are")
    func binary() {
        let json = Array(#"{"b":1}"#.utf8)
        let stored: MessageMap = ["message": .binary(json), "other": .binary(json), "room": "r"]
        let expected: MessageMap = ["message": ["b": 1], "other": .binary(json), "room": "r"]
        #expect(MessageMap(payload: MessagePack.encode(.map(stored))) == expected)
        let opaque: MessageMap = ["message": .binary([0xFF])]
        #expect(MessageMap(payload: MessagePack.encode(.map(opaque))) == opaque)
    }

    @Test("B34: a JSON object is read as it is, and a map needs no message")
    func foreign() {
        let object: MessageMap = ["n": 1.5, "message": ["a": nil]]
        #expect(MessageMap(payload: Array(#" {"n":1.5,"message":{"a":null}}"#.utf8)) == object)
        #expect(MessageMap(payload: Array("{}".utf8)) == MessageMap())
        let ping: MessageMap = ["kind": "ping"]
        #expect(MessageMap(payload: MessagePack.encode(.map(ping))) == ping)
    }

    @Test(
        "A payload of another kind holds no map",
        arguments: [
            [], [0xC1, 0xFF], [0x81], Array("hello".utf8), Array("[1]".utf8), Array("5".utf8), Array(#"{"a":1"#.utf8),
            Array("  ".utf8), MessagePack.encode([1, 2]), MessagePack.encode("text"), [0x81, 0xA1, 0x61, 0x01, 0x00],
        ] as [[UInt8]])
    func other(_ payload: [UInt8]) {
        #expect(MessageMap(payload: payload) == nil)
    }

    @Test("Whatever an envelope can be read from has its map")
    func random() throws {
        var random = SeededGenerator(seed: 11)
        for number in 0..<300 {
            let envelope = Envelope(
                id: "\(number)", room: "r", message: random.value(), start: Self.moment,
                unknown: [.init(key: .string(random.text()), value: random.value())])
            let bytes = envelope.encoded()
            let read = try Envelope(decoding: bytes)
            let map = try #require(MessageMap(payload: bytes))
            #expect(map["message"] == read.message)
            #expect(map.count == 5)
        }
    }
}
