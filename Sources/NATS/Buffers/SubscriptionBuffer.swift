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
    }

    /// The most messages held, at least 1.
    public var messages: Int
    /// The most bytes held, headers included, at least 1. Of the two subjects, only the bytes beyond 512 count.
    public var bytes: Int
    /// What is dropped beyond that.
    public var overflow: Overflow

    /// Creates limits.
    public init(messages: Int = 65_536, bytes: Int = 64 << 20, overflow: Overflow = .dropNewest) {
        self.messages = max(1, messages)
        self.bytes = max(1, bytes)
        self.overflow = overflow
    }
}

/// How long a reader waits for several messages to come together. Where two programs share a processor, each wake-up
/// takes time from the other.
struct Gathering {
    /// This many messages, or ``bytes``, are enough.
    let count: Int
    /// From here on a single message is enough; without one, the reader waits on.
    let end: NIODeadline

    /// This many bytes are enough, however few the messages.
    static let bytes = 128 << 10
    static let patience = TimeAmount.milliseconds(5)

    init?(of count: Int, now: NIODeadline = .now()) {
        guard count > 1 else { return nil }
        self.count = count
        end = now + Self.patience
    }
}

/// One read from the socket, whose memory its messages share.
struct ReadChunk {
    var number: UInt64
    var capacity: Int
}

/// Messages between the event loop, which delivers a batch per read, and one reader, which takes entire batches. A
/// second reader that begins to wait ends the wait of the first.
final class SubscriptionBuffer: Sendable {
    enum Ending: Sendable {
        /// Unsubscribed, or the connection was closed by its owner.
        case finished
        case failed(NATSError)
    }

    enum Wakeup: Sendable { case ready, cancelled, deadline }

    private struct State {
        var queue: [NATSMessage] = []
        var bytes = 0
        /// The memory of all reads whose messages wait here.
        var kept = 0
        var lastChunk: UInt64?
        var dropped = 0
        var delivered = 0
        /// The number of messages, counted from the beginning, after which the subscription ends.
        var maximum: Int?
        var ending: Ending?
        var reader = WaitingReader()

        /// Whether the waiting messages are all that the reader asks for, or all that will ever come.
        func isEnough(_ gathering: Gathering?, _ limits: BufferLimits) -> Bool {
            guard let gathering, ending == nil else { return true }
            return queue.count >= min(gathering.count, limits.messages) || isMuch(limits)
        }

        /// Whether so many bytes wait that no reader need wait for more.
        func isMuch(_ limits: BufferLimits) -> Bool { bytes >= min(Gathering.bytes, limits.bytes) }

        /// Copies the messages together, which frees the reads they came with.
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
    let limits: BufferLimits
    /// Runs the alarm of a reader with a deadline.
    private let eventLoop: any EventLoop
    private let state = NIOLockedValueBox(State())

    init(sid: UInt64, subject: String, limits: BufferLimits, on eventLoop: any EventLoop) {
        self.eventLoop = eventLoop
        self.sid = sid
        self.subject = subject
        self.limits = limits
    }

    var dropped: Int { state.withLockedValue { $0.dropped } }
    var waitingBytes: Int { state.withLockedValue { $0.bytes } }
    var delivered: Int { state.withLockedValue { $0.delivered } }

    /// Ends the subscription once it has delivered `maximum` messages in all; false if it already has.
    func end(after maximum: Int) -> Bool {
        state.withLockedValue { state in
            guard state.ending == nil, maximum > state.delivered else { return false }
            state.maximum = maximum
            return true
        }
    }

    /// Takes over a batch; `batch` comes back empty, with room for the next. Returns the total of lost messages if the
    /// buffer has overflowed.
    func deliver(_ batch: inout [NATSMessage], of chunk: ReadChunk) -> Int? {
        let size = batch.reduce(0) { $0 + $1.size }
        let (lost, reader) = state.withLockedValue { state -> (Int?, Completion<Wakeup>?) in
            guard state.ending == nil else {
                batch.removeAll(keepingCapacity: true)
                return (nil, nil)
            }
            var bytes = size
            if let maximum = state.maximum, state.delivered + batch.count >= maximum {
                while state.delivered + batch.count > maximum, let surplus = batch.popLast() {
                    bytes -= surplus.size
                }
                state.ending = .finished
            }
            state.delivered += batch.count
            var lost: Int?
            let waiting = state.queue.count
            if state.queue.count + batch.count <= limits.messages, state.bytes + bytes <= limits.bytes {
                if state.queue.isEmpty {
                    swap(&state.queue, &batch)
                } else {
                    state.queue.append(contentsOf: batch)
                }
                state.bytes += bytes
            } else {
                overflow(batch, bytes: bytes, &state)
                lost = state.dropped
            }
            batch.removeAll(keepingCapacity: true)
            if state.lastChunk != chunk.number, state.queue.count > waiting || limits.overflow == .dropOldest {
                state.lastChunk = chunk.number
                state.kept += chunk.capacity
                if state.kept > 2 * state.bytes + Self.surplus { state.compact() }
            }
            // At a limit or the end nothing more may arrive, so there is no reason to gather.
            guard lost == nil, state.ending == nil, !state.isMuch(limits) else { return (lost, state.reader.take()) }
            return (nil, state.reader.take(at: state.queue.count))
        }
        reader?.fulfil(.ready)
        return lost
    }

    /// How much more memory than twice their size waiting messages may keep before they are copied out of their reads.
    /// It is small enough that many reads with one short message each do not add up.
    private static let surplus = 1 << 20

    private func overflow(_ batch: [NATSMessage], bytes: Int, _ state: inout State) {
        switch limits.overflow {
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
        }
    }

    /// Waits for messages, or a moment for `count` of them, and moves all into `batch`, the next one last. `batch`
    /// stays empty at the subscription's end and when the task is cancelled. Throws `timeout` at the deadline, or the
    /// error that ended the subscription.
    func refill(
        _ batch: inout [NATSMessage], until deadline: NIODeadline, gathering count: Int = 1,
        isolation actor: isolated (any Actor)? = #isolation
    ) async throws(NATSError) {
        var gathering = Gathering(of: count)
        while true {
            switch take(into: &batch, until: deadline, gathering: gathering) {
            case .batch: if !batch.isEmpty { return }
            case .ended(.finished): return
            case .ended(.failed(let error)): throw error
            case .wait(let wakeup, let alarm):
                if let alarm { setAlarm(alarm) }
                let outcome = await withTaskCancellationHandler {
                    await wakeup.value()
                } onCancel: {
                    wakeup.fulfil(.cancelled)
                }
                if case .ready = outcome { continue }
                state.withLockedValue { $0.reader.remove(wakeup) }
                guard case .deadline = outcome else { return }
                guard gathering != nil else { throw .timeout("no message on \(subject)") }
                gathering = nil
            }
        }
    }

    enum Taken {
        /// Messages were moved into the reader's batch, last one first.
        case batch
        case ended(Ending)
        /// To be awaited; the caller passes `alarm`, if there is one, to `setAlarm`.
        case wait(Completion<Wakeup>, alarm: NIODeadline?)
    }

    /// Moves all waiting messages into `batch` in reverse, so that the reader pops them without moving the rest. With
    /// `gathering`, waits until enough have come together.
    func take(
        into batch: inout [NATSMessage], until deadline: NIODeadline = .distantFuture, gathering: Gathering? = nil
    ) -> Taken {
        let (taken, other) = state.withLockedValue { state -> (Taken, Completion<Wakeup>?) in
            if !state.queue.isEmpty, state.isEnough(gathering, limits) {
                swap(&state.queue, &batch)
                state.bytes = 0
                state.kept = 0
                state.lastChunk = nil
                return (.batch, nil)
            }
            if let ending = state.ending { return (.ended(ending), nil) }
            let other = state.reader.take()
            let (wakeup, alarm) = state.reader.wait(
                until: gathering.map { min($0.end, deadline) } ?? deadline,
                for: min(gathering?.count ?? 1, limits.messages))
            return (.wait(wakeup, alarm: alarm), other)
        }
        other?.fulfil(.cancelled)
        if case .batch = taken { batch.reverse() }
        return taken
    }

    /// Sets the alarm to this moment, and again for as long as a reader needs it.
    func setAlarm(_ moment: NIODeadline) {
        let timer = eventLoop.scheduleTask(deadline: moment) { [weak self, eventLoop] in
            guard let self else { return }
            let (late, next) = state.withLockedValue { $0.reader.ring(moment, now: eventLoop.now) }
            late?.fulfil(.deadline)
            if let next { setAlarm(next) }
        }
        state.withLockedValue { $0.reader.keep(timer, for: moment) }?.cancel()
    }

    /// No further message will arrive. Those that wait can still be read.
    func end(_ ending: Ending) {
        let waiting = state.withLockedValue { state in
            // The last message that was allowed may have ended it already.
            if state.ending == nil { state.ending = ending }
            return state.reader.end()
        }
        waiting.timer?.cancel()
        waiting.reader?.fulfil(.ready)
    }
}

/// The reader that waits for a buffer, and the alarm for its deadline.
///
/// A reader of many messages waits thousands of times a second, each time with a deadline that is seconds away and
/// hardly ever reached. So an alarm that is set outlives its wait and checks, when it rings, which reader waits then:
/// one alarm for many waits. A timer for each would wake the event loop twice.
private struct WaitingReader {
    typealias Wakeup = Completion<SubscriptionBuffer.Wakeup>

    private var reader: (wakeup: Wakeup, deadline: NIODeadline, count: Int)?
    /// When the alarm rings; nil while none is set.
    private var alarm: NIODeadline?
    private var timer: Scheduled<Void>?

    /// Has the reader wait for `count` messages. The caller sets the alarm if one is returned.
    mutating func wait(until deadline: NIODeadline, for count: Int) -> (wakeup: Wakeup, alarm: NIODeadline?) {
        let wakeup = Wakeup()
        reader = (wakeup, deadline, count)
        return (wakeup, setAlarm())
    }

    mutating func remove(_ wakeup: Wakeup) { if reader?.wakeup === wakeup { reader = nil } }

    /// Removes the reader, to wake it, if `count` messages are enough for it.
    mutating func take(at count: Int = .max) -> Wakeup? {
        guard let reader, reader.count <= count else { return nil }
        self.reader = nil
        return reader.wakeup
    }

    /// The alarm rings: removes the reader if its time is up, and returns when to ring next, if at all.
    mutating func ring(_ moment: NIODeadline, now: NIODeadline) -> (late: Wakeup?, alarm: NIODeadline?) {
        if alarm == moment { (alarm, timer) = (nil, nil) }
        if let reader, reader.deadline <= now { return (take(), nil) }
        return (nil, setAlarm())
    }

    private mutating func setAlarm() -> NIODeadline? {
        guard let reader, reader.deadline < alarm ?? .distantFuture else { return nil }
        alarm = reader.deadline
        return alarm
    }

    /// Keeps the timer of the alarm. Returns the timer to cancel: the previous one, or this one if the alarm has rung
    /// since, was set to an earlier moment, or is not needed any more.
    mutating func keep(_ timer: Scheduled<Void>, for moment: NIODeadline) -> Scheduled<Void>? {
        alarm == moment ? exchange(&self.timer, with: timer) : timer
    }

    /// Removes the reader, to wake it, and the timer, which is not needed any more.
    mutating func end() -> (reader: Wakeup?, timer: Scheduled<Void>?) {
        defer { (alarm, timer) = (nil, nil) }
        return (take(), timer)
    }
}
