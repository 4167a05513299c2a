import NIOCore

enum ProtocolEncoder {
    /// Appends a PUB frame, or with a finished header block an HPUB frame.
    @inline(__always)
    static func writePublish(
        _ payload: ByteBuffer, headers: ByteBuffer? = nil, subject: String, reply: String?,
        into buffer: inout ByteBuffer
    ) {
        let size = payload.readableBytes + (headers?.readableBytes ?? 0)
        // "HPUB " + subject + " " + reply + " " + digits + " " + digits + CRLF + headers + payload + CRLF
        let room = subject.utf8.count + (reply?.utf8.count ?? 0) + size + 64
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { target in
            var writer = RawWriter(target: target)
            if headers != nil { writer.write(byte: UInt8(ascii: "H")) }
            writer.write("PUB ")
            writer.write(subject)
            writer.write(byte: 0x20)
            if let reply {
                writer.write(reply)
                writer.write(byte: 0x20)
            }
            if let headers {
                writer.write(decimal: headers.readableBytes)
                writer.write(byte: 0x20)
            }
            writer.write(decimal: size)
            writer.writeLineEnd()
            headers?.withUnsafeReadableBytes { writer.write(bytes: $0) }
            payload.withUnsafeReadableBytes { writer.write(bytes: $0) }
            writer.writeLineEnd()
            return writer.count
        }
    }

    /// The header block around a message's id.
    private static let idOpening: StaticString = "NATS/1.0\r\nNats-Msg-Id: "
    private static let idClosing: StaticString = "\r\n\r\n"

    static func blockLength(messageID: String) -> Int {
        idOpening.utf8CodeUnitCount + messageID.utf8.count + idClosing.utf8CodeUnitCount
    }

    /// Appends an HPUB frame whose only header is the message's id, with a reply subject of stem and token. Every
    /// message for a stream has this form, so no intermediate values are allocated.
    @inline(__always)
    static func writePublish(
        _ payload: some PublishPayload, messageID: String, subject: String, stem: String, token: RequestToken,
        into buffer: inout ByteBuffer
    ) {
        let block = blockLength(messageID: messageID)
        let size = block + payload.count
        let room = subject.utf8.count + stem.utf8.count + RequestToken.length + size + 64
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { target in
            var writer = RawWriter(target: target)
            writer.write("HPUB ")
            writer.write(subject)
            writer.write(byte: 0x20)
            writer.write(stem)
            token.write(into: writer.room(for: RequestToken.length))
            writer.write(byte: 0x20)
            writer.write(decimal: block)
            writer.write(byte: 0x20)
            writer.write(decimal: size)
            writer.writeLineEnd()
            writer.write(idOpening)
            writer.write(messageID)
            writer.write(idClosing)
            payload.withBytes { writer.write(bytes: $0) }
            writer.writeLineEnd()
            return writer.count
        }
    }

    static func writeSubscribe(subject: String, queue: String?, sid: UInt64, into buffer: inout ByteBuffer) {
        buffer.writeString(queue.map { "SUB \(subject) \($0) \(sid)\r\n" } ?? "SUB \(subject) \(sid)\r\n")
    }

    static func writeUnsubscribe(sid: UInt64, after maximum: Int?, into buffer: inout ByteBuffer) {
        buffer.writeString(maximum.map { "UNSUB \(sid) \($0)\r\n" } ?? "UNSUB \(sid)\r\n")
    }
}

/// Bytes to publish: an array or a buffer.
protocol PublishPayload {
    var count: Int { get }
    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void)
}

extension [UInt8]: PublishPayload {
    @inline(__always)
    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) { withUnsafeBytes(body) }
}

extension ByteBuffer: PublishPayload {
    var count: Int { readableBytes }
    @inline(__always)
    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) { withUnsafeReadableBytes(body) }
}

private struct RawWriter {
    let target: UnsafeMutableRawBufferPointer
    var count = 0

    /// The next bytes, for the caller to fill.
    @inline(__always)
    mutating func room(for length: Int) -> UnsafeMutableRawBufferPointer {
        defer { count += length }
        return UnsafeMutableRawBufferPointer(rebasing: target[count..<count + length])
    }

    @inline(__always)
    mutating func write(_ text: StaticString) {
        write(bytes: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func write(_ text: String) {
        let copied: Void? = text.utf8.withContiguousStorageIfAvailable { write(bytes: UnsafeRawBufferPointer($0)) }
        if copied == nil { for byte in text.utf8 { write(byte: byte) } }
    }

    @inline(__always)
    mutating func write(bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: target[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    @inline(__always)
    mutating func write(byte: UInt8) {
        target[count] = byte
        count += 1
    }

    @inline(__always)
    mutating func writeLineEnd() {
        target[count] = 0x0D
        target[count + 1] = 0x0A
        count += 2
    }

    @inline(__always)
    mutating func write(decimal value: Int) {
        var rest = UInt64(truncatingIfNeeded: value)
        var digits = 1
        var bound: UInt64 = 10
        while rest >= bound, digits < 19 {
            digits += 1
            bound &*= 10
        }
        // From the last digit on: dividing by a constant is a multiplication.
        var position = count + digits
        repeat {
            position -= 1
            target[position] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while position > count
        count += digits
    }
}
