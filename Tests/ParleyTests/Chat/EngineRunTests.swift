import Testing

@testable import Parley

@Suite("What is there behind the first frame")
struct EngineRunTests {
    private struct Failure: Error {}

    @Test("What is asked of an engine that is not there yet waits for it, up to a limit")
    func limit() {
        let engine = EngineRun(queue: EventQueue {})
        let taken = (0..<EngineRun.limit).count { _ in engine.send(.nudge) }
        #expect(taken == EngineRun.limit)
        #expect(!engine.send(.nudge))
        // Nothing is there that could be let go or ended.
        engine.letGo()
        engine.end()
    }

    @Test("What is prepared is there when its waiter is woken, and so is why it could not be")
    func prepared() async {
        let (wakes, continuation) = AsyncStream.makeStream(of: Void.self)
        var iterator = wakes.makeAsyncIterator()
        let preparation = Preparation(wake: { continuation.yield() }) { 7 }
        _ = await iterator.next()
        #expect((try? preparation.result?.get()) == 7)
        let failing = Preparation<Int>(wake: { continuation.yield() }) { throw Failure() }
        _ = await iterator.next()
        #expect(throws: Failure.self) { _ = try failing.result?.get() }
    }
}
