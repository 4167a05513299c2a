import NIOConcurrencyHelpers
import Platform
import Subprocess

/// A command line that `/bin/sh` runs for its output, such as a token.
///
/// It has no terminal and no input, and no other descriptor of this process. Everything that it starts, and leaves in
/// its process group, is killed when it ends or has to end, and when this process ends first, however that happens.
package struct ShellCommand: Sendable {
    package var line: String
    /// All of its environment. Names that begin with a digit, which no shell has as variables, are left out.
    package var environment: [String: String]
    package var limit: Duration

    /// The output in bytes beyond which it is ended.
    package static let maximumOutput = 64 << 10

    package init(_ line: String, environment: [String: String], limit: Duration = .seconds(25)) {
        (self.line, self.environment, self.limit) = (line, environment, limit)
    }

    package struct Output: Hashable, Sendable {
        /// Its standard output. May be a secret.
        package var text: String
        /// The last line that is not blank of its standard error; nil without any.
        package var lastComplaint: String?
    }

    /// Runs the command. No thread of the tasks' pool waits for it. Cancelling the task ends it at once.
    package func run() async throws(ShellCommandError) -> Output {
        let run = CommandRun(self)
        // The library hears of no cancellation: it might signal the shell after reaping it, and so another process.
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

/// Why a shell command brought nothing. The words never hold its standard output.
package enum ShellCommandError: Error, Hashable, Sendable {
    /// The system had no process, thread or pipe left for it.
    case notStarted
    /// It ended with this exit status, and this was the last line of its standard error.
    case failed(Int32, String?)
    case signalled(Int32, String?)
    /// It had not ended in time, and was ended.
    case timedOut(Duration)
    /// It wrote more than ``ShellCommand/maximumOutput``, and was ended.
    case tooMuchOutput
    case cancelled
}

/// One run of a ``ShellCommand``.
///
/// swift-subprocess starts the shell in a session of its own, closes what is not for it, reads its pipes and reaps it.
/// Done here is what it has no way to do: to bound the time, to keep of the complaints their end alone, and to kill
/// what the shell leaves in its process group, also when this process ends first.
private final class CommandRun: Sendable {
    private struct State {
        /// The shell, which leads the group, from its start to its end.
        var leader: Int32?
        var hasEnded = false
        var isToEnd = false
        var isLate = false
    }

    /// Runs the line, which is `$1`, in a shell without input. What would be its input is a pipe to which nobody
    /// writes, and whose one writing end is held here: it closes when this process ends, and whoever waits for that, of
    /// the same group and no child of the shell, kills the group.
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

    /// The environment without names that begin with a digit: for one of those the library refuses to start anything.
    private var variables: [Environment.Key: String] {
        command.environment.reduce(into: [:]) { variables, entry in
            guard let first = entry.key.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
                let key = Environment.Key(rawValue: entry.key)
            else { return }
            variables[key] = entry.value
        }
    }

    /// Reads what the shell writes, to its end. The library reaps it afterwards: until then the group's id is its own.
    private func follow(
        _ execution: Execution<CustomWriteInput, SequenceOutput, SequenceOutput>
    ) async -> (output: [UInt8], errors: [UInt8]) {
        let leader = execution.processIdentifier.value
        state.withLockedValue { state in
            state.leader = leader
            // It was told to end while it was being started.
            if state.isToEnd { _ = kill(-leader, SIGKILL) }
        }
        let alarm = Task {
            try await Task.sleep(for: command.limit)
            end(isLate: true)
        }
        defer { alarm.cancel() }
        async let hasEnded: Void = awaitEnd(of: leader)
        // Where the output is too long, that ends the shell; of its complaints their end is kept.
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

    /// Reads a pipe to its end, or to what is there when the shell has ended, as long as more is wanted.
    private func read(
        _ stream: SubprocessOutputSequence, _ isMoreWanted: @Sendable (inout [UInt8]) -> Bool
    ) async -> [UInt8] {
        var bytes: [UInt8] = []
        // What left the group might write for ever.
        var roundsAfterEnd = 32
        do {
            for try await buffer in stream {
                buffer.withUnsafeBytes { bytes.append(contentsOf: $0) }
                guard isMoreWanted(&bytes), roundsAfterEnd > 0 else { break }
                if state.withLockedValue(\.hasEnded) { roundsAfterEnd -= 1 }
            }
        } catch {
            // A pipe that cannot be read has nothing more to give.
        }
        return bytes
    }
}
