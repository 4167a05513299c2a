import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("Work with a limit")
struct DeadlineTests {
    @Test("Work that ends in time gives its result")
    func result() async {
        #expect(await within(.seconds(600)) { 7 } == 7)
    }

    @Test("B10 work that takes longer is given up and cancelled")
    func late() async throws {
        let cancelled = Collected()
        let result = await within(.milliseconds(20)) {
            do { try await Task.sleep(for: .seconds(600)) } catch { cancelled.add("cancelled") }
            return 7
        }
        #expect(result == nil)
        try await eventually("the work is cancelled") { cancelled.all == ["cancelled"] }
    }

    @Test("B55 a waiter is released by a cancellation, however early it comes")
    func cancelled() async {
        let stuck = Completion<Int>()
        let caller = Task { await within(.seconds(600)) { await stuck.value() } }
        caller.cancel()
        #expect(await caller.value == nil)
        stuck.fulfil(7)
    }
}
