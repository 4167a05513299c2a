import CChildProcess
import Dispatch
import Foundation
import NIOConcurrencyHelpers
import Platform

/// The line to one running program: a thread that carries bytes both ways, and tasks that await what it sees.
final class ChildLink: Sendable {
    /// Where the program's bytes come from and go to.
    struct Streams: Sendable {
        /// Descriptors to read, each named by its index.
        var outputs: [Int32]
        /// The descriptor to write, or -1.
        var input: Int32
    }

    /// What is known of the program.
    struct Condition: Sendable {
        var exit: CommandStatus?
        var isStopped = false
        /// For each output: whether its end has been read.
        var ended: [Bool]
        var isClosed = false
    }

    private struct State {
        var condition: Condition
        var openInput: Bool
        var unsent: [UInt8] = []
        var isReadingPaused = false
        var wantsInputClosed = false
        var wantsHangUp = false
        var wantsClose = false
        var waiters: [Waiting] = []
    }

    /// What a task waits for.
    ///
    /// Unchecked: `looks` is called by the link's thread alone, and only while the task does nothing but wait.
    private final class Waiter: @unchecked Sendable {
        private let deadline: ContinuousClock.Instant
        private var looks: (() -> Bool)?
        private let isCancelled = NIOLockedValueBox(false)

        init(until deadline: ContinuousClock.Instant, _ looks: @escaping () -> Bool) {
            self.deadline = deadline
            self.looks = looks
        }

        func cancel() { isCancelled.withLockedValue { $0 = true } }

        /// Whether it is there, or waited for no longer.
        ///
        /// What it looks with is let go of then, before the task goes on: the thread must not be the last to hold a
        /// program, whose end it would wait for.
        func isOver(isClosed: Bool) -> Bool {
            let isThere = isClosed || (looks?() ?? true)
            let isGivenUp = isCancelled.withLockedValue { $0 } || ContinuousClock.now >= deadline
            guard isThere || isGivenUp else { return false }
            looks = nil
            return true
        }
    }

    /// A task that waits.
    private struct Waiting: Sendable {
        let waiter: Waiter
        let continuation: CheckedContinuation<Void, Never>
    }

    /// What was found, where it was.
    private final class Found<Value> {
        var value: Value?
    }

    /// What a program may be sent and has not read yet, in bytes.
    static let unsentLimit = 64 << 20

    /// A program that no longer reads is a failed write, not the end of the test run.
    private static let ignoresBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    let processID: Int32
    private let handle: child_handle
    private let streams: Streams
    private let wakePipe: (reader: Int32, writer: Int32)
    private let state: NIOLockedValueBox<State>
    private let finished = DispatchSemaphore(value: 0)
    /// Takes what was read; returns what to answer.
    private let receive: @Sendable (_ output: Int, _ bytes: UnsafeRawBufferPointer) -> [UInt8]

    init(
        handle: child_handle, streams: Streams,
        receive: @escaping @Sendable (_ output: Int, _ bytes: UnsafeRawBufferPointer) -> [UInt8]
    ) throws {
        Self.ignoresBrokenPipes
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw TestFailure("cannot make a pipe: errno \(errno)") }
        for descriptor in ends + streams.outputs + [streams.input] where descriptor >= 0 {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        }
        self.handle = handle
        self.processID = handle.process
        self.streams = streams
        self.receive = receive
        wakePipe = (ends[0], ends[1])
        let condition = Condition(ended: streams.outputs.map { _ in false })
        state = NIOLockedValueBox(State(condition: condition, openInput: streams.input >= 0))
        let thread = Thread { self.run() }
        thread.name = "child \(processID)"
        thread.start()
    }

    // MARK: - Asking

    var condition: Condition { state.withLockedValue { $0.condition } }

    /// The first value that `probe` returns, looked for whenever the program has done something; nil at the deadline.
    ///
    /// It is the link's own thread that looks, so that what is there for some seconds is found, however long a busy
    /// machine keeps the task from its turn.
    func wait<Value>(
        until deadline: ContinuousClock.Instant, for probe: @escaping () throws -> Value?
    ) async rethrows -> Value? {
        while true {
            let isLast = ContinuousClock.now >= deadline || Task.isCancelled || condition.isClosed
            if let value = try probe() { return value }
            if isLast { return nil }
            if let value = await look(until: deadline, for: probe) { return value }
        }
    }

    /// What `probe` returns first; nil where the task has to look for itself: when that throws, and when all is over.
    private func look<Value>(
        until deadline: ContinuousClock.Instant, for probe: @escaping () throws -> Value?
    ) async -> Value? {
        let found = Found<Value>()
        let waiter = Waiter(until: deadline) {
            do { found.value = try probe() } catch { return true }
            return found.value != nil
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let isClosed = state.withLockedValue { state in
                    if state.condition.isClosed { return true }
                    state.waiters.append(Waiting(waiter: waiter, continuation: continuation))
                    return false
                }
                if isClosed { continuation.resume() } else { wake() }
            }
        } onCancel: {
            waiter.cancel()
            self.wake()
        }
        return found.value
    }

    // MARK: - Telling

    func write(_ bytes: some Sequence<UInt8>) throws {
        let fits = state.withLockedValue { state in
            guard state.openInput, state.unsent.count < Self.unsentLimit else { return false }
            state.unsent.append(contentsOf: bytes)
            return true
        }
        guard fits else { throw TestFailure("the program takes no more input") }
        wake()
    }

    /// How many bytes wait for the program to take them.
    var unsentCount: Int { state.withLockedValue { $0.unsent.count } }

    func command(_ kind: Int, _ value: Int32 = 0) {
        state.withLockedValue { state in
            guard !state.condition.isClosed else { return }
            // Who stops it again waits for another report.
            if kind == CHILD_COMMAND_SIGNAL && value == SIGCONT { state.condition.isStopped = false }
            var record = child_record(kind: Int32(kind), value: value)
            _ = Self.write(handle.commands, &record, MemoryLayout<child_record>.size)
        }
    }

    /// Ends the program's input once all of it is sent.
    func closeInput() { change { $0.wantsInputClosed = true } }

    func pauseReading(_ isPaused: Bool) { change { $0.isReadingPaused = isPaused } }

    /// Closes a terminal, as happens when its window is closed.
    func hangUp() { change { $0.wantsHangUp = true } }

    /// Kills what still runs and returns when it is gone; safe to call again.
    func close() {
        change { $0.wantsClose = true }
        finished.wait()
        finished.signal()
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLockedValue { body(&$0) }
        wake()
    }

    private func wake() {
        state.withLockedValue { state in
            guard !state.condition.isClosed else { return }
            var byte: UInt8 = 0
            _ = Self.write(wakePipe.writer, &byte, 1)
        }
    }

    // MARK: - The thread

    private static let readEvent = Int16(POLLIN)
    private static let writeEvent = Int16(POLLOUT)
    /// So long nobody looks while more and more comes.
    private static let longestFlow = Duration.milliseconds(20)

    private func run() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        var lastLook = ContinuousClock.now
        var isLookDue = false
        while !state.withLockedValue({ $0.wantsClose }) {
            settleInput()
            var (waits, timeout) = nextWaits(isLookDue)
            let count = poll(&waits, nfds_t(waits.count), timeout)
            guard count >= 0 || errno == EINTR else { break }
            _ = Self.read(wakePipe.reader, buffer)
            if waits[1].revents != 0 { readReports() }
            for index in streams.outputs.indices where waits[2 + index].revents & ~Self.writeEvent != 0 {
                readOutput(index, into: buffer)
            }
            // What there is to read is read first: a look takes longer, and half of a frame is none.
            isLookDue = count > 0 && ContinuousClock.now - lastLook < Self.longestFlow
            guard !isLookDue else { continue }
            wakeWaiters()
            lastLook = ContinuousClock.now
        }
        shutDown()
    }

    private func nextWaits(_ isLookDue: Bool) -> (waits: [pollfd], timeout: Int32) {
        state.withLockedValue { state in
            let outputs = streams.outputs.indices.map { index in
                let isOpen = !state.condition.ended[index] && !state.isReadingPaused
                return pollfd(fd: isOpen ? streams.outputs[index] : -1, events: Self.readEvent, revents: 0)
            }
            let wantsToWrite = state.openInput && !state.unsent.isEmpty
            let report = pollfd(
                fd: state.condition.exit == nil ? handle.reports : -1, events: Self.readEvent, revents: 0)
            let waits =
                [pollfd(fd: wakePipe.reader, events: Self.readEvent, revents: 0), report] + outputs
                + [pollfd(fd: wantsToWrite ? streams.input : -1, events: Self.writeEvent, revents: 0)]
            // For the deadline of those who wait.
            return (waits, state.waiters.isEmpty ? -1 : isLookDue ? 0 : 50)
        }
    }

    private func readReports() {
        var record = child_record()
        let count = withUnsafeMutableBytes(of: &record) { Self.read(handle.reports, $0) }
        state.withLockedValue { state in
            switch Int(record.kind) {
            case _ where count != MemoryLayout<child_record>.size: state.condition.exit = .signalled(SIGKILL)
            case CHILD_REPORT_STOPPED: state.condition.isStopped = true
            case CHILD_REPORT_CONTINUED: state.condition.isStopped = false
            case CHILD_REPORT_EXITED:
                state.condition.exit = CommandStatus(waitStatus: record.value)
                state.condition.isStopped = false
            default: break
            }
        }
    }

    private func readOutput(_ index: Int, into buffer: UnsafeMutableRawBufferPointer) {
        let count = Self.read(streams.outputs[index], buffer)
        if count > 0 {
            let answer = receive(index, UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            state.withLockedValue { if $0.openInput { $0.unsent.append(contentsOf: answer) } }
        } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
            state.withLockedValue { $0.condition.ended[index] = true }
        }
    }

    /// Sends what fits, and closes what is to be closed.
    private func settleInput() {
        state.withLockedValue { state in
            if state.wantsHangUp {
                state.wantsHangUp = false
                for index in streams.outputs.indices {
                    state.condition.ended[index] = true
                }
                if state.openInput { Self.close(streams.input) }
                state.openInput = false
            }
            guard state.openInput else { return }
            while !state.unsent.isEmpty {
                let count = state.unsent.withUnsafeBytes { Self.write(streams.input, $0.baseAddress, $0.count) }
                if count < 0 {
                    if errno != EAGAIN && errno != EINTR { state.unsent = [] }
                    break
                }
                state.unsent.removeFirst(count)
            }
            if state.wantsInputClosed && state.unsent.isEmpty {
                Self.close(streams.input)
                state.openInput = false
            }
        }
    }

    /// Lets those go on for whom there is something, or whose time is over.
    private func wakeWaiters() {
        let (waiters, isClosed) = state.withLockedValue { state in
            defer { state.waiters = [] }
            return (state.waiters, state.condition.isClosed)
        }
        // They look without the lock, which what they look at needs.
        var rest: [Waiting] = []
        for waiting in waiters {
            if waiting.waiter.isOver(isClosed: isClosed) {
                waiting.continuation.resume()
            } else {
                rest.append(waiting)
            }
        }
        if !rest.isEmpty { state.withLockedValue { $0.waiters = rest + $0.waiters } }
    }

    private func shutDown() {
        // Marked closed first: a descriptor number that is about to be used again must not be written to.
        let isHungUp = state.withLockedValue { state in
            state.condition.isClosed = true
            let isHungUp = !state.openInput && streams.outputs.contains(streams.input)
            if state.openInput { Self.close(streams.input) }
            state.openInput = false
            return isHungUp
        }
        for output in streams.outputs where output != streams.input && !isHungUp { Self.close(output) }
        Self.close(handle.commands)
        child_reap(handle.supervisor)
        for descriptor in [handle.reports, wakePipe.reader, wakePipe.writer] { Self.close(descriptor) }
        wakeWaiters()
        finished.signal()
    }

    private static func close(_ descriptor: Int32) {
        _ = Platform.close(descriptor)
    }

    private static func write(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        guard let bytes else { return 0 }
        return Platform.write(descriptor, bytes, count)
    }

    private static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        return Platform.read(descriptor, buffer.baseAddress, buffer.count)
    }
}
