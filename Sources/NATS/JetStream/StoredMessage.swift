import NIOCore

/// A message of a stream, with its place in it.
public struct StoredMessage: Sendable {
    /// The subject it was published to.
    public var subject: String
    /// Its place in the stream.
    public var sequence: UInt64
    /// When the stream stored it, by the server's clock.
    public var time: ServerTime
    /// Its headers.
    public var headers: NATSHeaders
    /// Its payload.
    public var payload: ByteBuffer
    /// How many matching messages the stream held behind it when it was delivered; nil when not known.
    public var pending: UInt64?
    /// Where an acknowledgement goes, for consumers that expect one.
    public var acknowledgementSubject: String?
    /// Its number among what its consumer delivered; 0 when read without a consumer.
    var consumerSequence: UInt64 = 0

    /// Reads a message that a consumer delivered; nil when its reply subject is not of that kind.
    init?(delivered message: NATSMessage) {
        guard let reply = message.reply, let place = DeliveryPlace(reply) else { return nil }
        subject = message.subject
        sequence = place.streamSequence
        time = ServerTime(nanoseconds: place.time)
        headers = message.headers
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
        self.headers = headers
        self.payload = payload
        self.pending = pending
    }
}

/// What the reply subject of a delivered message tells: 9 tokens, or from 11 on with domain and account.
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
            var starts: [Int] = [0]
            starts.reserveCapacity(12)
            for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: ".") { starts.append(index + 1) }
            let offset: Int
            switch starts.count {
            case 9: offset = 5
            case 11...: offset = 7
            default: return nil
            }
            func number(_ token: Int) -> UInt64? {
                var value: UInt64 = 0
                let end = token + 1 < starts.count ? starts[token + 1] - 1 : bytes.count
                guard end > starts[token], end - starts[token] <= 19 else { return nil }
                for index in starts[token]..<end {
                    let digit = bytes[index] &- UInt8(ascii: "0")
                    guard digit <= 9 else { return nil }
                    value = value &* 10 &+ UInt64(digit)
                }
                return value
            }
            guard let stream = number(offset), let consumer = number(offset + 1), let time = number(offset + 2),
                let pending = number(offset + 3)
            else { return nil }
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
