import NIOConcurrencyHelpers
import Platform

/// Keeps one process running, with another one each time it has ended.
struct ProcessKeeper: Sendable {
    /// What the process is called in the log.
    let name: String
    /// What its output goes to.
    let output: String
    let environment: [String: String]
    /// How long it may take to end when it is asked to.
    let grace: Duration
    /// Whether it is given up when it has never answered. One that has is not.
    let givesUp: Bool
    let log: LogFile
    /// Prepares a start, and says what is to be run.
    let command: @Sendable () throws(NetworkError) -> [String]
    /// Hears which process runs; nil for none.
    let running: @Sendable (LocalClusterProcesses.Process?) -> Void
    /// Whether the process can be used.
    let answers: @Sendable () async -> Bool
    /// The process that answers, where the command may have started another one for that.
    var answering: @Sendable () -> LocalClusterProcesses.Process? = { nil }
    /// Whether no process is to run now.
    var isHeldBack: @Sendable () -> Bool = { false }

    /// The longest wait for the next process.
    private static let longestDelay = Duration.seconds(5)

    /// Runs until the task is cancelled; the last process has ended then.
    /// - Throws: `NetworkError.cancelled`, or why processes end before they answer.
    func run() async throws(NetworkError) {
        var policy = RestartPolicy()
        let hasAnswered = NIOLockedValueBox(false)
        while !Task.isCancelled {
            try await waitWhileHeldBack()
            let begin = ContinuousClock.now
            var failure: NetworkError?
            do throws(NetworkError) { try await live(hasAnswered) } catch { failure = error }
            if Task.isCancelled { break }
            let life = begin.duration(to: .now)
            let delay = policy.delay(afterLifetime: life, didAnswer: hasAnswered.withLockedValue(\.self))
            if delay == nil, givesUp, !hasAnswered.withLockedValue(\.self) {
                throw failure ?? .serverFailed(LogFile.tail(of: output, lines: 3))
            }
            let pause = min(delay ?? Self.longestDelay, Self.longestDelay)
            log.note("\(name) \(failure.map { "was not started: \($0)" } ?? "has ended"); the next starts in \(pause)")
            try await Pause.sleep(pause)
        }
        throw .cancelled
    }

    private func waitWhileHeldBack() async throws(NetworkError) {
        guard isHeldBack() else { return }
        log.note("\(name) is not started while somebody rehearses that it is gone")
        repeat { try await Pause.sleep(.milliseconds(100)) } while isHeldBack()
    }

    /// One process from its start to its end.
    private func live(_ hasAnswered: NIOLockedValueBox<Bool>) async throws(NetworkError) {
        let command = try command()
        let process = try await ServerProcess.start(command, environment: environment, log: try LogFile(output))
        running(.init(running: process.id) ?? .init(pid: process.id, arguments: command))
        log.note("\(name) started as \(process.id)")
        // Whoever holds it back ends the process that is known then; this one may have become known too late.
        if isHeldBack() { process.signal(SIGKILL) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while !Task.isCancelled {
                    if await answers() {
                        if let process = answering() { running(process) }
                        return hasAnswered.withLockedValue { $0 = true }
                    }
                    do { try await Task.sleep(for: .milliseconds(50)) } catch { return }
                }
            }
            _ = await process.end()
            group.cancelAll()
        }
        if !process.hasEnded { await process.stop(grace: grace) }
        running(nil)
    }
}
