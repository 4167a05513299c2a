import Testing

@testable import Relay

/// When a subscription is held that is for a view on the screen.
@Suite("Lifecycle: subscriptions for a view on the screen")
struct ScreenLeaseTests {
    private let now = ContinuousClock.now

    /// A lease whose view has just left, and the timer that it waits for.
    private func leaving() throws -> (ScreenLease, ScreenLease.TimerID) {
        var lease = ScreenLease(key: 3, grace: .seconds(30))
        let actions = lease.shown(false, at: now)
        guard case .startTimer(let id, let moment)? = actions.first else { throw RelayError.cancelled }
        #expect(actions.count == 1 && moment == now + .seconds(30) && id.key == 3)
        return (lease, id)
    }

    @Test("B28 a view that is away for longer than its time lets the subscription go, and takes it again on return")
    func release() throws {
        var (lease, id) = try leaving()
        #expect(lease.shown(false, at: now).isEmpty)
        #expect(lease.timerFired(id) == [.release] && lease.isReleased)
        #expect(lease.shown(false, at: now).isEmpty)
        #expect(lease.shown(true, at: now) == [.take] && !lease.isReleased)
        #expect(lease.shown(true, at: now).isEmpty)
    }

    @Test("B28 a view that is back in time costs nothing, and its timer does nothing")
    func brief() throws {
        var (lease, id) = try leaving()
        #expect(lease.shown(true, at: now) == [.cancelTimer(id)])
        #expect(lease.timerFired(id).isEmpty && !lease.isReleased)
    }

    @Test("B28 while the connection rests a view that is away has no time left")
    func rest() throws {
        var (lease, id) = try leaving()
        #expect(lease.connectionRests() == [.cancelTimer(id), .release])
        #expect(lease.connectionRests().isEmpty)
        #expect(lease.shown(true, at: now) == [.take])
        #expect(lease.connectionRests().isEmpty && !lease.isReleased)
    }

    @Test("B28 the end of the subscription ends its timer")
    func end() throws {
        var (lease, id) = try leaving()
        #expect(lease.end() == [.cancelTimer(id)])
        #expect(lease.timerFired(id).isEmpty)
    }
}
