import NIOConcurrencyHelpers
import NIOCore

/// Bytes waiting to be written: callers append under a lock, and the event loop takes everything once a turn.
final class OutboundBuffer: Sendable {
    private struct State {
        var buffer: ByteBuffer
        var isFlushScheduled = false
        var writesInFlight = 0
        /// Whether a buffer was asked for while too many writes were in flight.
        var isHeld = false
        /// Bytes appended and not yet taken by the socket.
        var unwritten = 0
        var written = 0
        var drainWaiters: [Completion<Result<Void, NATSError>>] = []
        var closedBy: NATSError?
    }

    private let state: NIOLockedValueBox<State>
    private let highWaterMark: Int
    private let limit: Int

    init(highWaterMark: Int, limit: Int) {
        // A writer that waits after a refusal must find room, so the mark is never above the limit.
        self.highWaterMark = min(highWaterMark, limit)
        self.limit = limit
        state = NIOLockedValueBox(State(buffer: ByteBuffer()))
    }

    /// Whether the caller must schedule a flush, and whether it may continue.
    typealias Appended = (needsFlush: Bool, isBelowHighWaterMark: Bool)

    /// Appends through `write`. Throws if the connection has ended or the limit is reached, except for the few bytes of
    /// a command that ends an earlier one, which must not be lost for want of room.
    @inline(__always)
    func append(isEnding: Bool = false, _ write: (inout ByteBuffer) -> Void) throws(NATSError) -> Appended {
        try state.withLockedValueThrowing { state throws(NATSError) -> Appended in
            if let error = state.closedBy { throw error }
            guard state.unwritten < limit || isEnding else { throw .outboundBufferFull(bytes: state.unwritten) }
            let before = state.buffer.writerIndex
            write(&state.buffer)
            state.unwritten += state.buffer.writerIndex - before
            let needsFlush = !state.isFlushScheduled
            state.isFlushScheduled = true
            return (needsFlush, state.unwritten < highWaterMark)
        }
    }

    /// Holds back flushes until ``release()``; false if one is scheduled already.
    func hold() -> Bool {
        state.withLockedValue { state in
            guard !state.isFlushScheduled, state.closedBy == nil else { return false }
            state.isFlushScheduled = true
            return true
        }
    }

    /// Ends a hold; returns whether the caller must schedule a flush.
    func release() -> Bool {
        state.withLockedValue { state in
            state.isFlushScheduled = state.buffer.readableBytes > 0
            return state.isFlushScheduled
        }
    }

    /// The most writes in flight. Each costs a few hundred bytes of overhead, so beyond this number small messages are
    /// collected here instead, where they cost only their own bytes.
    static let maximumWrites = 32

    /// Takes everything that waits; nil if nothing does, or while ``maximumWrites`` are in flight. The caller reports
    /// the end of each write with ``ended()``.
    func take() -> ByteBuffer? {
        state.withLockedValue { state in
            guard state.writesInFlight < Self.maximumWrites else {
                state.isHeld = true
                return nil
            }
            state.isFlushScheduled = false
            guard state.buffer.readableBytes > 0 else { return nil }
            let taken = state.buffer
            // A steady stream fills the next buffer as far as this one, so it gets the same size at once.
            state.buffer = ByteBufferAllocator().buffer(capacity: min(taken.readableBytes, 256 << 10))
            state.writesInFlight += 1
            return taken
        }
    }

    /// Counts a write that has succeeded or failed; returns whether another was put off meanwhile, so that a flush is
    /// needed.
    func ended() -> Bool {
        state.withLockedValue { state in
            state.writesInFlight -= 1
            return exchange(&state.isHeld, with: false)
        }
    }

    func written(_ bytes: Int) {
        let waiters = state.withLockedValue { state -> [Completion<Result<Void, NATSError>>] in
            state.unwritten -= bytes
            state.written += bytes
            guard state.unwritten < highWaterMark / 2, !state.drainWaiters.isEmpty else { return [] }
            return exchange(&state.drainWaiters, with: [])
        }
        for waiter in waiters { waiter.fulfil(.success(())) }
    }

    /// Bytes appended and not yet taken by the socket.
    var unwrittenBytes: Int { state.withLockedValue { $0.unwritten } }

    var progress: (written: Int, unwritten: Int) { state.withLockedValue { ($0.written, $0.unwritten) } }

    /// Registers a waiter for the fall below half the high-water mark; nil if it need not wait.
    func drainWaiter() throws(NATSError) -> Completion<Result<Void, NATSError>>? {
        try state.withLockedValueThrowing { state throws(NATSError) -> Completion<Result<Void, NATSError>>? in
            if let error = state.closedBy { throw error }
            guard state.unwritten >= highWaterMark / 2 else { return nil }
            let waiter = Completion<Result<Void, NATSError>>()
            state.drainWaiters.append(waiter)
            return waiter
        }
    }

    func close(_ error: NATSError) {
        let waiters = state.withLockedValue { state -> [Completion<Result<Void, NATSError>>] in
            if state.closedBy == nil { state.closedBy = error }
            state.buffer = ByteBuffer()
            return exchange(&state.drainWaiters, with: [])
        }
        for waiter in waiters { waiter.fulfil(.failure(error)) }
    }
}
