import NIOCore

/// A message as it arrived from the server.
///
/// The payload shares memory with the read that delivered it (up to 256 KiB); to keep messages for long, keep `bytes`,
/// a copy, instead.
public struct NATSMessage: Sendable {
    /// The subject it was published to.
    public let subject: String
    /// The subject for an answer, if the sender asked for one.
    public let reply: String?
    /// Header block and payload in one piece.
    let content: ByteBuffer
    /// Length of the header block in `content`; 0 without headers.
    var headerLength: Int { Int(blockLength) }
    private let blockLength: Int32
    /// Which of the subscriptions that share a reader delivered it.
    let source: UInt32

    init(subject: String, reply: String?, content: ByteBuffer, headerLength: Int, source: UInt32 = 0) {
        self.subject = subject
        self.reply = reply
        self.content = content
        // No message is long enough to be clamped.
        blockLength = Int32(clamping: headerLength)
        self.source = source
    }

    /// Its size against limits of bytes. Of the subjects, which every message has, only a long one counts.
    var size: Int { content.readableBytes + max(0, subject.utf8.count + (reply?.utf8.count ?? 0) - 512) }

    /// Whether it has neither headers nor a payload. A server that delivers the answers of another account's service
    /// takes such a message for the last one and holds back whatever follows.
    var endsAnswers: Bool { content.readableBytes == 0 }

    func with(_ content: ByteBuffer) -> NATSMessage {
        NATSMessage(subject: subject, reply: reply, content: content, headerLength: headerLength, source: source)
    }

    /// The payload, without a copy.
    public var payload: ByteBuffer {
        guard headerLength > 0 else { return content }
        return content.getSlice(at: content.readerIndex + headerLength, length: content.readableBytes - headerLength)
            ?? ByteBuffer()
    }

    /// The payload, copied.
    public var bytes: [UInt8] { Array(payload.readableBytesView) }

    /// The payload decoded as UTF-8; malformed bytes become U+FFFD.
    public var text: String { String(buffer: payload) }

    /// The headers, parsed on each access: keep the result to use it twice.
    public var headers: NATSHeaders { headerBlock?.headers ?? NATSHeaders() }

    /// The status code of a message made by the server, such as 503 "no responders".
    public var status: Int? { headerBlock?.status }

    /// The text after the status code.
    public var statusText: String? { headerBlock?.statusText }

    /// Whether the message has a header block.
    public var hasHeaders: Bool { headerLength > 0 }

    var headerBlock: HeaderBlock? {
        guard headerLength > 0, let block = content.getSlice(at: content.readerIndex, length: headerLength) else {
            return nil
        }
        return HeaderBlock(block)
    }

    /// Whether the header block starts with a status, read without decoding the fields.
    var hasStatusLine: Bool {
        // Only messages made by the server have a blank and a code after "NATS/1.0".
        headerLength > 12 && content.getInteger(at: content.readerIndex + 8, as: UInt8.self) == UInt8(ascii: " ")
    }
}
