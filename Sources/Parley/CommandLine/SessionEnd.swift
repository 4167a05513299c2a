import ArgumentParser
import Relay
import RelayNetwork

extension RelayClient {
    /// A signal asked the program to end.
    private struct Interruption: Error {
        let signal: Int32
    }

    /// The session ended; `cause` is the failure of its last attempt.
    private struct Ending: Error {
        let reason: ConnectionReason
        let cause: ConnectionReason?
    }

    /// Runs the body until it returns or the session ends, for example by a kick or a ban. After a signal or an error,
    /// the client is closed first, so that its resources on the network are freed at once.
    ///
    /// - Throws: the body's error, ``RelayError/connection(_:)`` with the reason for the session's end, or a signal's
    ///   exit status.
    nonisolated func whileInSession(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let signals = EndingSignals()
        defer { signals.cancel() }
        let (statuses, numbers) = (statuses, signals.numbers)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await body() }
                group.addTask {
                    var cause: ConnectionReason?
                    for await status in statuses {
                        if status.state == .disconnected {
                            throw Ending(reason: status.reason ?? .closedByUser, cause: cause)
                        }
                        cause = status.state == .connected ? nil : status.reason ?? cause
                    }
                }
                group.addTask {
                    for await number in numbers { throw Interruption(signal: number) }
                }
                defer { group.cancelAll() }
                _ = try await group.next()
            }
        } catch let interruption as Interruption {
            await close()
            throw ExitCode(128 + interruption.signal)
        } catch let ending as Ending {
            let error = RelayError.connection(ending.reason)
            // The elapsed window alone does not say why.
            guard ending.reason == .windowExpired, let cause = ending.cause else { throw error }
            throw CommandFailure(CommandFailure(error).code, "\(error.words) The last attempt: \(cause.words)")
        } catch {
            // A pending call fails with the connection; the reason for the session's end, a moment later, says more.
            if case RelayError.connection = error {
                _ = await within(.seconds(5)) { [statuses = self.statuses] in
                    for await status in statuses where status.state != .connected { return }
                }
            }
            guard status.state == .disconnected, let reason = status.reason else {
                await close()
                throw error
            }
            throw RelayError.connection(reason)
        }
    }
}
