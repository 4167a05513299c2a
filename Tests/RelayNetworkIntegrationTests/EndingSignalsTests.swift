import Platform
import Testing

@testable import RelayNetwork

/// One after the other: a process has one watcher at a time, whose end gives the signals their standard action back.
@Suite("Signals that ask a process to end", .serialized, .realProcesses)
struct EndingSignalsTests {
    /// Whoever started the tests may have them ignore a closed terminal.
    init() { signal(SIGHUP, SIG_DFL) }

    @Test("One that comes as soon as they are watched is heard")
    func atOnce() async {
        for _ in 0..<100 {
            let signals = EndingSignals()
            Self.send(SIGHUP)
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
            Self.send(SIGHUP)
            #expect(await iterator.next() == SIGHUP)
        }
        signals.cancel()
    }

    @Test("Requests to stop that come while one is being carried out are dropped, and stop nothing by themselves")
    func stops() async throws {
        let signals = EndingSignals(stops: true)
        defer { signals.cancel() }
        for _ in 0..<2 {
            // Its standard action would stop the tests.
            try #require(Self.isWatched(SIGTSTP))
            Self.send(SIGTSTP)
        }
        Self.send(SIGHUP)
        var iterator = signals.numbers.makeAsyncIterator()
        #expect(await iterator.next() == SIGTSTP)
        #expect(await iterator.next() == SIGHUP)
    }

    /// In this very thread, which may be one that leaves signals to others.
    private static func send(_ number: Int32) {
        var (signals, before) = (sigset_t(), sigset_t())
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, &before)
        raise(number)
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }

    /// Whether a signal has neither its standard action nor none.
    private static func isWatched(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Glibc)
            let handler = action.__sigaction_handler.sa_handler
        #else
            let handler = action.__sigaction_u.__sa_handler
        #endif
        let (standard, none) = (unsafeBitCast(SIG_DFL, to: Int.self), unsafeBitCast(SIG_IGN, to: Int.self))
        return ![standard, none].contains(unsafeBitCast(handler, to: Int.self))
    }
}
