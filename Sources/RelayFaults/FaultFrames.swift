import NIOCore

/// Finds the messages among the bytes of one direction of a connection that speaks the NATS protocol, and does to
/// single ones what it is told to. All else passes as it came, and at once.
struct FaultFrames: Sendable {
    /// So many messages may be asked for ahead.
    private static let mostFaults = 64
    /// The longest line; what is longer is no frame.
    private static let longestLine = 1 << 20
    /// The largest message that something is done to: it is held until it is whole.
    private static let largestMessage = 8 << 20

    /// What the next messages meet.
    private var faults: [FaultProxy.MessageFault] = []
    /// The present line as far as it has come.
    private var line: [UInt8] = []
    /// How much of the present frame's payload, with the end of its line, is to come.
    private var payloadLeft = 0
    /// The present frame as far as it has come, where it may be one that something is done to.
    private var held: ByteBuffer?
    /// A message that comes behind the next one.
    private var late: ByteBuffer?
    /// Whether these are no frames, as behind the beginning of TLS.
    private var isOpaque = false
    /// To how many messages something was done.
    private(set) var struck = 0

    mutating func strike(_ fault: FaultProxy.MessageFault) {
        if faults.count < Self.mostFaults { faults.append(fault) }
    }

    /// What is handed on of the next bytes, with what was held before.
    mutating func pass(_ bytes: ByteBuffer) -> ByteBuffer {
        var (bytes, out) = (bytes, ByteBuffer())
        while bytes.readableBytes > 0 {
            if isOpaque {
                out.writeBuffer(&bytes)
            } else if payloadLeft > 0 {
                let length = min(payloadLeft, bytes.readableBytes)
                move(length, of: &bytes, to: &out)
                payloadLeft -= length
                if payloadLeft == 0 { finish(&out) }
            } else {
                takeLine(of: &bytes, &out)
            }
        }
        return out
    }

    /// What is still held when nothing more comes.
    mutating func end() -> ByteBuffer {
        var out = ByteBuffer()
        release(&late, to: &out)
        release(&held, to: &out)
        return out
    }

    private mutating func takeLine(of bytes: inout ByteBuffer, _ out: inout ByteBuffer) {
        let view = bytes.readableBytesView
        if line.isEmpty {
            // Each frame begins with its name, or with + or -.
            guard let first = view.first, (0x41...0x7A).contains(first) || first == 0x2B || first == 0x2D else {
                return giveUp(&out)
            }
            if !faults.isEmpty || late != nil { held = ByteBuffer() }
        }
        let end = view.firstIndex(of: UInt8(ascii: "\n"))
        let length = end.map { $0 - view.startIndex + 1 } ?? view.count
        line += view.prefix(length)
        move(length, of: &bytes, to: &out)
        guard end != nil else {
            if line.count > Self.longestLine { giveUp(&out) }
            return
        }
        let (isMessage, size) = Self.read(line)
        line = []
        payloadLeft = size
        if !isMessage || size > Self.largestMessage { release(&held, to: &out) }
    }

    /// Whether a line begins a message that people publish, rather than one of the protocol's own, and how much payload
    /// comes behind it.
    private static func read(_ line: [UInt8]) -> (isMessage: Bool, payload: Int) {
        let words = line.split { $0 <= 0x20 }.map { String(decoding: $0, as: UTF8.self) }
        guard words.count > 2, let size = words.last.flatMap({ Int($0) }), (0...(.max - 2)).contains(size),
            ["MSG", "HMSG", "PUB", "HPUB"].contains(words[0].uppercased())
        else { return (false, 0) }
        return (!words[1].hasPrefix("_") && !words[1].hasPrefix("$"), size + 2)
    }

    /// A frame with a payload is whole.
    private mutating func finish(_ out: inout ByteBuffer) {
        guard let message = held, Self.isKnownAgain(message) else { return release(&held, to: &out) }
        held = nil
        var before = late
        late = nil
        switch faults.isEmpty ? nil : faults.removeFirst() {
        case .duplicate:
            out.writeImmutableBuffer(message)
            out.writeImmutableBuffer(message)
            struck += 1
        case .drop: struck += 1
        case .reorder where before == nil:
            late = message
            struck += 1
        case .reorder, nil: out.writeImmutableBuffer(message)
        }
        release(&before, to: &out)
    }

    /// Whether a message is one from the server, or one of the client's that has an identifier: requests have none.
    private static func isKnownAgain(_ message: ByteBuffer) -> Bool {
        let bytes = message.readableBytesView
        guard let name = bytes.first(where: { ![0x48, 0x68].contains($0) }), [0x50, 0x70].contains(name) else {
            return true
        }
        let mark = Array("\r\nNats-Msg-Id:".utf8)
        let head = bytes.prefix(4_096)
        return head.indices.contains { head[$0...].starts(with: mark) }
    }

    private mutating func move(_ length: Int, of bytes: inout ByteBuffer, to out: inout ByteBuffer) {
        guard var piece = bytes.readSlice(length: length) else { return }
        if held == nil { out.writeBuffer(&piece) } else { held?.writeBuffer(&piece) }
    }

    private func release(_ buffer: inout ByteBuffer?, to out: inout ByteBuffer) {
        if let bytes = buffer { out.writeImmutableBuffer(bytes) }
        buffer = nil
    }

    private mutating func giveUp(_ out: inout ByteBuffer) {
        isOpaque = true
        out.writeImmutableBuffer(end())
    }
}
