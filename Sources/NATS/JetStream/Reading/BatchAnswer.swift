import NIOCore

/// What one message of an answer to a batched direct get says: a pure value.
///
/// The server writes the place of a stored message behind the headers that its sender wrote, so the last lines of the
/// header block are believed and no others: a sender could write the same words before them. For the same reason the
/// end of the batch is believed only where the block has nothing else in it.
enum BatchAnswer {
    /// A stored message, and the sequence of the one before it in the batch; 0 for the first.
    case message(StoredMessage, previous: UInt64)
    /// The batch has ended behind the message with this sequence, 0 for none, and so many match behind it.
    case end(last: UInt64, pending: UInt64)
    /// Nothing matches.
    case nothing

    /// The lines that a server writes behind a stored message's own headers, as far as they are needed.
    private static let lines = 5

    /// Reads a message; nil for what is no part of a batch, such as the answer of a server that knows no batches.
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

    /// Reads what the server says of itself: a status line, and hardly anything behind it.
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
