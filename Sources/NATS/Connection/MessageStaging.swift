import NIOCore

/// Messages on their way to their readers: what one read brings for one reader is handed over together.
struct MessageStaging {
    /// The reader of the messages that wait here.
    var buffer: SubscriptionBuffer?
    /// The subscription of the last of them.
    var sid: UInt64?
    private var messages: [NATSMessage] = []
    private var bytes = 0
    /// The read that is being decoded: its number, and how much memory its messages keep.
    private var chunk = ReadChunk(number: 0, capacity: 0)
    /// The last subject as bytes and text: a run of messages on one subject shares one string.
    private var lastSubject = ""
    private var lastSubjectBytes: [UInt8] = []

    /// What follows comes from these bytes.
    mutating func beginRead(_ bytes: ByteBuffer) {
        chunk = ReadChunk(number: chunk.number &+ 1, capacity: bytes.storageCapacity)
    }

    /// Adds a message for ``buffer``.
    @inline(__always)
    mutating func add(
        sid: UInt64, subject: UnsafeRawBufferPointer, reply: UnsafeRawBufferPointer?, headerLength: Int,
        content: ByteBuffer
    ) {
        messages.append(
            NATSMessage(
                subject: text(ofSubject: subject), reply: reply.map { String(decoding: $0, as: UTF8.self) },
                content: content, headerLength: headerLength, source: UInt32(truncatingIfNeeded: sid)))
        bytes += NATSMessage.size(content: content, texts: subject.count + (reply?.count ?? 0))
    }

    private mutating func text(ofSubject bytes: UnsafeRawBufferPointer) -> String {
        let isSame = lastSubjectBytes.withUnsafeBytes { last in
            last.count == bytes.count && last.elementsEqual(bytes)
        }
        if !isSame {
            lastSubject = String(decoding: bytes, as: UTF8.self)
            lastSubjectBytes = Array(bytes)
        }
        return lastSubject
    }

    /// Hands the messages over.
    ///
    /// - Returns: what the reader has missed by now where it was too slow to have room for these.
    mutating func deliver() -> (subject: String, dropped: Int)? {
        guard let buffer, !messages.isEmpty else { return nil }
        defer { bytes = 0 }
        switch buffer.deliver(&messages, bytes: bytes, of: chunk) {
        case .accepted: return nil
        case .dropped(let total): return (buffer.subject, total)
        }
    }
}
