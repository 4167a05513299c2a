import CProcess
import Dispatch
import NIOConcurrencyHelpers
import Platform

/// Watches TERM, INT and HUP, so that a process can leave the network in order before it ends, and on request TSTP, so
/// that it can do so before it stops. A second signal has its default action, except for HUP, as a closed terminal
/// sends several, and TSTP, which is dropped while an earlier one is being handled. One at a time in a process.
package struct EndingSignals {
    package let numbers: AsyncStream<Int32>
    private let source: (any DispatchSourceRead)?
    private let watched: [Int32]

    package static let stopping = SIGTSTP

    /// Watches until ``cancel()``. A signal that arrives right after this call is not lost.
    /// - Parameter stops: whether to watch TSTP as well. Its receiver calls ``stop()``.
    package init(stops: Bool = false) {
        watched = [SIGTERM, SIGINT, SIGHUP] + (stops ? [Self.stopping] : [])
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(8))
        numbers = stream
        let descriptor = cprocess_watch_signals(watched, Int32(watched.count))
        // Without a descriptor the signals keep their default action.
        guard descriptor >= 0 else {
            source = nil
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 16)
            let count = read(descriptor, &bytes, bytes.count)
            for byte in bytes.prefix(max(0, count)) { continuation.yield(Int32(byte)) }
        }
        source.resume()
        self.source = source
        Self.hungUp.withLockedValue { $0.watcher = continuation }
    }

    /// Stops the process as an unwatched TSTP would, and returns when it continues. The next TSTP is watched again.
    package func stop() { cprocess_stop() }

    /// Restores the signals' default actions.
    /// - Parameter endsProcess: whether the process is about to end; a closed terminal then does not end it sooner.
    package func cancel(endsProcess: Bool = false) {
        source?.cancel()
        Self.hungUp.withLockedValue { $0.watcher = nil }
        if endsProcess { signal(SIGHUP, SIG_IGN) }
        cprocess_leave_signals(watched, Int32(watched.count))
    }

    /// Who is told that the terminal is gone.
    package enum HangUp: Sendable {
        /// The watcher of the signals, which ends the process in order.
        case watched
        /// No one.
        case unwatched
        /// No one, as the process was started to outlive its terminal.
        case ignored
    }

    /// Treats a vanished terminal as the signal that accompanies it, sooner or later: both count once.
    package static func hangUp() -> HangUp {
        let before = signal(SIGHUP, SIG_IGN)
        return hungUp.withLockedValue { state in
            // Ignored since the last call, or from the start, as by nohup. Swift compares C functions only by address.
            if unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self), !state.isTaken {
                return .ignored
            }
            state.isTaken = true
            guard let watcher = state.watcher else { return .unwatched }
            watcher.yield(SIGHUP)
            return .watched
        }
    }

    private static let hungUp = NIOLockedValueBox((watcher: AsyncStream<Int32>.Continuation?.none, isTaken: false))

    static func wait(isWanted: Bool = true) async {
        guard isWanted else { return (try? await Pause.untilCancelled()) ?? () }
        let signals = EndingSignals()
        defer { signals.cancel() }
        for await _ in signals.numbers { return }
    }
}
