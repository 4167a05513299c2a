import NIOCore

/// Writes the client's operations into a buffer.
enum ProtocolEncoder {
    /// Appends a PUB frame.
    @inline(__always)
    static func writePublish(_ payload: ByteBuffer, subject: String, reply: String?, into buffer: inout ByteBuffer) {
        let size = payload.readableBytes
        // "PUB " + subject + " " + reply + " " + digits + CRLF + payload + CRLF
        let room = subject.utf8.count + (reply?.utf8.count ?? 0) + size + 32
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { target in
            var writer = RawWriter(target)
            writer.write("PUB ")
            writer.write(subject)
            writer.write(byte: 0x20)
            if let reply {
                writer.write(reply)
                writer.write(byte: 0x20)
            }
            writer.write(decimal: size)
            writer.writeLineEnd()
            payload.withUnsafeReadableBytes { writer.write(bytes: $0) }
            writer.writeLineEnd()
            return writer.count
        }
    }

    /// Appends an HPUB frame; `headers` is a finished block.
    static func writePublish(
        _ payload: ByteBuffer, headers: ByteBuffer, subject: String, reply: String?, into buffer: inout ByteBuffer
    ) {
        let size = payload.readableBytes + headers.readableBytes
        let room = subject.utf8.count + (reply?.utf8.count ?? 0) + size + 64
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { target in
            var writer = RawWriter(target)
            writer.write("HPUB ")
            writer.write(subject)
            writer.write(byte: 0x20)
            if let reply {
                writer.write(reply)
                writer.write(byte: 0x20)
            }
            writer.write(decimal: headers.readableBytes)
            writer.write(byte: 0x20)
            writer.write(decimal: size)
            writer.writeLineEnd()
            headers.withUnsafeReadableBytes { writer.write(bytes: $0) }
            payload.withUnsafeReadableBytes { writer.write(bytes: $0) }
            writer.writeLineEnd()
            return writer.count
        }
    }

    /// Appends a SUB line.
    static func writeSubscribe(subject: String, queue: String?, sid: UInt64, into buffer: inout ByteBuffer) {
        buffer.writeString(queue.map { "SUB \(subject) \($0) \(sid)\r\n" } ?? "SUB \(subject) \(sid)\r\n")
    }

    /// Appends an UNSUB line.
    static func writeUnsubscribe(sid: UInt64, after maximum: Int?, into buffer: inout ByteBuffer) {
        buffer.writeString(maximum.map { "UNSUB \(sid) \($0)\r\n" } ?? "UNSUB \(sid)\r\n")
    }
}

/// Fills a buffer that was measured beforehand.
private struct RawWriter {
    private let target: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(_ target: UnsafeMutableRawBufferPointer) { self.target = target }

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
        var divisor = 1
        while value / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            write(byte: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }
}
