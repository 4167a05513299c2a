import ArgumentParser
import Relay
import RelayNetwork

extension RelayClient {
    /// A signal asked the program to end.
    private struct Interruption: Error {
        let signal: Int32
    }

    /// The session ended, after what its last attempt failed with.
    private struct Ending: Error {
        let reason: ConnectionReason
        let cause: ConnectionReason?
    }

    /// Runs the body until it returns. A session that ends meanwhile ends it too: a kick or a ban, say. A signal, or
    /// what the body throws, closes the client first, so that what it holds on the network is free at once. It throws
    /// what the body throws, ``RelayError/connection(_:)`` with the reason of the session's end, or a signal's status.
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
            // That time has passed does not say why.
            guard ending.reason == .windowExpired, let cause = ending.cause else { throw error }
            throw CommandFailure(CommandFailure(error).code, "\(error.words) The last attempt: \(cause.words)")
        } catch {
            // What was under way fails with the connection; why the session ended says more, a moment later.
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
