import Testing

@testable import RelayNetwork

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Signals that ask a process to end", .timeLimit(.minutes(5)))
struct EndingSignalsTests {
    @Test("One that comes as soon as they are watched is heard")
    func atOnce() async {
        for _ in 0..<100 {
            let signals = EndingSignals()
            raise(SIGHUP)
            var iterator = signals.numbers.makeAsyncIterator()
            #expect(await iterator.next() == SIGHUP)
            signals.cancel()
        }
    }
}
