import CProcess
import Dispatch
import NIOConcurrencyHelpers
import Platform

/// TERM, INT and HUP, so that a process can leave the network in good order before it ends, and where it asks for that
/// TSTP, so that it can do so before it stops. A second one finds the standard action again, but for HUP, since a
/// closed terminal sends several, and for TSTP, of which those are dropped that come while one is being carried out.
/// One at a time in a process.
package struct EndingSignals {
    package let numbers: AsyncStream<Int32>
    private let source: (any DispatchSourceRead)?
    private let watched: [Int32]

    package static let stopping = SIGTSTP

    /// Watches from now on, until ``cancel()``. A signal that comes right after this is not lost.
    /// - Parameter stops: whether to watch the signal to stop, too. Whoever hears of it calls ``stop()``.
    package init(stops: Bool = false) {
        watched = [SIGTERM, SIGINT, SIGHUP] + (stops ? [Self.stopping] : [])
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(8))
        numbers = stream
        let descriptor = cprocess_watch_signals(watched, Int32(watched.count))
        // Without a descriptor the signals keep their standard action.
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

    /// Stops the process, as the signal that asked for it does where nobody watches, and returns when it runs again.
    /// The next such signal is heard of.
    package func stop() { cprocess_stop() }

    /// Gives the signals their standard action again.
    /// - Parameter endsProcess: whether the process ends as soon as its work is done. A terminal that is closed
    ///   meanwhile does not end it before.
    package func cancel(endsProcess: Bool = false) {
        source?.cancel()
        Self.hungUp.withLockedValue { $0.watcher = nil }
        if endsProcess { signal(SIGHUP, SIG_IGN) }
        cprocess_leave_signals(watched, Int32(watched.count))
    }

    /// Who hears of a terminal that is gone.
    package enum HangUp: Sendable {
        /// Whoever watches the signals: the process ends in good order.
        case watched
        /// Nobody does.
        case unwatched
        /// Nobody is to: the process was started to outlive its terminal.
        case ignored
    }

    /// Takes a terminal that is gone for the signal that comes with it, before or later: it counts once.
    package static func hangUp() -> HangUp {
        let before = signal(SIGHUP, SIG_IGN)
        return hungUp.withLockedValue { state in
            // Ignored since the last call, or from the start, as by nohup. Swift compares C functions by address alone.
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

    /// Waits for the first, or for the task's cancellation.
    static func wait(isWanted: Bool = true) async {
        guard isWanted else { return (try? await Pause.untilCancelled()) ?? () }
        let signals = EndingSignals()
        defer { signals.cancel() }
        for await _ in signals.numbers { return }
    }
}
