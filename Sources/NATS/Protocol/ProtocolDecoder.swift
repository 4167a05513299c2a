import NIOCore
import Platform

/// Receives what the decoder finds. The raw text is valid only during the call.
package protocol ProtocolSink: AnyObject {
    func received(
        sid: UInt64, subject: UnsafeRawBufferPointer, reply: UnsafeRawBufferPointer?, headerLength: Int,
        content: ByteBuffer)
    func receivedInfo(_ json: [UInt8], hasTrailingBytes: Bool)
    func receivedPing()
    func receivedPong()
    func receivedError(_ text: String)
}

/// Decodes the server's half of the protocol from chunks cut anywhere.
///
/// Complete frames are passed on as slices of the chunk, without copying. Only the remainder of a cut is copied: part
/// of a control line, or the part of a payload that has arrived.
package struct ProtocolDecoder {
    /// INFO of large clusters is the longest line; beyond this the peer is no NATS server.
    static let maximumControlLine = 1 << 20
    /// No server is configured for more; a larger claim is refused before anything is allocated for it.
    static let maximumContent = 64 << 20

    private var partialLine: [UInt8] = []
    private var partialMessage: PartialMessage?

    package init() {}

    private struct PartialMessage {
        var sid: UInt64
        var subject: [UInt8]
        var reply: [UInt8]?
        var headerLength: Int
        var contentLength: Int
        /// The content and the closing CRLF as far as they have arrived.
        var collected = ByteBuffer()

        init(_ frame: MessageFrame, _ begun: Slice<UnsafeRawBufferPointer>) {
            sid = frame.sid
            subject = Array(frame.subject)
            reply = frame.reply.map { Array($0) }
            headerLength = frame.headerLength
            contentLength = frame.contentLength
            // For a long message, further room is allocated as its bytes arrive: a claim alone proves nothing.
            collected.reserveCapacity(min(contentLength + 2, 1 << 20))
            collected.writeBytes(begun)
        }
    }

    /// Decodes one chunk. After a failure the decoder is useless: it no longer knows where frames begin.
    package mutating func decode<Sink: ProtocolSink>(_ chunk: ByteBuffer, into sink: Sink) throws(NATSError) {
        var chunk = chunk
        if partialMessage != nil {
            guard try finishPartialMessage(&chunk, sink) else { return }
        }
        if !partialLine.isEmpty {
            guard try finishPartialLine(&chunk, sink) else { return }
        }
        var failure: NATSError?
        let base = chunk.readerIndex
        let consumed = chunk.withUnsafeReadableBytes { bytes -> Int in
            var position = 0
            while position < bytes.count {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
                guard let lineLength = Self.lineLength(rest) else { break }
                let line = UnsafeRawBufferPointer(rebasing: rest[..<lineLength])
                position += lineLength
                do throws(NATSError) {
                    guard let frame = try Self.messageFrame(line) else {
                        try Self.decodeControl(line, hasTrailingBytes: position < bytes.count, sink)
                        continue
                    }
                    let end = position + frame.contentLength + 2
                    if end <= bytes.count,
                        let content = chunk.getSlice(at: base + position, length: frame.contentLength)
                    {
                        guard bytes[end - 2] == 0x0D, bytes[end - 1] == 0x0A else {
                            throw NATSError.protocolViolation("a payload does not end at its stated length")
                        }
                        sink.received(
                            sid: frame.sid, subject: frame.subject, reply: frame.reply,
                            headerLength: frame.headerLength, content: content)
                        position = end
                    } else {
                        partialMessage = PartialMessage(frame, bytes[position...])
                        position = bytes.count
                    }
                } catch {
                    failure = error
                    return position
                }
            }
            return position
        }
        if let failure { throw failure }
        chunk.moveReaderIndex(forwardBy: consumed)
        if chunk.readableBytes > 0 {
            guard chunk.readableBytes <= Self.maximumControlLine else {
                throw .protocolViolation("a control line of over \(Self.maximumControlLine) bytes")
            }
            partialLine.append(contentsOf: chunk.readableBytesView)
        }
    }

    // MARK: Cut frames

    private mutating func finishPartialMessage<Sink: ProtocolSink>(
        _ chunk: inout ByteBuffer, _ sink: Sink
    ) throws(NATSError) -> Bool {
        guard var message = partialMessage else { return true }
        partialMessage = nil
        let missing = message.contentLength + 2 - message.collected.readableBytes
        guard var part = chunk.readSlice(length: min(missing, chunk.readableBytes)) else { return false }
        message.collected.writeBuffer(&part)
        guard message.collected.readableBytes == message.contentLength + 2 else {
            partialMessage = message
            return false
        }
        guard let content = message.collected.readSlice(length: message.contentLength),
            message.collected.readInteger(as: UInt16.self) == 0x0D0A
        else { throw .protocolViolation("a payload does not end at its stated length") }
        message.subject.withUnsafeBytes { subject in
            (message.reply ?? []).withUnsafeBytes { reply in
                sink.received(
                    sid: message.sid, subject: subject, reply: message.reply == nil ? nil : reply,
                    headerLength: message.headerLength, content: content)
            }
        }
        return true
    }

    private mutating func finishPartialLine<Sink: ProtocolSink>(
        _ chunk: inout ByteBuffer, _ sink: Sink
    ) throws(NATSError) -> Bool {
        let view = chunk.readableBytesView
        let lineEnd = view.firstIndex(of: 0x0A).map { $0 + 1 } ?? view.endIndex
        partialLine.append(contentsOf: view[view.startIndex..<lineEnd])
        chunk.moveReaderIndex(to: lineEnd)
        guard partialLine.count <= Self.maximumControlLine else {
            throw .protocolViolation("a control line of over \(Self.maximumControlLine) bytes")
        }
        guard partialLine.last == 0x0A else { return false }
        let line = partialLine
        partialLine.removeAll(keepingCapacity: line.count <= 4_096)
        let hasTrailingBytes = chunk.readableBytes > 0
        var failure: NATSError?
        line.withUnsafeBytes { bytes in
            do throws(NATSError) {
                if let frame = try Self.messageFrame(bytes) {
                    partialMessage = PartialMessage(frame, bytes[bytes.endIndex...])
                } else {
                    try Self.decodeControl(bytes, hasTrailingBytes: hasTrailingBytes, sink)
                }
            } catch { failure = error }
        }
        if let failure { throw failure }
        return partialMessage == nil ? true : try finishPartialMessage(&chunk, sink)
    }

    // MARK: Lines

    /// The length of the first line with its line feed; nil if the line is incomplete.
    @inline(__always)
    private static func lineLength(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, let found = memchr(base, 0x0A, bytes.count) else { return nil }
        return found - UnsafeMutableRawPointer(mutating: base) + 1
    }

    private struct MessageFrame {
        var sid: UInt64
        var subject: UnsafeRawBufferPointer
        var reply: UnsafeRawBufferPointer?
        var headerLength: Int
        var contentLength: Int
    }

    /// Parses `MSG` and `HMSG` lines; nil for any other line.
    @inline(__always)
    private static func messageFrame(_ line: UnsafeRawBufferPointer) throws(NATSError) -> MessageFrame? {
        guard line.count > 4 else { return nil }
        var position: Int
        let hasHeaders: Bool
        switch line[0] | 0x20 {
        case UInt8(ascii: "m"):
            position = 3
            hasHeaders = false
        case UInt8(ascii: "h"):
            position = 4
            hasHeaders = true
        default: return nil
        }
        // Up to five words, separated by runs of blanks and tabs.
        var words = Words()
        let end = line.count
        while position < end {
            while position < end, isBlank(line[position]) { position += 1 }
            let start = position
            while position < end, !isBlank(line[position]) { position += 1 }
            if position > start { words.append(start, position) }
        }
        let required = hasHeaders ? 4 : 3
        guard words.count == required || words.count == required + 1, words.isWithinRoom else {
            throw .protocolViolation("a message line has \(words.count) words")
        }
        let hasReply = words.count > required
        guard let sid = decimal(line, words[1]), let total = decimal(line, words[words.count - 1]) else {
            throw .protocolViolation("a message line has a word instead of a number")
        }
        let headerLength = hasHeaders ? decimal(line, words[words.count - 2]) : 0
        guard let headerLength, headerLength <= total, total <= maximumContent else {
            throw .protocolViolation("a message line has impossible sizes")
        }
        return MessageFrame(
            sid: UInt64(sid), subject: UnsafeRawBufferPointer(rebasing: line[words[0]]),
            reply: hasReply ? UnsafeRawBufferPointer(rebasing: line[words[2]]) : nil, headerLength: headerLength,
            contentLength: total)
    }

    private static func decodeControl<Sink: ProtocolSink>(
        _ line: UnsafeRawBufferPointer, hasTrailingBytes: Bool, _ sink: Sink
    ) throws(NATSError) {
        var end = line.count
        while end > 0, isBlank(line[end - 1]) { end -= 1 }
        let line = UnsafeRawBufferPointer(rebasing: line[..<end])
        if line.isEmpty { return }
        if begins(line, "PING") {
            sink.receivedPing()
        } else if begins(line, "PONG") {
            sink.receivedPong()
        } else if begins(line, "INFO") {
            sink.receivedInfo(Array(line.dropFirst(4)), hasTrailingBytes: hasTrailingBytes)
        } else if begins(line, "+OK") {
            return
        } else if begins(line, "-ERR") {
            var text = String(decoding: line.dropFirst(4).prefix(4_096), as: UTF8.self)[...]
            text = text.drop { $0 == " " || $0 == "'" }
            while let last = text.last, last == "'" || last == " " { text.removeLast() }
            sink.receivedError(String(text))
        } else {
            let shown = String(decoding: line.prefix(32).map { $0 < 0x20 || $0 > 0x7E ? 0x3F : $0 }, as: UTF8.self)
            throw .protocolViolation("unknown operation “\(shown)”")
        }
    }

    @inline(__always)
    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) }

    private static func begins(_ line: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
        guard line.count >= word.utf8CodeUnitCount else { return false }
        return (0..<word.utf8CodeUnitCount).allSatisfy { index in
            let byte = line[index]
            let upper = byte >= 0x61 && byte <= 0x7A ? byte - 0x20 : byte
            return upper == word.utf8Start[index]
        }
    }

    @inline(__always)
    private static func decimal(_ line: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int? {
        guard range.count > 0, range.count <= 18 else { return nil }
        var value = 0
        for index in range {
            let digit = line[index] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ Int(digit)
        }
        return value
    }

    /// The ranges of up to five words, without an allocation.
    private struct Words {
        private var storage: (Range<Int>, Range<Int>, Range<Int>, Range<Int>, Range<Int>) = (
            0..<0, 0..<0, 0..<0, 0..<0, 0..<0
        )
        private(set) var count = 0
        var isWithinRoom: Bool { count <= 5 }

        @inline(__always)
        mutating func append(_ start: Int, _ end: Int) {
            switch count {
            case 0: storage.0 = start..<end
            case 1: storage.1 = start..<end
            case 2: storage.2 = start..<end
            case 3: storage.3 = start..<end
            case 4: storage.4 = start..<end
            default: break
            }
            count += 1
        }

        @inline(__always)
        subscript(index: Int) -> Range<Int> {
            switch index {
            case 0: return storage.0
            case 1: return storage.1
            case 2: return storage.2
            case 3: return storage.3
            default: return storage.4
            }
        }
    }
}
