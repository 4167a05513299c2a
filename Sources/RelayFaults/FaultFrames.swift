import NIOCore

/// Finds the messages in one direction of a NATS connection and applies faults to them. All else passes unchanged.
struct FaultFrames: Sendable {
    /// The maximum number of pending faults.
    private static let mostFaults = 64
    /// The longest line of a frame.
    private static let longestLine = 1 << 20
    /// The largest message that can meet a fault, as it is held until it is complete.
    private static let largestMessage = 8 << 20

    /// The faults of the next messages.
    private var faults: [FaultProxy.MessageFault] = []
    /// The current line so far.
    private var line: [UInt8] = []
    /// The rest of the current frame's payload, including its line break.
    private var payloadLeft = 0
    /// The current frame so far, if a fault may apply to it.
    private var held: ByteBuffer?
    /// A message to forward after the next one.
    private var late: ByteBuffer?
    /// Whether the bytes are not frames, as once TLS has begun.
    private var isOpaque = false
    /// The number of messages that met a fault.
    private(set) var struck = 0

    mutating func strike(_ fault: FaultProxy.MessageFault) {
        if faults.count < Self.mostFaults { faults.append(fault) }
    }

    /// Returns the bytes to forward, including held ones.
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

    /// Returns the bytes still held at the end.
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

    /// Whether a line begins a message that users publish, not one of the protocol's own, and its payload's length.
    private static func read(_ line: [UInt8]) -> (isMessage: Bool, payload: Int) {
        let words = line.split { $0 <= 0x20 }.map { String(decoding: $0, as: UTF8.self) }
        guard words.count > 2, let size = words.last.flatMap({ Int($0) }), (0...(.max - 2)).contains(size),
            ["MSG", "HMSG", "PUB", "HPUB"].contains(words[0].uppercased())
        else { return (false, 0) }
        return (!words[1].hasPrefix("_") && !words[1].hasPrefix("$"), size + 2)
    }

    /// Handles a complete frame.
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

    /// Whether a message is from the server, or one of the client's with an identifier: requests have none.
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
