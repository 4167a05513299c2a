import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// TERM, INT and HUP, so that a process can leave the network in good order before it ends. A second one of a kind finds
/// the standard action again.
package struct EndingSignals {
    /// Each signal that came.
    package let numbers: AsyncStream<Int32>
    private let sources: [any DispatchSourceSignal]

    /// Watches from now on, until ``cancel()``.
    package init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(2))
        numbers = stream
        sources = [SIGTERM, SIGINT, SIGHUP].map { number in
            // A source sees the signal only if its standard action, which ends the process, is off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                signal(number, SIG_DFL)
                continuation.yield(number)
            }
            source.resume()
            return source
        }
    }

    /// Stops watching.
    package func cancel() { for source in sources { source.cancel() } }

    /// Waits for the first, or for the task's cancellation.
    static func wait() async {
        let signals = EndingSignals()
        defer { signals.cancel() }
        for await _ in signals.numbers { return }
    }
}
