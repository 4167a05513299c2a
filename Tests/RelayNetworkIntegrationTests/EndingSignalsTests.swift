import Testing

@testable import RelayNetwork

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One after the other: a process has one watcher at a time, whose end gives the signals their standard action back.
@Suite("Signals that ask a process to end", .serialized, .realProcesses)
struct EndingSignalsTests {
    @Test("One that comes as soon as they are watched is heard")
    func atOnce() async {
        for _ in 0..<100 {
            let signals = EndingSignals()
            Self.raiseHangUp()
            var iterator = signals.numbers.makeAsyncIterator()
            #expect(await iterator.next() == SIGHUP)
            signals.cancel()
        }
    }

    @Test("A closed terminal that tells of it twice ends nothing before its time")
    func twice() async {
        let signals = EndingSignals()
        var iterator = signals.numbers.makeAsyncIterator()
        for _ in 0..<2 {
            Self.raiseHangUp()
            #expect(await iterator.next() == SIGHUP)
        }
        signals.cancel()
    }

    /// In this very thread, which may be one that leaves signals to others.
    private static func raiseHangUp() {
        var (hangUp, before) = (sigset_t(), sigset_t())
        sigemptyset(&hangUp)
        sigaddset(&hangUp, SIGHUP)
        pthread_sigmask(SIG_UNBLOCK, &hangUp, &before)
        raise(SIGHUP)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
