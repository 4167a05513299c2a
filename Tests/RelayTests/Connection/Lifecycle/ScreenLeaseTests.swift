import Testing

@testable import Relay

/// When a subscription is held that is for a view on the screen.
@Suite("Lifecycle: subscriptions for a view on the screen")
struct ScreenLeaseTests {
    private let now = ContinuousClock.now

    /// A lease whose view has just left, and the timer that it waits for.
    private func leaving() throws -> (ScreenLease, ScreenLease.TimerID) {
        var lease = ScreenLease(of: "room", grace: .seconds(30))
        let actions = lease.shown(false, at: now)
        guard case .startTimer(let id, let moment)? = actions.first else { throw RelayError.cancelled }
        #expect(actions.count == 1 && moment == now + .seconds(30) && id.subscription == "room")
        return (lease, id)
    }

    @Test("B28 a view that is away for longer than its time lets the subscription go, and takes it again on return")
    func release() throws {
        var (lease, id) = try leaving()
        #expect(lease.shown(false, at: now).isEmpty)
        #expect(lease.timerFired(id) == [.release(id: "room")] && lease.isReleased)
        #expect(lease.shown(false, at: now).isEmpty)
        #expect(lease.shown(true, at: now) == [.take(id: "room")] && !lease.isReleased)
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
        #expect(lease.connectionRests() == [.cancelTimer(id), .release(id: "room")])
        #expect(lease.connectionRests().isEmpty)
        #expect(lease.shown(true, at: now) == [.take(id: "room")])
        #expect(lease.connectionRests().isEmpty && !lease.isReleased)
    }

    @Test("B28 the end of the subscription ends its timer")
    func end() throws {
        var (lease, id) = try leaving()
        #expect(lease.end() == [.cancelTimer(id)])
        #expect(lease.timerFired(id).isEmpty)
    }

    @Test("B28 each view has its own time, and a connection that rests lets all go that are away")
    func several() throws {
        var leases = ScreenLeases()
        for id in ["room", "lobby", "hall"] { #expect(leases.handle(.added(id: id, grace: .zero), at: now).isEmpty) }
        guard case .startTimer(let room, now)? = leases.handle(.shown(id: "room", false), at: now).first,
            case .startTimer(let lobby, now)? = leases.handle(.shown(id: "lobby", false), at: now).first
        else { throw RelayError.cancelled }
        #expect(leases.handle(.timerFired(room), at: now) == [.release(id: "room")])
        #expect(leases.handle(.connectionRests, at: now) == [.cancelTimer(lobby), .release(id: "lobby")])
        #expect(leases.handle(.connectionRests, at: now).isEmpty)
        #expect(leases.handle(.shown(id: "room", true), at: now) == [.take(id: "room")])
        #expect(leases.handle(.ended(id: "lobby"), at: now).isEmpty)
        #expect(leases.handle(.shown(id: "lobby", true), at: now).isEmpty)
    }
}
