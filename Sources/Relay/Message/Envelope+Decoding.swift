extension Envelope {
    /// Decodes a payload.
    ///
    /// `message` is required; a binary `message` that contains a JSON document becomes that document (the form of
    /// RelayX's Swift SDK), any other binary stays binary, and a string stays a string whatever it looks like. `start`
    /// may count seconds or milliseconds. If `id`, `room` or `start` is absent or of an unusable type, the caller's
    /// fallback replaces it, such as the stream sequence, the subject's topic or the server's time. Of a repeated key
    /// the last entry counts.
    ///
    /// - Throws: ``EnvelopeError``; ``EnvelopeError/missing(_:)`` for a missing value without a fallback.
    public init(
        decoding payload: some Collection<UInt8>, fallbackID: String? = nil, fallbackRoom: String? = nil,
        fallbackStart: Timestamp? = nil
    ) throws(EnvelopeError) {
        self = try payload.withRawBytes { bytes throws(EnvelopeError) -> Envelope in
            var fields = EnvelopeFields()
            try fields.read(bytes)
            guard let message = fields.message else { throw .missing("message") }
            guard let id = fields.id ?? fallbackID else { throw .missing("id") }
            guard let room = fields.room?.string ?? fallbackRoom else { throw .missing("room") }
            guard let start = fields.start ?? fallbackStart else { throw .missing("start") }
            return Envelope(
                clientID: fields.clientID?.string, id: id, room: room, message: Envelope.opened(message), start: start,
                unknown: fields.unknown)
        }
    }

    /// The JSON in a binary message; any other message as it is.
    static func opened(_ message: MessageValue) -> MessageValue {
        guard case .binary(let data) = message, let json = try? JSONText.parse(bytes: data) else { return message }
        return json
    }
}

extension MessageContent {
    /// The content of the envelope in a payload; nil if it cannot be decoded.
    init?(envelope payload: some Collection<UInt8>) {
        let message = payload.withRawBytes { bytes -> MessageValue? in
            var fields = EnvelopeFields()
            do throws(EnvelopeError) { try fields.read(bytes) } catch { return nil }
            return fields.message
        }
        guard let message else { return nil }
        self.init(Envelope.opened(message))
    }
}

extension TopicMessage {
    /// Decodes the envelope in a payload as ``Envelope`` does, without the parts that a message does not need: hundreds
    /// of thousands a second pass here. An empty payload is an empty message, which anyone may publish.
    ///
    /// - Throws: ``EnvelopeError``.
    init(
        decoding bytes: UnsafeRawBufferPointer, topic: String, sequence: UInt64, time: Timestamp, isRecovered: Bool,
        payload: MessageMap? = nil
    ) throws(EnvelopeError) {
        guard !bytes.isEmpty else {
            self.init(
                id: Self.id(ofSequence: sequence), topic: topic, sequence: sequence, from: nil, text: "",
                message: .null, time: time, sentAt: time, isRecovered: isRecovered, payload: payload)
            return
        }
        var fields = EnvelopeFields()
        try fields.read(bytes)
        guard let sent = fields.message else { throw .missing("message") }
        let message = Envelope.opened(sent)
        let content = MessageContent(message)
        self.init(
            id: fields.id ?? Self.id(ofSequence: sequence), topic: topic, sequence: sequence,
            from: content.sender ?? fields.clientID?.string, text: content.text, message: message, time: time,
            sentAt: fields.start ?? time, isRecovered: isRecovered, payload: payload)
    }

    /// The identifier of a message that arrived without one.
    static func id(ofSequence sequence: UInt64) -> String { "sequence-\(sequence)" }
}

/// The entries of an envelope's map by name. Valid as long as the payload's bytes are.
private struct EnvelopeFields {
    /// Text that becomes a string on demand.
    enum Text {
        case ascii(UnsafeRawBufferPointer)
        case string(String)

        var string: String {
            switch self {
            case .ascii(let bytes): String(decoding: bytes, as: UTF8.self)
            case .string(let string): string
            }
        }
    }

    var clientID: Text?
    var id: String?
    var room: Text?
    var message: MessageValue?
    var start: Timestamp?
    var unknown: [MessageMap.Entry] = []

    mutating func read(_ payload: UnsafeRawBufferPointer) throws(EnvelopeError) {
        let isMap: Bool
        do throws(MessageCodingError) { isMap = try readEntries(payload) } catch { throw .malformed(error) }
        guard isMap else { throw .notAMap }
    }

    /// - Returns: False if the payload is no map.
    private mutating func readEntries(_ payload: UnsafeRawBufferPointer) throws(MessageCodingError) -> Bool {
        var reader = try MessagePackReader(payload)
        guard let count = try reader.mapHeader() else {
            _ = try reader.value()
            try reader.finish()
            return false
        }
        for _ in 0..<count {
            let start = reader.offset
            let name = try reader.shortText().flatMap(Name.init(bytes:))
            guard let name else {
                reader.rewind(to: start)
                let key = try reader.value(depth: 1)
                try unknown.append(MessageMap.Entry(key: key, value: reader.value(depth: 1)))
                continue
            }
            switch name {
            case .clientID: clientID = try Self.text(&reader)
            case .id: id = EnvelopeFields.identifier(try reader.value(depth: 1))
            case .room: room = try Self.text(&reader)
            case .message: message = try reader.value(depth: 1)
            case .start: self.start = EnvelopeFields.moment(try reader.value(depth: 1))
            }
        }
        try reader.finish()
        return true
    }

    /// The next value if it is text, else nil.
    private static func text(_ reader: inout MessagePackReader) throws(MessageCodingError) -> Text? {
        if let ascii = try reader.asciiText() { return .ascii(ascii) }
        return try reader.value(depth: 1).stringValue.map { .string($0) }
    }

    /// The known keys of an envelope.
    private enum Name {
        case clientID, id, room, message, start

        init?(bytes: UnsafeRawBufferPointer) {
            switch bytes.count {
            case 2 where Self.equal(bytes, "id"): self = .id
            case 4 where Self.equal(bytes, "room"): self = .room
            case 5 where Self.equal(bytes, "start"): self = .start
            case 7 where Self.equal(bytes, "message"): self = .message
            case 9 where Self.equal(bytes, "client_id"): self = .clientID
            default: return nil
            }
        }

        @inline(__always)
        private static func equal(_ bytes: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
            for index in bytes.indices where bytes[index] != name.utf8Start[index] { return false }
            return true
        }
    }

    private static func identifier(_ value: MessageValue) -> String? {
        switch value {
        case .string(let text): text.isEmpty ? nil : text
        case .int(let number): String(number)
        case .unsigned(let number): String(number)
        default: nil
        }
    }

    private static func moment(_ value: MessageValue) -> Timestamp? {
        switch value {
        case .int(let number): return Timestamp(secondsOrMilliseconds: number)
        case .double(let number): return Timestamp(secondsOrMilliseconds: number)
        case .timestamp(let seconds, let nanoseconds):
            let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
            let (moment, carry) = milliseconds.addingReportingOverflow(Int64(nanoseconds / 1_000_000))
            return overflow || carry ? nil : Timestamp(milliseconds: moment)
        case .string(let text): return Timestamp(iso8601: text)
        default: return nil
        }
    }
}
