import NIOCore

@testable import NATS

/// What a decoder found, in order, copied out of the buffers it pointed into.
final class RecordingSink: ProtocolSink {
    enum Event: Equatable {
        case message(sid: UInt64, subject: String, reply: String?, headerLength: Int, content: [UInt8])
        case info(String)
        case ping
        case pong
        case error(String)
    }

    private(set) var events: [Event] = []
    /// Whether plain bytes followed an INFO, for each INFO.
    private(set) var trailing: [Bool] = []

    func received(
        sid: UInt64, subject: UnsafeRawBufferPointer, reply: UnsafeRawBufferPointer?, headerLength: Int,
        content: ByteBuffer
    ) {
        events.append(
            .message(
                sid: sid, subject: String(decoding: subject, as: UTF8.self),
                reply: reply.map { String(decoding: $0, as: UTF8.self) }, headerLength: headerLength,
                content: Array(content.readableBytesView)))
    }

    func receivedInfo(_ json: [UInt8], hasTrailingBytes: Bool) {
        let text = String(decoding: json, as: UTF8.self)
        events.append(.info(text.split(separator: " ").joined(separator: " ")))
        trailing.append(hasTrailingBytes)
    }

    func receivedPing() { events.append(.ping) }
    func receivedPong() { events.append(.pong) }
    func receivedError(_ text: String) { events.append(.error(text)) }
}

extension ProtocolDecoder {
    /// What a fresh decoder finds in the chunks, and how it ended.
    static func read(_ chunks: [[UInt8]]) -> (sink: RecordingSink, failure: NATSError?) {
        var decoder = ProtocolDecoder()
        let sink = RecordingSink()
        do throws(NATSError) {
            for chunk in chunks { try decoder.decode(ByteBuffer(bytes: chunk), into: sink) }
            return (sink, nil)
        } catch {
            return (sink, error)
        }
    }

    static func read(_ text: String) -> (sink: RecordingSink, failure: NATSError?) { read([Array(text.utf8)]) }
}

extension [UInt8] {
    /// Cut at these places.
    func cut(at places: [Int]) -> [[UInt8]] {
        var chunks: [[UInt8]] = []
        var start = 0
        for place in places.sorted() + [count] {
            chunks.append(Array(self[start..<place]))
            start = place
        }
        return chunks
    }
}
