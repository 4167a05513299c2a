import NIOCore

/// What a client sends.
enum ClientOperation: Sendable {
    /// The login, as JSON.
    case connect([UInt8])
    case ping
    case pong
    case subscribe(subject: String, queue: String?, number: String)
    /// Ends a subscription, now or when it has had so many messages in all.
    case unsubscribe(number: String, after: Int?)
    case publish(MemoryFrame)
    /// Something that no server takes; the words are the server's.
    case invalid(String)
}

/// Reads a client's half of the protocol from chunks that are cut anywhere.
struct ClientOperationDecoder {
    private static let maximumLine = 64 << 10
    private static let maximumContent = 64 << 20

    /// A message whose content has not come in full.
    private struct Head {
        var subject: String
        var reply: String?
        var headerLength: Int
        var length: Int
    }

    private var buffer = ByteBuffer()
    private var head: Head?
    private var hasFailed = false

    /// Reads one chunk. Nothing follows an invalid operation.
    mutating func decode(_ chunk: ByteBuffer) -> [ClientOperation] {
        var chunk = chunk
        buffer.writeBuffer(&chunk)
        var operations: [ClientOperation] = []
        while !hasFailed, let operation = next() { operations.append(operation) }
        buffer.discardReadBytes()
        return operations
    }

    private mutating func next() -> ClientOperation? {
        if head == nil {
            guard let line = nextLine() else {
                return buffer.readableBytes > Self.maximumLine ? failure("maximum control line exceeded") : nil
            }
            if let operation = operation(of: line) { return operation }
        }
        guard let head, buffer.readableBytes >= head.length + 2, let content = buffer.readBytes(length: head.length)
        else { return nil }
        buffer.moveReaderIndex(forwardBy: 2)
        self.head = nil
        return .publish(
            MemoryFrame(
                subject: head.subject, reply: head.reply, block: Array(content[..<head.headerLength]),
                payload: Array(content[head.headerLength...])))
    }

    private mutating func nextLine() -> [UInt8]? {
        let view = buffer.readableBytesView
        guard let end = view.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = Array(view[view.startIndex..<end])
        buffer.moveReaderIndex(to: end + 1)
        return line
    }

    /// What a line says; nil for the head of a message, which is kept.
    private mutating func operation(of line: [UInt8]) -> ClientOperation? {
        let words = line.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }.map { String(decoding: $0, as: UTF8.self) }
        switch (words.first?.uppercased() ?? "", words.count) {
        case ("PING", 1): return .ping
        case ("PONG", 1): return .pong
        case ("CONNECT", 2...): return .connect(Array(line.dropFirst("CONNECT".utf8.count)))
        case ("SUB", 3): return .subscribe(subject: words[1], queue: nil, number: words[2])
        case ("SUB", 4): return .subscribe(subject: words[1], queue: words[2], number: words[3])
        case ("UNSUB", 2): return .unsubscribe(number: words[1], after: nil)
        case ("UNSUB", 3): return .unsubscribe(number: words[1], after: Int(words[2]))
        case ("PUB", 3...4):
            return begin(words[1], reply: words.count == 4 ? words[2] : nil, "0", words[words.count - 1])
        case ("HPUB", 4...5):
            let sizes = words.suffix(2)
            return begin(
                words[1], reply: words.count == 5 ? words[2] : nil, sizes.first ?? "", sizes.last ?? "")
        default: return failure("Unknown Protocol Operation")
        }
    }

    private mutating func begin(
        _ subject: String, reply: String?, _ headerLength: String, _ length: String
    ) -> ClientOperation? {
        guard let headerLength = Int(headerLength), let length = Int(length), headerLength >= 0,
            headerLength <= length
        else { return failure("Unknown Protocol Operation") }
        guard length <= Self.maximumContent else { return failure("Maximum Payload Violation") }
        head = Head(subject: subject, reply: reply, headerLength: headerLength, length: length)
        return nil
    }

    private mutating func failure(_ words: String) -> ClientOperation {
        hasFailed = true
        return .invalid(words)
    }
}
