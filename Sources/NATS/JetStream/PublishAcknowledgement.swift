import NIOCore
import Platform

/// The server's confirmation that a message is stored. It does not name the message: that follows from the request.
public struct PublishAcknowledgement: Sendable, Hashable {
    /// The stream that stored it.
    public var stream: String
    /// Its sequence there; for a duplicate, that of the original.
    public var sequence: UInt64
    /// Whether the stream knew the message's id already and stored nothing new.
    public var isDuplicate: Bool

    /// Creates an acknowledgement.
    public init(stream: String, sequence: UInt64, isDuplicate: Bool = false) {
        self.stream = stream
        self.sequence = sequence
        self.isDuplicate = isDuplicate
    }

    /// Parses an answer: the usual form by hand, everything else as JSON.
    init(_ message: NATSMessage) throws(NATSError) {
        let quick = message.payload.withUnsafeReadableBytes { Self.quick($0) }
        if let quick {
            self = quick
            return
        }
        let reply: Reply = try APIReply.decode(message)
        guard let stream = reply.stream, let sequence = reply.seq?.value else {
            throw .protocolViolation("a publish was answered by something else")
        }
        self.init(stream: stream, sequence: sequence, isDuplicate: reply.duplicate ?? false)
    }

    static func read(_ answer: Result<NATSMessage, NATSError>) -> Result<PublishAcknowledgement, NATSError> {
        answer.flatMap { message in Result { () throws(NATSError) in try PublishAcknowledgement(message) } }
    }

    private struct Reply: Decodable {
        var stream: String?
        var seq: ServerNumber?
        var duplicate: Bool?
    }

    /// `{"stream":"S","seq":n}`, with or without a blank after the comma, and nothing else.
    private static func quick(_ bytes: UnsafeRawBufferPointer) -> PublishAcknowledgement? {
        let opening: StaticString = "{\"stream\":\""
        guard bytes.count > opening.utf8CodeUnitCount + 10, bytes.count < 400 else { return nil }
        for index in 0..<opening.utf8CodeUnitCount where bytes[index] != opening.utf8Start[index] { return nil }
        var position = opening.utf8CodeUnitCount
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            if bytes[position] == UInt8(ascii: "\\") { return nil }
            position += 1
        }
        let stream = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
        position += 1
        guard position < bytes.count, bytes[position] == UInt8(ascii: ",") else { return nil }
        position += 1
        if position < bytes.count, bytes[position] == 0x20 { position += 1 }
        let middle: StaticString = "\"seq\":"
        guard position + middle.utf8CodeUnitCount < bytes.count else { return nil }
        for index in 0..<middle.utf8CodeUnitCount where bytes[position + index] != middle.utf8Start[index] {
            return nil
        }
        position += middle.utf8CodeUnitCount
        if position < bytes.count, bytes[position] == 0x20 { position += 1 }
        var sequence: UInt64 = 0
        let digits = position
        while position < bytes.count, position - digits < 19 {
            let digit = bytes[position] &- UInt8(ascii: "0")
            guard digit <= 9 else { break }
            sequence = sequence &* 10 &+ UInt64(digit)
            position += 1
        }
        guard position > digits, position == bytes.count - 1, bytes[position] == UInt8(ascii: "}") else { return nil }
        guard sequence <= ServerNumber.limit else { return nil }
        return PublishAcknowledgement(stream: String(decoding: stream, as: UTF8.self), sequence: sequence)
    }
}

/// Receives the outcomes of messages that a stream was asked to store.
public protocol StorageObserver: AnyObject, Sendable {
    /// The answer for one message, with its id and tag; called on the connection's event loop. `timeout` means that the
    /// server had the message for this long: a slow link does not cause it.
    func answered(_ id: String, tag: UInt64, _ result: Result<PublishAcknowledgement, NATSError>)
}

extension JetStream {
    /// Publishes and waits until a stream has stored the message. An id makes a repeated publish harmless within the
    /// stream's duplicate window.
    ///
    /// - Throws: `noResponders` if no stream stores the subject; `timeout` leaves open whether the message was stored,
    ///   so repeat it with the same id.
    public func publish(
        _ payload: ByteBuffer, to subject: String, messageID: String? = nil, headers: NATSHeaders? = nil
    ) async throws(NATSError) -> PublishAcknowledgement {
        let reply = try await connection.request(
            payload, to: subject, headers: Self.headers(headers, messageID), timeout: timeout)
        return try PublishAcknowledgement(reply)
    }

    /// Sends a message at once, in order, and reports later: the form for callers that count messages in flight.
    /// `answered` is called once, on the connection's event loop. `timeout` means that the server had the message for
    /// this long: a slow link does not cause it.
    ///
    /// - Throws: The reason why the message was not sent; `answered` is then not called.
    public func send(
        _ payload: ByteBuffer, to subject: String, messageID: String? = nil, headers: NATSHeaders? = nil,
        answered: @escaping @Sendable (Result<PublishAcknowledgement, NATSError>) -> Void
    ) throws(NATSError) {
        guard Subject.isPublishable(subject) else { throw .invalidSubject(subject) }
        if headers == nil, let messageID, NATSHeaders.isWritable(value: messageID) {
            let asker = RequestTable.Asker.message { answered(PublishAcknowledgement.read($0)) }
            return try connection.requestStorage(
                payload, to: subject, messageID: messageID, timeout: timeout, for: asker)
        }
        let block = try Self.headers(headers, messageID).flatMap { headers throws(NATSError) in try headers.block() }
        try connection.request(payload, to: subject, block: block, timeout: timeout, isPatient: true) {
            answered(PublishAcknowledgement.read($0))
        }
    }

    /// Sends bytes at once, in order, and reports to an observer later: the form for very many messages. The connection
    /// retains the observer, which is told once about each message, by `id` (`messageID` by default) and tag.
    ///
    /// - Throws: The reason why the message was not sent; the observer is then not called.
    public func send(
        _ payload: [UInt8], to subject: String, messageID: String, id: String? = nil, tag: UInt64,
        observer: any StorageObserver
    ) throws(NATSError) {
        guard Subject.isPublishable(subject) else { throw .invalidSubject(subject) }
        guard NATSHeaders.isWritable(value: messageID) else {
            throw .invalidArgument("A message identifier cannot contain a line break.")
        }
        try connection.requestStorage(
            payload, to: subject, messageID: messageID, timeout: timeout,
            for: .storage(observer, id: id ?? messageID, tag: tag))
    }

    static func headers(_ headers: NATSHeaders?, _ messageID: String?) -> NATSHeaders? {
        guard let messageID else { return headers }
        var headers = headers ?? NATSHeaders()
        headers["Nats-Msg-Id"] = messageID
        return headers
    }
}
