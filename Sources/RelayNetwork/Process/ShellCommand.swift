import NIOConcurrencyHelpers
import Platform
import Subprocess

/// A command line that `/bin/sh` runs for its output, such as a token.
///
/// It has no terminal, no input, and none of this process's other descriptors. Everything that it starts and leaves in
/// its process group is killed when it ends or must end, and if this process ends first, even by a crash.
package struct ShellCommand: Sendable {
    package var line: String
    /// Its entire environment, except for names that begin with a digit, which no shell has as variables.
    package var environment: [String: String]
    package var limit: Duration

    /// Maximum output in bytes; a command that exceeds it is ended.
    package static let maximumOutput = 64 << 10

    package init(_ line: String, environment: [String: String], limit: Duration = .seconds(25)) {
        (self.line, self.environment, self.limit) = (line, environment, limit)
    }

    package struct Output: Hashable, Sendable {
        /// Its standard output, which may be a secret.
        package var text: String
        /// The last non-blank line of its standard error, if any.
        package var lastComplaint: String?
    }

    /// Runs the command without blocking a thread of the cooperative pool. Cancelling the task ends it at once.
    package func run() async throws(ShellCommandError) -> Output {
        let run = CommandRun(self)
        // The library is not told of cancellation: it might signal the shell after reaping it, and so another process.
        let task = Task.detached { await run.result() }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            run.end()
        }
        if Task.isCancelled { throw .cancelled }
        return try result.get()
    }
}

/// Why a shell command failed. The texts never contain its standard output.
package enum ShellCommandError: Error, Hashable, Sendable {
    /// The system had no process, thread or pipe to spare.
    case notStarted
    /// Its exit status, and the last line of its standard error.
    case failed(Int32, String?)
    case signalled(Int32, String?)
    /// It took too long and was ended.
    case timedOut(Duration)
    /// It wrote more than ``ShellCommand/maximumOutput``, and was ended.
    case tooMuchOutput
    case cancelled
}

/// One run of a ``ShellCommand``.
///
/// swift-subprocess starts the shell in its own session, closes other descriptors, reads the pipes and reaps the shell.
/// It cannot limit the time, keep only the end of standard error, or kill the shell's process group, even if this
/// process ends first; this class does.
private final class CommandRun: Sendable {
    private struct State {
        /// The shell, while it runs.
        var leader: Int32?
        var hasEnded = false
        var isToEnd = false
        var isLate = false
    }

    /// Runs `$1` in a shell without input. The shell's own input is a pipe without data whose only writing end is held
    /// here. It closes when this process ends; the reader, in the same group, then kills the group.
    private static let script = """
        exec 3<&0 </dev/null
        ( { read -r _ <&3; kill -s KILL 0; } >/dev/null 2>&1 & )
        exec 3<&-
        exec /bin/sh -c "$1"
        """

    private let command: ShellCommand
    private let state = NIOLockedValueBox(State())

    fileprivate init(_ command: ShellCommand) { self.command = command }

    fileprivate func result() async -> Result<ShellCommand.Output, ShellCommandError> {
        var options = PlatformOptions()
        options.createSession = true
        let ended = try? await Subprocess.run(
            .path("/bin/sh"), arguments: ["-c", Self.script, "sh", command.line],
            environment: .custom(variables), platformOptions: options,
            input: .inputWriter, output: .sequence, error: .sequence
        ) { execution in await self.follow(execution) }
        guard let ended else { return .failure(.notStarted) }
        let (output, errors) = ended.closureResult
        if state.withLockedValue(\.isLate) { return .failure(.timedOut(command.limit)) }
        if output.count > ShellCommand.maximumOutput { return .failure(.tooMuchOutput) }
        let complaint = String(decoding: errors, as: UTF8.self).split { $0.isNewline }
            .last { !$0.allSatisfy(\.isWhitespace) }
            .map { String($0.prefix(400)) }
        switch ended.terminationStatus {
        case .signaled(let signal): return .failure(.signalled(signal, complaint))
        case .exited(let code) where code != 0: return .failure(.failed(code, complaint))
        case .exited: return .success(.init(text: String(decoding: output, as: UTF8.self), lastComplaint: complaint))
        }
    }

    /// The library refuses to start anything with a name that begins with a digit.
    private var variables: [Environment.Key: String] {
        command.environment.reduce(into: [:]) { variables, entry in
            guard let first = entry.key.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
                let key = Environment.Key(rawValue: entry.key)
            else { return }
            variables[key] = entry.value
        }
    }

    /// Reads the shell's output to its end. The library reaps the shell after this, so the group's id is still its own.
    private func follow(
        _ execution: Execution<CustomWriteInput, SequenceOutput, SequenceOutput>
    ) async -> (output: [UInt8], errors: [UInt8]) {
        let leader = execution.processIdentifier.value
        state.withLockedValue { state in
            state.leader = leader
            // It was told to end while it was starting.
            if state.isToEnd { _ = kill(-leader, SIGKILL) }
        }
        let alarm = Task {
            try await Task.sleep(for: command.limit)
            end(isLate: true)
        }
        defer { alarm.cancel() }
        async let hasEnded: Void = awaitEnd(of: leader)
        // Too much output ends the shell; of standard error only the end is kept.
        async let output = read(execution.standardOutput) { bytes in
            if bytes.count > ShellCommand.maximumOutput { end() }
            return bytes.count <= ShellCommand.maximumOutput
        }
        async let errors = read(execution.standardError) { bytes in
            if bytes.count > 2 * 4_096 { bytes.removeFirst(bytes.count - 4_096) }
            return true
        }
        await hasEnded
        return await (output, errors)
    }

    fileprivate func end(isLate: Bool = false) {
        state.withLockedValue { state in
            guard !state.hasEnded else { return }
            state.isToEnd = true
            if isLate { state.isLate = true }
            if let leader = state.leader { _ = kill(-leader, SIGKILL) }
        }
    }

    private func awaitEnd(of leader: Int32) async {
        await withCheckedContinuation { continuation in
            OwnThread.run { [self] in
                var information = siginfo_t()
                _ = SystemCall.uninterrupted { waitid(P_PID, id_t(leader), &information, WEXITED | WNOWAIT) }
                state.withLockedValue { state in
                    _ = kill(-leader, SIGKILL)
                    state.leader = nil
                    state.hasEnded = true
                }
                continuation.resume()
            }
        }
    }

    /// Reads a pipe to its end, or what is there when the shell has ended, while more is wanted.
    private func read(
        _ stream: SubprocessOutputSequence, _ isMoreWanted: @Sendable (inout [UInt8]) -> Bool
    ) async -> [UInt8] {
        var bytes: [UInt8] = []
        // A process that left the group might write forever.
        var roundsAfterEnd = 32
        do {
            for try await buffer in stream {
                buffer.withUnsafeBytes { bytes.append(contentsOf: $0) }
                guard isMoreWanted(&bytes), roundsAfterEnd > 0 else { break }
                if state.withLockedValue(\.hasEnded) { roundsAfterEnd -= 1 }
            }
        } catch {
            // An unreadable pipe has no more data.
        }
        return bytes
    }
}
