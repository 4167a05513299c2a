import NIOCore

/// A message of a stream, with its sequence there.
public struct StoredMessage: Sendable {
    /// The source of the contents. A reader of many messages copies each several times, so nothing is stored twice.
    private enum Content: Sendable {
        /// The message that a consumer delivered.
        case delivered(NATSMessage)
        case parts(subject: String, headers: NATSHeaders, payload: ByteBuffer)
    }

    private let content: Content
    /// Its sequence in the stream.
    public let sequence: UInt64
    /// When the stream stored it, by the server's clock.
    public let time: ServerTime
    /// The number of matching messages after it at the time of delivery; nil if unknown.
    public let pending: UInt64?

    /// The subject it was published to.
    public var subject: String {
        switch content {
        case .delivered(let message): message.subject
        case .parts(let subject, _, _): subject
        }
    }

    /// Its headers, parsed on each access.
    public var headers: NATSHeaders {
        switch content {
        case .delivered(let message): message.headers
        case .parts(_, let headers, _): headers
        }
    }

    /// Its payload.
    public var payload: ByteBuffer {
        switch content {
        case .delivered(let message): message.payload
        case .parts(_, _, let payload): payload
        }
    }

    /// The subject for an acknowledgement, if the consumer expects one.
    public var acknowledgementSubject: String? {
        if case .delivered(let message) = content { message.reply } else { nil }
    }

    /// Its size against limits of bytes: subjects, headers and payload as they arrived.
    package var size: Int {
        switch content {
        case .delivered(let message): PullBudget.size(of: message)
        case .parts(let subject, let headers, let payload):
            subject.utf8.count + payload.readableBytes
                + headers.pairs.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
        }
    }

    /// The ``size`` of the entire message, if only its headers were read.
    package var sizeWithPayload: Int {
        // The server's own header comes last.
        let payload = headers.values(for: "Nats-Msg-Size").last.flatMap { Int($0) } ?? 0
        return size + min(max(0, payload), Int(Int32.max))
    }

    init(_ message: consuming NATSMessage, at place: DeliveryPlace) {
        content = .delivered(message)
        sequence = place.streamSequence
        time = ServerTime(nanoseconds: place.time)
        pending = place.pending
    }

    init(subject: String, sequence: UInt64, time: ServerTime, headers: NATSHeaders, payload: ByteBuffer) {
        content = .parts(subject: subject, headers: headers, payload: payload)
        self.sequence = sequence
        self.time = time
        pending = nil
    }
}

/// The reply subject of a delivered message, parsed: 9 tokens, or 11 and more with domain and account.
struct DeliveryPlace: Equatable {
    var streamSequence: UInt64
    var consumerSequence: UInt64
    var time: Int64
    var pending: UInt64
}

extension DeliveryPlace {
    /// `$JS.ACK.` as one number.
    private static let prefix = "$JS.ACK.".utf8.reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }

    init?(_ reply: String) {
        var reply = reply
        let parsed = reply.withUTF8 { bytes -> DeliveryPlace? in
            let raw = UnsafeRawBufferPointer(bytes)
            guard raw.count > 8, UInt64(littleEndian: raw.loadUnaligned(as: UInt64.self)) == Self.prefix else {
                return nil
            }
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
                guard position > start, position - start <= 19, value <= Int64.max else { return nil }
                position += 1
                return value
            }
            guard let stream = number(), let consumer = number(), let time = number(), let pending = number(),
                max(stream, consumer, pending) <= ServerNumber.limit
            else { return nil }
            return DeliveryPlace(
                streamSequence: stream, consumerSequence: consumer, time: Int64(time), pending: pending)
        }
        guard let parsed else { return nil }
        self = parsed
    }
}
