import CProcess
import NATS
import NIOConcurrencyHelpers
import NIOPosix
import Platform

/// A child process that ends with this one, and whose end can be awaited, including that of its own children: a
/// `nats-server` in `PATH` may be a script that runs the real one.
///
/// A dedicated thread starts the child and waits for it: on Linux the kernel kills the child when the thread that
/// started it ends, so that thread must live as long.
///
/// swift-subprocess 1.0, which runs a ``ShellCommand``, cannot set the signal that the kernel sends when the parent
/// ends, and would leave a server behind if this process is killed.
package final class ServerProcess: Sendable {
    /// The process's id; no other process has it while ``signal(_:)`` can use it.
    package let id: pid_t
    private let state = NIOLockedValueBox(State())

    private struct State {
        var status: Int32?
        var waiters: [Completion<Int32?>] = []
    }

    private init(id: pid_t) { self.id = id }

    package static func start(
        _ command: [String], environment: [String: String], log: LogFile
    ) async throws(NetworkError) -> ServerProcess {
        let outcome = Completion<Result<ServerProcess, NetworkError>>()
        let command = guarded(command)
        OwnThread.run {
            let started = ProcessStart.start(
                command, environment: environment, output: log.descriptor, place: .child
            ).map(ServerProcess.init)
            outcome.fulfil(started)
            if case .success(let process) = started { process.waitOnThread() }
        }
        return try await outcome.value().get()
    }

    /// The command, run by a shell if it is a script. The kernel does not tell a script's children that this process
    /// has ended; the shell is told, and ends them all.
    private static func guarded(_ command: [String]) -> [String] {
        guard let path = command.first, isScript(path) else { return command }
        return ["/bin/sh", "-c", #"trap 'trap "" TERM; kill -TERM 0' TERM; "$@" & wait; wait"#, path] + command
    }

    private static func isScript(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var start: [UInt8] = [0, 0]
        return read(descriptor, &start, start.count) == start.count && start == Array("#!".utf8)
    }

    package func signal(_ number: Int32) {
        // Under the lock that is taken at the end: the group's id cannot be another group's by now.
        state.withLockedValue { state in
            if state.status == nil { _ = kill(-id, number) }
        }
    }

    package var hasEnded: Bool { state.withLockedValue { $0.status != nil } }

    /// Waits for the end; returns the wait status, or nil if the task was cancelled first.
    package func end() async -> Int32? {
        let waiter = Completion<Int32?>()
        state.withLockedValue { state in
            if let status = state.status { waiter.fulfil(status) } else { state.waiters.append(waiter) }
        }
        return await waiter.value(onCancel: nil)
    }

    /// Terminates the process, by force after the grace, and waits for its end. Cancellation does not shorten this.
    package func stop(grace: Duration) async {
        signal(SIGTERM)
        let force = Task.detached { [self] in
            try await Task.sleep(for: grace)
            signal(SIGKILL)
        }
        _ = await Task.detached { [self] in await end() }.value
        force.cancel()
    }

    private static let childGrace = Duration.seconds(10)

    private func waitOnThread() {
        var information = siginfo_t()
        // Not reaped at first, so that the id stays taken until no signal can be on its way.
        _ = SystemCall.uninterrupted { waitid(P_PID, id_t(id), &information, WEXITED | WNOWAIT) }
        signal(SIGTERM)
        var status: Int32 = 0
        let hasChildren = state.withLockedValue { state in
            _ = SystemCall.uninterrupted { waitpid(id, &status, 0) }
            if kill(-id, 0) == 0 { return true }
            state.status = status
            return false
        }
        if hasChildren { waitForChildren() }
        let waiters = state.withLockedValue { state in
            state.status = status
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.fulfil(status) }
    }

    /// Waits until the group is empty, within limits: killed processes may never be reaped.
    private func waitForChildren() {
        let deadline = ContinuousClock.now + Self.childGrace
        while kill(-id, 0) == 0, .now < deadline + .seconds(1) {
            if .now >= deadline { signal(SIGKILL) }
            // Only polling reveals the end of other processes' children, and this is our own thread.
            usleep(10_000)
        }
    }
}

enum ProcessStart {
    enum Place: Sendable { case child, detached }

    /// Starts a process, tied to the calling thread or detached, and returns its id. With swift-subprocess, each call
    /// returns only when the child has ended. The caller keeps the output's descriptor.
    static func start(
        _ command: [String], environment: [String: String], output: Int32, place: Place
    ) -> Result<pid_t, NetworkError> {
        guard let path = command.first else { return .failure(.hostNotStarted(reason: "no command was given")) }
        var id: pid_t = 0
        let code = withCStrings(command) { arguments in
            withCStrings(environment.map { "\($0)=\($1)" }) { variables in
                path.withCString { path in
                    var description = cprocess_command(
                        path: path, arguments: arguments, environment: variables, output_descriptor: output,
                        place: place == .child ? CPROCESS_CHILD : CPROCESS_DETACHED)
                    return cprocess_start(&description, &id)
                }
            }
        }
        guard code == 0 else { return .failure(.hostNotStarted(reason: "\(path): \(SystemCall.reason(code))")) }
        return .success(id)
    }

    private static func withCStrings<R>(
        _ texts: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>?) -> R
    ) -> R {
        let pointers = texts.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
    }
}

enum OwnThread {
    static func run(_ body: @escaping @Sendable () -> Void) {
        let pool = NIOThreadPool(numberOfThreads: 1)
        pool.start()
        pool.submit { _ in
            body()
            pool.shutdownGracefully { _ in }
        }
    }
}

/// The environment that the network's processes inherit. They outlive the program that starts them, and others may see
/// their environment, so it contains only what they need, and none of the user's tokens or passwords.
enum ChildEnvironment {
    private static let names: Set<String> = [
        "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH",
        "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", ServerExecutable.variable,
        "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
    ]

    static func reduced(_ environment: [String: String]) -> [String: String] {
        environment.filter { names.contains($0.key) || $0.key.hasPrefix("LC_") }
    }
}
