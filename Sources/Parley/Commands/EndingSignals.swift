import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// INT and TERM, so that a command can leave the network in good order and say its last line before it ends. A second
/// one of a kind finds the standard action again.
struct EndingSignals {
    /// Each signal that came.
    let numbers: AsyncStream<Int32>
    private let sources: [any DispatchSourceSignal]

    /// Watches from now on, as long as this value exists.
    init() {
        let (stream, continuation) = AsyncStream.makeStream(of: Int32.self, bufferingPolicy: .bufferingNewest(2))
        numbers = stream
        sources = [SIGINT, SIGTERM].map { number in
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
    func cancel() { for source in sources { source.cancel() } }
}
