import Testing

@testable import Relay

/// What a subscription to letters says while the connection changes.
@Suite("A subscription's standing")
struct SubscriptionStandingTests {
    private func status(_ state: ConnectionStatus.State, _ reason: ConnectionReason? = nil) -> ConnectionStatus {
        ConnectionStatus(state: state, reason: reason)
    }

    @Test("B42 an outage is told once, and the connection's return not before what came meanwhile was delivered")
    func outage() {
        var standing = SubscriptionStanding(.resubscribe)
        // On its way for the first time, which whoever subscribes knows.
        #expect(standing.connectionChanged(status(.connecting)) == .nothing)
        #expect(standing.connectionChanged(status(.connected)) == .nothing)
        standing.becameLive()
        #expect(standing.connectionChanged(status(.reconnecting, .connectionLost("gone"))) == .tell(.connecting))
        #expect(standing.connectionChanged(status(.reconnecting, .unreachable("away"))) == .nothing)
        #expect(standing.connectionChanged(status(.connected)) == .nothing)
        #expect(standing.status == .connecting)
        standing.becameLive()
        #expect(standing.status == .connected)
    }

    @Test("B42 rest and the end of a session are told for what they are")
    func ends() {
        var standing = SubscriptionStanding(.resubscribe)
        standing.becameLive()
        #expect(standing.connectionChanged(status(.suspended, .backgrounded)) == .tell(.disconnected))
        #expect(standing.connectionChanged(status(.reconnecting)) == .tell(.connecting))
        let kick = ConnectionReason.kicked(by: "root", reason: nil)
        #expect(standing.connectionChanged(status(.disconnected, kick)) == .tell(.error(.connection(kick))))
        #expect(standing.connectionChanged(status(.connecting)) == .tell(.connecting))
        #expect(standing.connectionChanged(status(.disconnected, .closedByUser)) == .tell(.disconnected))
    }

    @Test("B42 by the seed's policy an outage, a rest and the end of a session end the subscription")
    func seed() {
        let kick = ConnectionReason.banned("spam")
        let changes: [(ConnectionStatus, PlatformSubscriptionStatus)] = [
            (status(.reconnecting), .disconnected), (status(.suspended, .backgrounded), .disconnected),
            (status(.disconnected, kick), .error(.connection(kick))),
            (status(.disconnected, .closedByUser), .disconnected),
        ]
        for (change, end) in changes {
            var standing = SubscriptionStanding(.seed)
            standing.becameLive()
            #expect(standing.connectionChanged(change) == .end(end))
        }
        // It has not been live yet, so there was no outage.
        var standing = SubscriptionStanding(.seed)
        standing.wasInterrupted(.notAuthorized("letters"), passes: false)
        #expect(standing.connectionChanged(status(.connecting)) == .tell(.connecting))
    }
}
