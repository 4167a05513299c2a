import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("A gate that work waits at without a timer")
struct RestGateTests {
    @Test("Who comes to an open gate passes, and who waits at a closed one passes when it opens")
    func passes() async throws {
        let gate = RestGate()
        await gate.pass()
        gate.set(isOpen: false)
        let passed = Collected()
        let task = Task {
            await gate.pass()
            passed.add("passed")
        }
        gate.set(isOpen: false)
        #expect(passed.all.isEmpty)
        gate.set(isOpen: true)
        await task.value
        #expect(passed.all == ["passed"])
    }

    @Test("A task that is cancelled waits no more")
    func cancelled() async {
        let gate = RestGate()
        gate.set(isOpen: false)
        let task = Task { await gate.pass() }
        task.cancel()
        await task.value
    }
}
