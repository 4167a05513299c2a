import NATS
import NIOCore

/// Decides what happens to the bytes of one direction of one connection, and when. Times start with the proxy.
struct FaultLane: Sendable {
    /// An end after this many more forwarded bytes.
    struct Cut: Hashable, Sendable {
        var remaining: Int
        var ending: FaultProxy.Ending
    }

    struct Rules: Hashable, Sendable {
        var swallows = false
        var delay = Duration.zero
        var jitter = Duration.zero
        /// Nil for no limit; 0 stops all bytes.
        var bytesPerSecond: Int?
        /// Nil to write reads as they arrived.
        var pieceLength: Int?
        var cut: Cut?
    }

    enum Step: Hashable, Sendable {
        /// Write these bytes.
        case forward(ByteBuffer)
        /// Count this many bytes as dropped.
        case swallow(Int)
        /// Do nothing before this time.
        case wait(until: Duration)
        /// End the destination's input.
        case finish
        /// The source was lost: reset the destination.
        case reset
        /// End the entire connection.
        case cut(FaultProxy.Ending)
        /// Do nothing until something happens.
        case rest
    }

    /// The maximum number of held bytes; beyond it the source is not read.
    static let limit = 1 << 20
    /// The maximum number of held reads, since even the smallest costs a buffer.
    static let readLimit = 4_096

    private enum Tail {
        case open
        case ended(due: Duration, isLost: Bool)
        case over
    }

    private(set) var rules: Rules
    private var frames = FaultFrames()
    private var generator: SeededGenerator
    private var queue = CircularBuffer<(bytes: ByteBuffer, due: Duration)>()
    private var queuedBytes = 0
    private var tail = Tail.open
    /// When the newest byte is due: none may overtake it.
    private var newestDue = Duration.zero
    /// When the rate allows the next byte.
    private var allowedFrom = Duration.zero
    private var isHalfClosing = false
    private(set) var isOutputClosed = false

    init(rules: Rules, seed: UInt64) {
        self.rules = rules
        generator = SeededGenerator(seed: seed)
    }

    var wantsInput: Bool { !hasEnded && queuedBytes < Self.limit && queue.count < Self.readLimit }

    var hasEnded: Bool { if case .open = tail { false } else { true } }

    var isOver: Bool { if case .over = tail { isOutputClosed && queue.isEmpty } else { false } }

    /// Waiting bytes are delayed at most as long as the new rules allow.
    mutating func change(_ rules: Rules, at now: Duration) {
        self.rules = rules
        allowedFrom = now
        let latest = now + rules.delay + rules.jitter
        for index in queue.indices { queue[index].due = min(queue[index].due, latest) }
        newestDue = min(newestDue, latest)
        if case .ended(let due, let isLost) = tail { tail = .ended(due: min(due, latest), isLost: isLost) }
    }

    mutating func strike(_ fault: FaultProxy.MessageFault) { frames.strike(fault) }

    /// Returns how many messages among the bytes met a fault.
    mutating func received(_ bytes: ByteBuffer, at now: Duration) -> Int {
        let before = frames.struck
        keep(frames.pass(bytes), at: now)
        return frames.struck - before
    }

    mutating func sourceEnded(isLost: Bool, at now: Duration) {
        switch tail {
        case .open: break
        case .ended(_, let wasLost): guard isLost, !wasLost else { return }
        case .over: guard isLost else { return }
        }
        keep(frames.end(), at: now)
        tail = .ended(due: dueTime(at: now), isLost: isLost)
    }

    /// From now on bytes are dropped.
    mutating func destinationLost() { isOutputClosed = true }

    /// Ends the destination's input now; waiting and future bytes are dropped.
    mutating func halfClose() { isHalfClosing = true }

    private mutating func keep(_ bytes: ByteBuffer, at now: Duration) {
        guard bytes.readableBytes > 0 else { return }
        queue.append((bytes, dueTime(at: now)))
        queuedBytes += bytes.readableBytes
    }

    private mutating func dueTime(at now: Duration) -> Duration {
        var due = now + rules.delay
        if rules.jitter > .zero { due += rules.jitter * Double.random(in: 0...1, using: &generator) }
        newestDue = max(newestDue, due)
        return newestDue
    }

    /// Returns the next step; call it until it returns `wait` or `rest`.
    /// - Parameter canForward: whether the destination accepts bytes.
    mutating func next(at now: Duration, canForward: Bool) -> Step {
        if let cut = rules.cut, cut.remaining == 0 {
            rules.cut = nil
            return .cut(cut.ending)
        }
        if isHalfClosing {
            isHalfClosing = false
            if !isOutputClosed {
                isOutputClosed = true
                return .finish
            }
        }
        guard let head = queue.first else { return nextAtTail(now) }
        let length = head.bytes.readableBytes
        if isOutputClosed { return .swallow(take(length).readableBytes) }
        guard head.due <= now else { return .wait(until: head.due) }
        if rules.swallows { return .swallow(take(length).readableBytes) }
        return canForward ? forward(length, at: now) : .rest
    }

    private mutating func forward(_ available: Int, at now: Duration) -> Step {
        var length = min(available, rules.cut?.remaining ?? available, rules.pieceLength ?? available)
        if let rate = rules.bytesPerSecond {
            guard rate > 0 else { return .rest }
            guard allowedFrom <= now else { return .wait(until: allowedFrom) }
            // A fiftieth of a second's bytes at once: few enough to look even, enough to reach the rate.
            length = min(length, max(1, rate / 50))
            allowedFrom = now + .nanoseconds(Int64(length) * 1_000_000_000 / Int64(rate))
        }
        rules.cut?.remaining -= length
        return .forward(take(length))
    }

    private mutating func nextAtTail(_ now: Duration) -> Step {
        guard case .ended(let due, let isLost) = tail else { return .rest }
        if isOutputClosed, !isLost {
            tail = .over
            return .rest
        }
        guard due <= now else { return .wait(until: due) }
        guard !rules.swallows else { return .rest }
        tail = .over
        isOutputClosed = true
        return isLost ? .reset : .finish
    }

    /// Takes bytes off the front of the queue, at most those of the first read.
    private mutating func take(_ length: Int) -> ByteBuffer {
        queuedBytes -= length
        guard queue[queue.startIndex].bytes.readableBytes > length else { return queue.removeFirst().bytes }
        return queue[queue.startIndex].bytes.readSlice(length: length) ?? ByteBuffer()
    }
}
