import NIOConcurrencyHelpers
import NIOCore

/// How much a subscription holds for a slow reader, and what is dropped beyond that.
public struct BufferLimits: Sendable, Hashable {
    /// What happens to messages that find the buffer full.
    public enum Overflow: Sendable, Hashable {
        /// The arriving message is dropped, counted and reported.
        case dropNewest
        /// The oldest waiting message is dropped, counted and reported.
        case dropOldest
        /// Reading from the socket stops until the reader catches up. Other subscriptions wait too, and the server
        /// ends a connection that stays unread for long (its write deadline, 10 s by default).
        case pauseReading
    }

    /// Most messages held, at least 1.
    public var messages: Int
    /// Most bytes held, headers included, at least 1. Of subject and reply subject only what goes beyond 512 bytes
    /// counts.
    public var bytes: Int
    /// What happens beyond that.
    public var overflow: Overflow

    /// Creates limits.
    public init(messages: Int = 65_536, bytes: Int = 64 << 20, overflow: Overflow = .dropNewest) {
        self.messages = max(1, messages)
        self.bytes = max(1, bytes)
        self.overflow = overflow
    }
}

/// What a reader of many messages waits for where none is at hand: that some have come together. Between two programs
/// that share a processor each wake-up is time that the other one lacks.
struct Gathering {
    /// So many messages, or ``bytes``, are enough.
    let count: Int
    /// When as many as there are then are enough. Where there is none, the reader waits on for the first.
    let end: NIODeadline

    /// So many bytes are enough, however few messages they are.
    static let bytes = 128 << 10
    /// For so long at most.
    static let patience = TimeAmount.milliseconds(5)

    init?(of count: Int, now: NIODeadline = .now()) {
        guard count > 1 else { return nil }
        self.count = count
        end = now + Self.patience
    }
}

/// One read from the socket: its messages share its memory.
struct ReadChunk {
    var number: UInt64
    var capacity: Int
}

/// Messages between the event loop, which delivers a batch per read, and one reader, which takes whole batches.
final class SubscriptionBuffer: Sendable {
    enum Delivery {
        case accepted
        /// The buffer overflowed; the number is the total lost so far.
        case dropped(total: Int)
        /// Reading has to stop.
        case pause
    }

    enum Ending: Sendable {
        /// Unsubscribed, or the connection was closed by its owner.
        case finished
        case failed(NATSError)
    }

    enum Wakeup: Sendable { case ready, cancelled, deadline }

    private struct State {
        var queue: [NATSMessage] = []
        var bytes = 0
        /// The memory of all reads of which messages wait here.
        var kept = 0
        var lastChunk: UInt64?
        var dropped = 0
        var delivered = 0
        /// After how many messages in all the subscription ends.
        var maximum: Int?
        var isPaused = false
        var ending: Ending?
        var readers = WaitingReaders()

        /// Whether what waits is as much as a reader wants together, or all that there will be.
        func isEnough(_ gathering: Gathering?, _ limits: BufferLimits) -> Bool {
            guard let gathering, ending == nil, !isPaused else { return true }
            return queue.count >= min(gathering.count, limits.messages) || isMuch(limits)
        }

        /// Whether what waits has so many bytes that nobody need wait for more.
        func isMuch(_ limits: BufferLimits) -> Bool { bytes >= min(Gathering.bytes, limits.bytes) }

        /// Copies the messages together, so that the reads they came with are free.
        mutating func compact() {
            var block = ByteBuffer()
            var start = 0
            func share(_ end: Int, _ queue: inout [NATSMessage]) {
                for index in start..<end {
                    guard let content = block.readSlice(length: queue[index].content.readableBytes) else { return }
                    queue[index] = queue[index].with(content)
                }
            }
            for index in queue.indices {
                var content = queue[index].content
                if block.readableBytes > 0, block.readableBytes + content.readableBytes > SubscriptionBuffer.surplus / 4
                {
                    share(index, &queue)
                    (block, start) = (ByteBuffer(), index)
                }
                block.writeBuffer(&content)
            }
            share(queue.count, &queue)
            kept = bytes
        }
    }

    let sid: UInt64
    let subject: String
    let queueGroup: String?
    let limits: BufferLimits
    private let state = NIOLockedValueBox(State())

    init(sid: UInt64, subject: String, queueGroup: String?, limits: BufferLimits) {
        self.sid = sid
        self.subject = subject
        self.queueGroup = queueGroup
        self.limits = limits
    }

    var dropped: Int { state.withLockedValue { $0.dropped } }
    /// Bytes of the messages that wait to be read.
    var waitingBytes: Int { state.withLockedValue { $0.bytes } }
    var delivered: Int { state.withLockedValue { $0.delivered } }

    /// Has the subscription end by itself once `maximum` messages have come in all; false when they have already.
    func end(after maximum: Int) -> Bool {
        state.withLockedValue { state in
            guard state.ending == nil, maximum > state.delivered else { return false }
            state.maximum = maximum
            return true
        }
    }

    /// Takes a batch over; `batch` comes back empty, with room for the next.
    func deliver(_ batch: inout [NATSMessage], bytes: Int, of chunk: ReadChunk) -> Delivery {
        let (delivery, readers) = state.withLockedValue { state -> (Delivery, [Completion<Wakeup>]) in
            guard state.ending == nil else {
                batch.removeAll(keepingCapacity: true)
                return (.accepted, [])
            }
            var bytes = bytes
            if let maximum = state.maximum, state.delivered + batch.count >= maximum {
                while state.delivered + batch.count > maximum, let surplus = batch.popLast() {
                    bytes -= surplus.size
                }
                state.ending = .finished
            }
            state.delivered += batch.count
            var delivery = Delivery.accepted
            let waiting = state.queue.count
            if state.queue.count + batch.count <= limits.messages, state.bytes + bytes <= limits.bytes {
                if state.queue.isEmpty {
                    swap(&state.queue, &batch)
                } else {
                    state.queue.append(contentsOf: batch)
                }
                state.bytes += bytes
            } else {
                delivery = overflow(batch, bytes: bytes, &state)
            }
            batch.removeAll(keepingCapacity: true)
            if state.lastChunk != chunk.number, state.queue.count > waiting || limits.overflow == .dropOldest {
                state.lastChunk = chunk.number
                state.kept += chunk.capacity
                if state.kept > 2 * state.bytes + Self.surplus { state.compact() }
            }
            // Nothing more may come of what the bounds, or the end, keep out.
            guard case .accepted = delivery, state.ending == nil, !state.isPaused, !state.isMuch(limits) else {
                return (delivery, state.readers.takeAll())
            }
            return (delivery, state.readers.take(at: state.queue.count))
        }
        for reader in readers { reader.fulfil(.ready) }
        return delivery
    }

    /// So much more memory than twice what they hold may waiting messages keep before they are copied out of their
    /// reads: so little of it that one read after the other can be kept for one short message in each.
    private static let surplus = 1 << 20

    private func overflow(_ batch: [NATSMessage], bytes: Int, _ state: inout State) -> Delivery {
        switch limits.overflow {
        case .pauseReading:
            state.queue.append(contentsOf: batch)
            state.bytes += bytes
            // The reader resumes once, so one pause is all that may be counted.
            if state.isPaused { return .accepted }
            state.isPaused = true
            return .pause
        case .dropNewest:
            for message in batch {
                let size = message.size
                if state.queue.count < limits.messages, state.bytes + size <= limits.bytes {
                    state.queue.append(message)
                    state.bytes += size
                } else {
                    state.dropped += 1
                }
            }
            return .dropped(total: state.dropped)
        case .dropOldest:
            state.queue.append(contentsOf: batch)
            state.bytes += bytes
            var surplus = 0
            while state.queue.count - surplus > limits.messages || state.bytes > limits.bytes,
                surplus < state.queue.count
            {
                state.bytes -= state.queue[surplus].size
                surplus += 1
            }
            state.queue.removeFirst(surplus)
            state.dropped += surplus
            return .dropped(total: state.dropped)
        }
    }

    enum Taken {
        /// Messages were moved into the reader's batch, last one first; `resumesReading` when the socket waits.
        case batch(resumesReading: Bool)
        case ended(Ending)
        /// To be waited for; `alarm` is what the caller is to call `setAlarm` with, nil where it need not.
        case wait(Completion<Wakeup>, alarm: NIODeadline?)
    }

    /// Moves all waiting messages into `batch` in reverse, so that the reader pops them without moving the rest.
    ///
    /// - Parameters:
    ///   - deadline: how long to wait where there is nothing.
    ///   - gathering: what to wait for where there is little; nil takes what there is.
    func take(
        into batch: inout [NATSMessage], until deadline: NIODeadline = .distantFuture, gathering: Gathering? = nil
    ) -> Taken {
        let taken = state.withLockedValue { state -> Taken in
            if !state.queue.isEmpty, state.isEnough(gathering, limits) {
                swap(&state.queue, &batch)
                state.bytes = 0
                state.kept = 0
                state.lastChunk = nil
                let resumes = state.isPaused
                state.isPaused = false
                return .batch(resumesReading: resumes)
            }
            if let ending = state.ending { return .ended(ending) }
            let (wakeup, alarm) = state.readers.add(
                until: gathering.map { min($0.end, deadline) } ?? deadline,
                for: min(gathering?.count ?? 1, limits.messages))
            return .wait(wakeup, alarm: alarm)
        }
        if case .batch = taken { batch.reverse() }
        return taken
    }

    /// Forgets a reader that gave up.
    func abandon(_ wakeup: Completion<Wakeup>) {
        state.withLockedValue { $0.readers.remove(wakeup) }
    }

    /// Has `ring` called at this moment, and whenever that shows to be needed again.
    func setAlarm(_ moment: NIODeadline, on eventLoop: any EventLoop) {
        let timer = eventLoop.scheduleTask(deadline: moment) { [weak self] in
            if let next = self?.ring(moment, now: eventLoop.now) { self?.setAlarm(next, on: eventLoop) }
        }
        state.withLockedValue { $0.readers.keep(timer, for: moment) }?.cancel()
    }

    /// Ends the waits whose time is up; when the next one is.
    private func ring(_ moment: NIODeadline, now: NIODeadline) -> NIODeadline? {
        let (late, next) = state.withLockedValue { $0.readers.ring(moment, now: now) }
        for reader in late { reader.fulfil(.deadline) }
        return next
    }

    /// No further message will come. What waits can still be read. True when that stops a pause.
    @discardableResult
    func end(_ ending: Ending) -> Bool {
        let (waiting, wasPaused) = state.withLockedValue { state in
            // The message that was the last one allowed may have ended it before, and paused the reading too.
            if state.ending == nil { state.ending = ending }
            let wasPaused = state.isPaused
            state.isPaused = false
            return (state.readers.end(), wasPaused)
        }
        waiting.timer?.cancel()
        for reader in waiting.readers { reader.fulfil(.ready) }
        return wasPaused
    }
}
