import Logging
import NIOConcurrencyHelpers
import Platform

struct ProcessKeeper: Sendable {
    struct Start: Sendable {
        var command: [String]
        /// Runs with the process and calls `answered` once it can be used; the process ends with this.
        var work:
            @Sendable (ServerProcess, _ answered: @escaping @Sendable () -> Void) async throws(NetworkError) -> Void
    }

    let name: String
    let output: String
    let environment: [String: String]
    var grace = Duration.seconds(10)
    /// Whether to give up, after repeated ends, even a process that once worked.
    var givesUp = false
    let log: Logger
    let prepare: @Sendable () throws(NetworkError) -> Start
    var running: @Sendable (RunningProcess?) async -> Void = { _ in }
    var isHeldBack: @Sendable () -> Bool = { false }

    /// Runs until the task is cancelled or processes end repeatedly; the last process has ended then.
    func run() async throws(NetworkError) {
        var policy = RestartPolicy()
        let hasAnswered = NIOLockedValueBox(false)
        while !Task.isCancelled {
            if isHeldBack() {
                log.notice("a server is kept down for a rehearsal", metadata: ["server": "\(name)"])
                repeat { try await Pause.sleep(.milliseconds(100)) } while isHeldBack()
            }
            let begin = ContinuousClock.now
            var failure: NetworkError?
            do throws(NetworkError) { try await live { hasAnswered.withLockedValue { $0 = true } } } catch {
                failure = error
            }
            if Task.isCancelled { break }
            let didAnswer = hasAnswered.withLockedValue(\.self)
            let delay = policy.delay(afterLifetime: begin.duration(to: .now), didAnswer: didAnswer)
            if delay == nil, givesUp || !didAnswer {
                throw failure ?? .serverFailed(LogFile.tail(of: output, lines: 3))
            }
            let pause = delay ?? policy.longestDelay
            log.warning(
                "a server has ended and is restarted",
                metadata: ["server": "\(name)", "error": "\(failure?.description ?? "none")", "after": "\(pause)"])
            try await Pause.sleep(pause)
        }
        throw .cancelled
    }

    private func live(_ answered: @escaping @Sendable () -> Void) async throws(NetworkError) {
        let start = try prepare()
        let process = try await ServerProcess.start(start.command, environment: environment, log: LogFile(output))
        await running(RunningProcess(process.id) ?? RunningProcess(pid: process.id, arguments: start.command))
        log.info("a server was started", metadata: ["server": "\(name)", "pid": "\(process.id)"])
        // Holding it back kills only the known process; this one may have become known too late.
        if isHeldBack() { process.signal(SIGKILL) }
        var failure: NetworkError?
        do throws(NetworkError) {
            try await untilOneEnds({ _ = await process.end() }, { try await start.work(process, answered) })
        } catch {
            failure = error
        }
        if !process.hasEnded { await process.stop(grace: grace) }
        await running(nil)
        log.info("a server has ended", metadata: ["server": "\(name)", "pid": "\(process.id)"])
        if let failure { throw failure }
    }
}

/// When to restart a process: at once after a long life, later after short ones, never if it does not survive.
struct RestartPolicy: Hashable, Sendable {
    let goodLifetime = Duration.seconds(10)
    /// The delay after the second short life; it doubles with each further one.
    let firstDelay = Duration.milliseconds(100)
    let longestDelay = Duration.seconds(5)
    /// The number of short lives in a row after which to give up.
    let maximumShortLives = 8
    /// The same if none has ever answered: then the way it is started must be wrong.
    let maximumSilentLives = 3

    private var shortLives = 0

    mutating func delay(afterLifetime lifetime: Duration, didAnswer: Bool) -> Duration? {
        if lifetime >= goodLifetime { shortLives = 0 }
        shortLives += 1
        guard shortLives < (didAnswer ? maximumShortLives : maximumSilentLives) else { return nil }
        guard shortLives > 1 else { return .zero }
        return min(firstDelay * (1 << min(shortLives - 2, 10)), longestDelay)
    }
}
