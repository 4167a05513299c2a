import NIOConcurrencyHelpers

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A command line that `/bin/sh` runs for its output, such as a token.
///
/// It has no terminal and no input, and no other descriptor of this process. Everything that it starts, and leaves in its
/// process group, is killed when it ends or has to end. Should this process be killed meanwhile, the system ends the
/// shell alone, and that on Linux.
public struct ShellCommand: Sendable {
    /// What the shell is given.
    public var line: String
    /// All of its environment.
    public var environment: [String: String]
    /// The time it has.
    public var limit: Duration

    /// The output in bytes beyond which it is ended.
    public static let maximumOutput = 64 << 10

    /// Describes a command; nothing runs yet.
    public init(_ line: String, environment: [String: String], limit: Duration = .seconds(25)) {
        self.line = line
        self.environment = environment
        self.limit = limit
    }

    /// What a command that succeeded has left.
    public struct Output: Hashable, Sendable {
        /// Its standard output. May be a secret.
        public var text: String
        /// The last line that is not blank of its standard error; nil without any.
        public var lastComplaint: String?

        /// Describes what a command has left.
        public init(text: String, lastComplaint: String? = nil) {
            self.text = text
            self.lastComplaint = lastComplaint
        }
    }

    /// Runs the command. No thread of the tasks' pool waits for it. Cancelling the task ends it at once.
    ///
    /// - Throws: ``ShellCommandError``.
    public func run() async throws(ShellCommandError) -> Output {
        let (output, errors, end) = (try CommandPipe(), try CommandPipe(), try CommandPipe())
        let process: Subprocess
        do throws(NetworkError) {
            process = try await Subprocess.start(
                ["/bin/sh", "-c", line], environment: environment,
                streams: .init(output: output.writer, errors: errors.writer), leadsGroup: true)
        } catch { throw .notStarted }
        output.closeWriter()
        errors.closeWriter()
        let isLate = NIOLockedValueBox(false)
        let alarm = Task {
            try await Task.sleep(for: limit)
            isLate.withLockedValue { $0 = true }
            process.signal(SIGKILL)
        }
        // What left the group may hold the pipes for longer; nobody waits for that.
        let watch = Task.detached {
            _ = await process.end()
            end.closeWriter()
        }
        let (collected, status) = await withTaskCancellationHandler {
            let collected = await Self.collected(output, errors, end, process)
            return (collected, await Task.detached { await process.end() }.value ?? 0)
        } onCancel: {
            process.signal(SIGKILL)
        }
        alarm.cancel()
        _ = await watch.value
        if Task.isCancelled { throw .cancelled }
        if isLate.withLockedValue(\.self) { throw .timedOut(limit) }
        if collected.isTooLong { throw .tooMuchOutput }
        let text = String(decoding: collected.output, as: UTF8.self)
        let complaint = Self.lastLine(collected.errors)
        // The lower seven bits of a wait status are the signal (POSIX leaves the macros to C).
        let signal = status & 0x7F
        guard signal == 0 else { throw .signalled(signal, complaint) }
        let code = status >> 8 & 0xFF
        guard code == 0 else { throw .failed(code, complaint) }
        return Output(text: text, lastComplaint: complaint)
    }

    private static func lastLine(_ bytes: [UInt8]) -> String? {
        String(decoding: bytes, as: UTF8.self).split { $0.isNewline }
            .last { !$0.allSatisfy(\.isWhitespace) }
            .map { String($0.prefix(400)) }
    }

    // MARK: Reading

    private struct Collected: Sendable {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        var isTooLong = false
    }

    /// Reads both pipes to their ends, or to what is there when the process has ended, on a thread of its own.
    private static func collected(
        _ output: CommandPipe, _ errors: CommandPipe, _ end: CommandPipe, _ process: Subprocess
    ) async -> Collected {
        await withCheckedContinuation { continuation in
            let isStarted = DedicatedThread.run {
                continuation.resume(returning: read(output, errors, end, process))
            }
            if !isStarted {
                process.signal(SIGKILL)
                continuation.resume(returning: Collected())
            }
        }
    }

    private static func read(
        _ output: CommandPipe, _ errors: CommandPipe, _ end: CommandPipe, _ process: Subprocess
    ) -> Collected {
        var collected = Collected()
        var (readsOutput, readsErrors, hasEnded) = (true, true, false)
        // What left the group might write for ever.
        var roundsAfterEnd = 32
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while readsOutput || readsErrors {
            // Descriptors below zero are passed over.
            var ready = [
                pollfd(fd: readsOutput ? output.reader : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: readsErrors ? errors.reader : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: hasEnded ? -1 : end.reader, events: Int16(POLLIN), revents: 0),
            ]
            let (count, _) = SystemCall.uninterrupted { poll(&ready, nfds_t(ready.count), hasEnded ? 0 : -1) }
            guard count > 0, roundsAfterEnd > 0 else { break }
            if hasEnded { roundsAfterEnd -= 1 }
            if ready[0].revents != 0 {
                let bytes = output.read(into: &chunk)
                readsOutput = !bytes.isEmpty
                collected.output += bytes
                if collected.output.count > maximumOutput {
                    collected.isTooLong = true
                    process.signal(SIGKILL)
                    break
                }
            }
            if ready[1].revents != 0 {
                let bytes = errors.read(into: &chunk)
                readsErrors = !bytes.isEmpty
                collected.errors += bytes
                // Only the end of it is of interest.
                if collected.errors.count > 2 * 4_096 { collected.errors.removeFirst(collected.errors.count - 4_096) }
            }
            if ready[2].revents != 0 { hasEnded = true }
        }
        return collected
    }
}

/// Why a shell command brought nothing. The words never hold its standard output.
public enum ShellCommandError: Error, Hashable, Sendable {
    /// The system had no process, thread or pipe left for it.
    case notStarted
    /// It ended with this exit status, and this was the last line of its standard error.
    case failed(Int32, String?)
    /// A signal ended it.
    case signalled(Int32, String?)
    /// It had not ended in time, and was ended.
    case timedOut(Duration)
    /// It wrote more than ``ShellCommand/maximumOutput``, and was ended.
    case tooMuchOutput
    /// The task was cancelled.
    case cancelled
}

/// A pipe whose ends are closed with it, and whose writing end may be closed before.
private final class CommandPipe: Sendable {
    let reader: Int32
    private let box: NIOLockedValueBox<Int32>

    init() throws(ShellCommandError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw .notStarted }
        // Children of this process are given their descriptors one by one, so none inherits these.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        reader = ends[0]
        box = NIOLockedValueBox(ends[1])
    }

    deinit {
        closeWriter()
        close(reader)
    }

    var writer: Int32 { box.withLockedValue(\.self) }

    func closeWriter() {
        box.withLockedValue { writer in
            if writer >= 0 { close(writer) }
            writer = -1
        }
    }

    /// What is there, at most a buffer full; nothing at the end.
    func read(into buffer: inout [UInt8]) -> ArraySlice<UInt8> {
        let count = buffer.withUnsafeMutableBytes { bytes in
            SystemCall.uninterrupted { systemRead(reader, bytes.baseAddress, bytes.count) }.result
        }
        return buffer.prefix(max(0, count))
    }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}
