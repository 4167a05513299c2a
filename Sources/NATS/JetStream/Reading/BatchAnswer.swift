import NIOCore

/// One message of an answer to a batched direct get, as a pure value.
///
/// The server appends the place of a stored message to the headers of its sender, so only the last lines of the header
/// block are trusted: a sender could write the same lines before them. For the same reason the end of a batch is
/// trusted only if the block contains nothing else.
enum BatchAnswer {
    /// A stored message, and the sequence of the one before it in the batch; 0 for the first.
    case message(StoredMessage, previous: UInt64)
    /// The batch has ended after the message with this sequence, 0 for none, and `pending` more messages match.
    case end(last: UInt64, pending: UInt64)
    /// Nothing matches.
    case nothing

    /// The number of lines that a server appends to a stored message's headers.
    private static let lines = 5

    /// Parses a message; nil if it is not part of a batch, such as the answer of a server without batches.
    init?(_ message: NATSMessage) {
        guard message.headerLength > 0,
            let block = message.content.getSlice(at: message.content.readerIndex, length: message.headerLength)
        else { return nil }
        let last = Self.lastLines(of: block.readableBytesView)
        guard last.count == Self.lines else {
            self.init(status: last)
            return
        }
        let fields = Self.fields(last)
        guard fields["Nats-Num-Pending"].flatMap({ ServerNumber($0) }) != nil,
            let previous = fields["Nats-Last-Sequence"].flatMap({ ServerNumber($0) })?.value,
            let sequence = fields["Nats-Sequence"].flatMap({ ServerNumber($0) })?.value, sequence > previous,
            let time = fields["Nats-Time-Stamp"].flatMap({ ServerTime(parsing: $0) }),
            let subject = fields["Nats-Subject"], !subject.isEmpty
        else { return nil }
        let stored = StoredMessage(
            subject: subject, sequence: sequence, time: time, headers: message.headers, payload: message.payload)
        self = .message(stored, previous: previous)
    }

    /// Parses the server's own message: a status line with at most a few headers.
    private init?(status lines: [String]) {
        guard let first = lines.last, first.hasPrefix("NATS/1.0 "), let code = Int(first.dropFirst(9).prefix(3)) else {
            return nil
        }
        switch code {
        case 204:
            let fields = Self.fields(lines.dropLast())
            guard let last = fields["Nats-Last-Sequence"].flatMap({ ServerNumber($0) })?.value,
                let pending = fields["Nats-Num-Pending"].flatMap({ ServerNumber($0) })?.value
            else { return nil }
            self = .end(last: last, pending: pending)
        case 404: self = .nothing
        default: return nil
        }
    }

    /// The last lines of a header block that are not empty, the last one first.
    private static func lastLines(of block: ByteBufferView) -> [String] {
        var rest = block
        var lines: [String] = []
        while lines.count < Self.lines, let last = rest.last {
            if last == UInt8(ascii: "\r") || last == UInt8(ascii: "\n") {
                rest = rest.dropLast()
                continue
            }
            let start = rest.lastIndex(of: UInt8(ascii: "\n")).map { rest.index(after: $0) } ?? rest.startIndex
            lines.append(String(decoding: rest[start...], as: UTF8.self))
            rest = rest[..<start]
        }
        return lines
    }

    private static func fields(_ lines: some Sequence<String>) -> [String: String] {
        var fields: [String: String] = [:]
        for line in lines {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[String(line[..<colon])] = String(line[line.index(after: colon)...].drop { $0 == " " })
        }
        return fields
    }
}
