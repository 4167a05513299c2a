import CProcess
import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// TERM, INT and HUP, so that a process can leave the network in good order before it ends. A second one of a kind finds
/// the standard action again. One at a time in a process.
package struct EndingSignals {
    /// Each signal that came.
    package let numbers: AsyncStream<Int32>
    private let source: (any DispatchSourceRead)?
    private static let watched = [SIGTERM, SIGINT, SIGHUP]

    /// Watches from now on, until ``cancel()``. A signal that comes right after this is not lost.
    package init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(8))
        numbers = stream
        let descriptor = cprocess_watch_signals(Self.watched, Int32(Self.watched.count))
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
    }

    /// Stops watching: the signals have their standard action again.
    package func cancel() {
        source?.cancel()
        cprocess_leave_signals(Self.watched, Int32(Self.watched.count))
    }

    /// Waits for the first, or for the task's cancellation.
    static func wait() async {
        let signals = EndingSignals()
        defer { signals.cancel() }
        for await _ in signals.numbers { return }
    }
}
