import NATS
import NIOCore

/// Decides what happens to the bytes of one direction of one connection, and when. Times count from the proxy's
/// beginning.
struct FaultLane: Sendable {
    /// An end that comes after so many more forwarded bytes.
    struct Cut: Hashable, Sendable {
        var remaining: Int
        var ending: FaultProxy.Ending
    }

    struct Rules: Hashable, Sendable {
        var swallows = false
        var delay = Duration.zero
        var jitter = Duration.zero
        /// Nil means without bound; 0 that nothing goes on.
        var bytesPerSecond: Int?
        /// Nil means that reads are written as they came.
        var pieceLength: Int?
        var cut: Cut?

        /// How late a byte is at most.
        var longestDelay: Duration { delay + jitter }
    }

    enum Step: Hashable, Sendable {
        /// Write these bytes.
        case forward(ByteBuffer)
        /// Count so many bytes as swallowed.
        case swallow(Int)
        /// Nothing before this time.
        case wait(until: Duration)
        /// Tell the destination that no more comes.
        case finish
        /// The source was lost: reset the destination.
        case reset
        /// End the whole connection.
        case cut(FaultProxy.Ending)
        /// Nothing before something happens.
        case rest
    }

    /// How many bytes are held at most; the source is not read beyond.
    static let limit = 1 << 20
    /// How many reads are held at most: the smallest costs a buffer too.
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
    /// When the newest byte is due: nothing overtakes it.
    private var newestDue = Duration.zero
    /// When the rate allows the next byte.
    private var allowedFrom = Duration.zero
    private var isHalfClosing = false
    /// Nothing can be written to the destination any more.
    private(set) var isOutputClosed = false

    init(rules: Rules, seed: UInt64) {
        self.rules = rules
        generator = SeededGenerator(seed: seed)
    }

    var wantsInput: Bool { !hasEnded && queuedBytes < Self.limit && queue.count < Self.readLimit }

    /// Whether the source has ended or was lost.
    var hasEnded: Bool { if case .open = tail { false } else { true } }

    /// Whether nothing more can happen in this direction.
    var isOver: Bool { if case .over = tail { isOutputClosed && queue.isEmpty } else { false } }

    /// The rules have changed. What waits is late by the new rules at most.
    mutating func change(_ rules: Rules, at now: Duration) {
        self.rules = rules
        allowedFrom = now
        let latest = now + rules.longestDelay
        for index in queue.indices { queue[index].due = min(queue[index].due, latest) }
        newestDue = min(newestDue, latest)
        if case .ended(let due, let isLost) = tail { tail = .ended(due: min(due, latest), isLost: isLost) }
    }

    mutating func strike(_ fault: FaultProxy.MessageFault) { frames.strike(fault) }

    /// Bytes came from the source; to how many messages among them something was done.
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

    /// The destination was lost: what comes is thrown away.
    mutating func destinationLost() { isOutputClosed = true }

    /// Ends the destination's input now; what waits and what comes is thrown away.
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

    /// The next thing to do; to be asked until it says `wait` or `rest`.
    /// - Parameter canForward: whether the destination takes bytes.
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
            // A fiftieth of a second's bytes at once: few enough to look even, many enough to reach the rate.
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

    /// Takes bytes off the front of the queue, as many as the first read has at most.
    private mutating func take(_ length: Int) -> ByteBuffer {
        queuedBytes -= length
        guard queue[queue.startIndex].bytes.readableBytes > length else { return queue.removeFirst().bytes }
        return queue[queue.startIndex].bytes.readSlice(length: length) ?? ByteBuffer()
    }
}
