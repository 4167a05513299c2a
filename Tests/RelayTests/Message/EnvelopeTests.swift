import NATS
import Testing

@testable import Relay

@Suite struct EnvelopeTests {
    static let moment = Timestamp(milliseconds: 1_763_719_262_345)

    private func decode(_ map: MessageValue) throws(EnvelopeError) -> Envelope {
        try Envelope(decoding: MessagePack.encode(map))
    }

    @Test("B34: every kind of message survives the wire")
    func roundTrip() throws {
        var random = SeededGenerator(seed: 5)
        for number in 0..<1_000 {
            var message = random.value()
            if case .binary = message { message = .null }
            let envelope = Envelope(
                clientID: number % 2 == 0 ? "ios_1" : nil, id: "id-\(number)", room: "chat.lobby", message: message,
                start: Self.moment, unknown: number % 3 == 0 ? [.init(key: "later", value: [1, 2])] : []
            )
            #expect(try Envelope(decoding: envelope.encoded()) == envelope)
        }
    }

    @Test("A line of chat is written as its value in an envelope is")
    func line() {
        for (text, timestamp) in [
            ("hello", Self.moment), ("", nil), (String(repeating: "ü", count: 70_000), Self.moment),
        ] {
            let line = ChatLine(username: "alice", text: text, timestamp: timestamp)
            for clientID in ["ios_1", nil] {
                let envelope = Envelope(
                    clientID: clientID, id: "1", room: "chat.lobby", message: line.value, start: Self.moment)
                let direct = Envelope.encoded(
                    .line(line), clientID: clientID, id: "1", room: "chat.lobby", start: Self.moment)
                #expect(direct == envelope.encoded())
            }
        }
    }

    @Test("B34: a binary that holds JSON is that JSON; any other stays binary; a JSON-looking string stays a string")
    func binaryMessages() throws {
        func message(_ value: MessageValue) throws -> MessageValue {
            try decode(["id": "1", "room": "r", "message": value, "start": 1]).message
        }
        #expect(try message(.binary(Array(#"{"b":1,"a":[2.5]}"#.utf8))) == ["b": 1, "a": [2.5]])
        #expect(try message(.binary([0x00, 0xFF])) == .binary([0x00, 0xFF]))
        #expect(try message(.binary(Array(#"{"b":"#.utf8))) == .binary(Array(#"{"b":"#.utf8)))
        #expect(try message(.binary([])) == .binary([]))
        #expect(try message(#"{"b":1}"#) == #"{"b":1}"#)
        #expect(try message("5") == "5")
        #expect(try message(nil) == nil)
    }

    @Test(
        "A start counts milliseconds or seconds",
        arguments: [
            (1_763_719_262_345, 1_763_719_262_345), (1_763_719_262, 1_763_719_262_000),
            (1_763_719_262.345, 1_763_719_262_345), (1_763_719_262_345.0, 1_763_719_262_345),
            (.timestamp(seconds: 1_763_719_262, nanoseconds: 345_000_000), 1_763_719_262_345),
            ("2025-11-21T10:01:02.345Z", 1_763_719_262_345),
        ] as [(MessageValue, Int64)]
    ) func start(_ value: MessageValue, _ milliseconds: Int64) throws {
        #expect(try decode(["id": "1", "room": "r", "message": 0, "start": value]).start.milliseconds == milliseconds)
    }

    @Test("Absent or unusable fields take the caller's fallbacks, and are errors without")
    func fallbacks() throws {
        let bytes = MessagePack.encode(["message": "hi", "id": "", "room": nil, "start": "soon"])
        let envelope = try Envelope(
            decoding: bytes, fallbackID: "seq-9", fallbackRoom: "chat.lobby", fallbackStart: Self.moment
        )
        #expect(envelope == Envelope(id: "seq-9", room: "chat.lobby", message: "hi", start: Self.moment))
        #expect(throws: EnvelopeError.missing("id")) { try Envelope(decoding: bytes) }
        #expect(throws: EnvelopeError.missing("room")) { try Envelope(decoding: bytes, fallbackID: "1") }
        #expect(throws: EnvelopeError.missing("start")) {
            try Envelope(decoding: bytes, fallbackID: "1", fallbackRoom: "r")
        }
        #expect(throws: EnvelopeError.missing("message")) { try decode(["id": "1"]) }
        #expect(try decode(["id": 7, "room": "r", "message": 0, "start": 1]).id == "7")
    }

    @Test("A payload of another kind has a typed error")
    func foreign() {
        #expect(throws: EnvelopeError.notAMap) { try decode([1, 2]) }
        #expect(throws: EnvelopeError.malformed(.trailingBytes(offset: 1))) {
            try Envelope(decoding: Array("hello".utf8))
        }
        #expect(throws: EnvelopeError.malformed(.truncated(offset: 0))) { try Envelope(decoding: []) }
        #expect(throws: EnvelopeError.malformed(.tooDeep(limit: 64))) {
            try Envelope(decoding: [0x81] + [UInt8](repeating: 0x91, count: 1_000))
        }
    }

    @Test("A chat line is a map with username and text")
    func chatLine() {
        let line = ChatLine(username: "alice", text: "hi", timestamp: Self.moment)
        #expect(line.value == ["username": "alice", "text": "hi", "timestamp": "2025-11-21T10:01:02.345Z"])
        #expect(ChatLine(line.value) == line)
        #expect(ChatLine(["username": "a", "text": "t"])?.timestamp == nil)
        #expect(ChatLine(["username": "a", "text": "t", "timestamp": 1_763_719_262_345])?.timestamp == Self.moment)
        #expect(ChatLine(["username": "a", "text": 1]) == nil)
        #expect(ChatLine(["text": "t"]) == nil)
        #expect(ChatLine("hi") == nil)
    }

    @Test("A topic message shows a chat line's text, a bare string, or JSON")
    func topicMessage() {
        func shown(_ message: MessageValue, client: String? = nil) -> TopicMessage {
            let envelope = Envelope(clientID: client, id: "1", room: "r", message: message, start: Self.moment)
            return Self.message(envelope, time: Timestamp(milliseconds: 5))
        }
        #expect(shown(["username": "bob", "text": "hello"]).text == "hello")
        #expect(shown(["username": "bob", "text": "hello"], client: "c").from == "bob")
        #expect(shown("plain", client: "c").from == "c")
        #expect(shown("plain").text == "plain")
        #expect(shown([1, ["a": nil]]).text == #"[1,{"a":null}]"#)
        #expect(shown(nil).text == "null")
        #expect(shown("x").sequence == 4 && shown("x").sentAt == Self.moment && shown("x").from == nil)
    }

    @Test(
        "A topic message is read from a payload as its envelope is, or not at all, cut anywhere and with any byte changed"
    )
    func topicMessageDecoding() throws {
        let long = String(repeating: "client", count: 50)
        var payloads: [[UInt8]] = []
        for map: MessageValue in [
            ["client_id": "ios_1", "id": "1", "room": "chat.lobby", "message": "hi", "start": 1_763_719_262_345],
            ["client_id": "zoë", "id": "1", "room": "chät", "message": ["username": "bob", "text": "hi"], "x": 1],
            ["client_id": .string(long), "room": 7, "message": nil, "start": "2025-11-21T10:01:02Z"],
            ["client_id": "first", "message": "x", "client_id": 2, "id": 5, "room": "r", "room": nil],
            ["message": .binary(Array(#"{"username":"bob","text":"hi"}"#.utf8)), "id": "", 9: [true]],
            ["id": "1"], "hello", [:],
        ] { payloads.append(MessagePack.encode(map)) }
        for (number, payload) in payloads.enumerated() {
            try compare(payload, "\(number)")
            // Without a byte it is an empty message, and no envelope.
            for length in 1..<payload.count { try compare(Array(payload[..<length]), "\(number), \(length) bytes") }
            for place in 0..<payload.count {
                for byte: UInt8 in [0x00, 0x80, 0xA1, 0xC1, 0xD9, 0xFF] {
                    var changed = payload
                    changed[place] = byte
                    try compare(changed, "\(number), \(byte) at \(place)")
                }
            }
        }
    }

    /// What an envelope says that was received.
    private static func message(_ envelope: Envelope, time: Timestamp) -> TopicMessage {
        let content = MessageContent(envelope.message)
        return TopicMessage(
            id: envelope.id, topic: "chat.lobby", sequence: 4, from: content.sender ?? envelope.clientID,
            text: content.text, message: envelope.message, time: time, sentAt: envelope.start, isRecovered: true)
    }

    private func compare(_ payload: [UInt8], _ words: Comment) throws {
        let time = Timestamp(milliseconds: 5)
        let envelope = Result<TopicMessage, EnvelopeError> { () throws(EnvelopeError) in
            let envelope = try Envelope(
                decoding: payload, fallbackID: "sequence-4", fallbackRoom: "chat.lobby", fallbackStart: time)
            return Self.message(envelope, time: time)
        }
        let direct = Result<TopicMessage, EnvelopeError> { () throws(EnvelopeError) in
            try payload.withRawBytes { bytes throws(EnvelopeError) in
                try TopicMessage(decoding: bytes, topic: "chat.lobby", sequence: 4, time: time, isRecovered: true)
            }
        }
        #expect(direct == envelope, words)
    }

    private static func message(from name: String, text: String, id: String = "1") throws -> TopicMessage {
        let line: MessageValue = ["username": .string(name), "text": .string(text)]
        let time = Timestamp(milliseconds: 5)
        let payload = Envelope(clientID: "c", id: id, room: "chat.lobby", message: line, start: time).encoded()
        return try payload.withRawBytes { bytes throws(EnvelopeError) in
            try TopicMessage(decoding: bytes, topic: "chat.lobby", sequence: 4, time: time, isRecovered: false)
        }
    }

    @Test("A message is a repetition by its bytes: another spelling of the same letters is another message")
    func spelling() throws {
        let message = try Self.message(from: "zo\u{EB}", text: "caf\u{E9}", id: "\u{E9}")
        #expect(try message.repetition == Self.message(from: "zo\u{EB}", text: "caf\u{E9}", id: "\u{E9}").repetition)
        for other in try [
            Self.message(from: "zo\u{EB}", text: "cafe\u{301}", id: "\u{E9}"),
            Self.message(from: "zoe\u{308}", text: "caf\u{E9}", id: "\u{E9}"),
            Self.message(from: "zo\u{EB}", text: "caf\u{E9}", id: "e\u{301}"),
        ] {
            #expect(message.repetition != other.repetition)
        }
        let map: MessageMap = ["caf\u{E9}": 1]
        #expect(map["cafe\u{301}"] == nil && map["caf\u{E9}"] == 1)
    }

    @Test("Letters with any number of marks hold up no reader, wherever they stand")
    func manyMarks() throws {
        let letter = "e" + String(repeating: "\u{301}\u{316}", count: 200_000)
        let other = try Self.message(from: "bob", text: "hello").repetition
        for message in try [
            Self.message(from: "bob", text: letter), Self.message(from: letter, text: "hello"),
            Self.message(from: "bob", text: "hello", id: letter),
        ] {
            #expect(message.repetition != other)
        }
        let map = MessageMap([.init(key: .string(letter), value: 1)])
        #expect(map["username"] == nil)
    }

    @Test("Maps keep order and repetitions; the last entry under a key counts")
    func maps() {
        var map: MessageMap = ["b": 1, "a": 2, "b": 3]
        #expect(map["b"] == 3 && map.count == 3)
        map["b"] = 4
        map["c"] = 5
        #expect(map == ["b": 1, "a": 2, "b": 4, "c": 5])
        map["b"] = nil
        #expect(map == ["a": 2, "c": 5])
        #expect(MessageValue.map(map)["c"]?.intValue == 5)
        #expect(MessageValue.array([1, 2])[1] == 2)
        #expect(MessageValue.array([1, 2])[2] == nil)
        #expect(MessageValue.integer(5) == .int(5))
    }
}
