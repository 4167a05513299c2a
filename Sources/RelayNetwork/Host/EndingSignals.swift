import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The signals that ask a process to end.
enum EndingSignals {
    /// Waits for TERM, INT or HUP, or for the task's cancellation.
    static func wait() async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let sources = [SIGTERM, SIGINT, SIGHUP].map { number in
            // A source sees the signal only if its standard action, which ends the process, is off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        for await _ in stream { return }
    }
}
