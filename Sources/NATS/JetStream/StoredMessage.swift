import NIOCore

/// A message of a stream, with its place in it.
public struct StoredMessage: Sendable {
    /// The subject it was published to.
    public var subject: String
    /// Its place in the stream.
    public var sequence: UInt64
    /// When the stream stored it, by the server's clock.
    public var time: ServerTime
    /// Its headers, read when they are asked for.
    public var headers: NATSHeaders {
        get { ownHeaders ?? delivered?.headers ?? NATSHeaders() }
        set { ownHeaders = newValue }
    }
    /// Its payload.
    public var payload: ByteBuffer
    /// How many matching messages the stream held behind it when it was delivered; nil when not known.
    public var pending: UInt64?
    /// Where an acknowledgement goes, for consumers that expect one.
    public var acknowledgementSubject: String?
    /// How much it counts where bytes are limited: its subjects, headers and payload as they came.
    package var size: Int {
        delivered.map { PullBudget.size(of: $0) } ?? subject.utf8.count + payload.readableBytes
    }
    /// Its number among what its consumer delivered; 0 when read without a consumer.
    var consumerSequence: UInt64 = 0
    /// The headers of a message that no consumer delivered, or that were set.
    private var ownHeaders: NATSHeaders?
    /// What a consumer delivered.
    private var delivered: NATSMessage?

    /// Reads a message that a consumer delivered; nil when its reply subject is not of that kind.
    init?(delivered message: NATSMessage) {
        guard let reply = message.reply, let place = DeliveryPlace(reply) else { return nil }
        subject = message.subject
        sequence = place.streamSequence
        time = ServerTime(nanoseconds: place.time)
        delivered = message
        payload = message.payload
        pending = place.pending
        consumerSequence = place.consumerSequence
        acknowledgementSubject = reply
    }

    init(
        subject: String, sequence: UInt64, time: ServerTime, headers: NATSHeaders, payload: ByteBuffer,
        pending: UInt64? = nil
    ) {
        self.subject = subject
        self.sequence = sequence
        self.time = time
        ownHeaders = headers
        self.payload = payload
        self.pending = pending
    }
}

/// What the reply subject of a delivered message says: 9 tokens, or from 11 on with domain and account.
struct DeliveryPlace: Equatable {
    var streamSequence: UInt64
    var consumerSequence: UInt64
    var time: Int64
    var pending: UInt64

    private static let prefix = "$JS.ACK."

    init?(_ reply: String) {
        var reply = reply
        let parsed = reply.withUTF8 { bytes -> DeliveryPlace? in
            guard bytes.starts(with: Self.prefix.utf8) else { return nil }
            let tokens = bytes.reduce(1) { $1 == UInt8(ascii: ".") ? $0 + 1 : $0 }
            let first: Int
            switch tokens {
            case 9: first = 5
            case 11...: first = 7
            default: return nil
            }
            var position = 0
            for _ in 0..<first {
                while bytes[position] != UInt8(ascii: ".") { position += 1 }
                position += 1
            }
            func number() -> UInt64? {
                var value: UInt64 = 0
                let start = position
                while position < bytes.count, bytes[position] != UInt8(ascii: ".") {
                    let digit = bytes[position] &- UInt8(ascii: "0")
                    guard digit <= 9 else { return nil }
                    value = value &* 10 &+ UInt64(digit)
                    position += 1
                }
                guard position > start, position - start <= 19 else { return nil }
                position += 1
                return value
            }
            guard let stream = number(), let consumer = number(), let time = number(), let pending = number() else {
                return nil
            }
            return DeliveryPlace(
                streamSequence: stream, consumerSequence: consumer, time: Int64(truncatingIfNeeded: time),
                pending: pending)
        }
        guard let parsed else { return nil }
        self = parsed
    }

    private init(streamSequence: UInt64, consumerSequence: UInt64, time: Int64, pending: UInt64) {
        self.streamSequence = streamSequence
        self.consumerSequence = consumerSequence
        self.time = time
        self.pending = pending
    }
}
