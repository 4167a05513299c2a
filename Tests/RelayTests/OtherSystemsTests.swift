import Relay
import Testing

@Suite struct OtherSystemsTests {
    private static func ended(_ reason: ConnectionReason) -> ConnectionStatus {
        ConnectionStatus(state: .disconnected, reason: reason)
    }

    private static let waiting = ConnectionStatus(state: .reconnecting, reason: .connectionLost("x"), nextRetryAt: .now)

    private static let everyReason: [ConnectionReason] = [
        .closedByUser, .networkUnavailable, .connectionLost(""), .unreachable(""), .timeLimit(.zero), .windowExpired,
        .backgrounded, .invalidCredentials(""), .authenticationFailed(""), .tokenExpired, .kicked(by: nil),
        .kickedByOtherDevice(nil), .banned(nil), .appBlocked(nil), .deactivated(nil), .proxyUnavailable(""),
        .tlsFailure(""), .store(""), .unknown(-9), .unknown(77_777),
    ]

    @Test(
        "B12: RelayX events",
        arguments: [
            (.initialized, nil), (ConnectionStatus(state: .connecting), nil),
            (ConnectionStatus(state: .suspended), nil),
            (ConnectionStatus(state: .connected), .connected),
            (ConnectionStatus(state: .connected, recoveries: 1), .reconnected), (waiting, .reconnecting),
            (ended(.closedByUser), .disconnected), (ended(.banned(nil)), .disconnected),
            (ended(.windowExpired), .reconnectFailed),
        ] as [(ConnectionStatus, SystemEvent?)]
    ) func relayx(_ status: ConnectionStatus, _ event: SystemEvent?) {
        #expect(SystemEvent(status) == event)
    }

    @Test("B12: RelayX's wire names, and the topics that carry them")
    func relayxNames() {
        #expect(SystemEvent.reconn_failed.rawValue == "RECONN_FAILED" && SystemEvent.reconnect.rawValue == "RECONNECT")
        #expect(SystemEvent.reconnecting.topic == "RECONNECT" && SystemEvent.connected.topic == "CONNECTED")
    }

    @Test(
        "B12: Sudo's subscription status",
        arguments: [
            (.initialized, .initialized), (ConnectionStatus(state: .connecting), .connecting), (waiting, .connecting),
            (ConnectionStatus(state: .connected), .connected),
            (ConnectionStatus(state: .suspended, reason: .backgrounded), .disconnected),
            (ended(.closedByUser), .disconnected), (ended(.deactivated(nil)), .error(.connection(.deactivated(nil)))),
            (ended(.windowExpired), .error(.connection(.windowExpired))),
        ] as [(ConnectionStatus, PlatformSubscriptionStatus)]
    ) func sudo(_ status: ConnectionStatus, _ expected: PlatformSubscriptionStatus) {
        #expect(PlatformSubscriptionStatus(status) == expected)
    }

    @Test("B12: Nexconn's raw values, there and back", arguments: [0, 1, 6, 10, 11, 12, 13, 14, 15, 16, 17, 19])
    func nexconn(_ raw: Int) {
        let status = NexconnConnectionStatus(rawValue: raw)
        #expect(status.rawValue == raw)
        if case .unknown = status { Issue.record("\(raw) is known") }
        let (state, reason) = status.meaning
        #expect(NexconnConnectionStatus(ConnectionStatus(state: state, reason: reason)) == status)
    }

    @Test(
        "B12: integers that Nexconn never named stay themselves", arguments: [-1, 2, 5, 7, 18, 20, 4_242, .min, .max])
    func nexconnUnknown(_ raw: Int) {
        let status = NexconnConnectionStatus(rawValue: raw)
        #expect(status == .unknown(raw) && status.rawValue == raw)
        #expect(NexconnConnectionStatus(Self.ended(.unknown(raw))) == status)
    }

    @Test(
        "B12: Nexconn's words for our statuses",
        arguments: [
            (.initialized, 11), (ended(.timeLimit(.seconds(5), after: .tlsFailure("x"))), 14),
            (ConnectionStatus(state: .connecting, attempt: 1), 10), (waiting, 13),
            (ConnectionStatus(state: .reconnecting, attempt: 2), 10),
            (ConnectionStatus(state: .reconnecting, reason: .networkUnavailable), 1),
            (ConnectionStatus(state: .suspended), 13), (ended(.timeLimit(.seconds(5))), 14),
            (ended(.windowExpired), 14),
            (ended(.authenticationFailed("")), 15), (ended(.invalidCredentials("")), 15), (ended(.kicked(by: "x")), 6),
            (ended(.kickedByOtherDevice("x")), 6), (ended(.banned("x")), 16), (ended(.proxyUnavailable("x")), 17),
            (ended(.deactivated(nil)), 19), (ended(.closedByUser), 12), (ended(.store("x")), 11),
            // Another system's code may not pass for "connected".
            (ended(.unknown(0)), 11),
        ] as [(ConnectionStatus, Int)]
    ) func nexconnWords(_ status: ConnectionStatus, _ raw: Int) {
        #expect(NexconnConnectionStatus(status).rawValue == raw)
    }

    @Test("B12: every reason has its own RongCloud code and comes back from it", arguments: everyReason)
    func rongcloud(_ reason: ConnectionReason) {
        #expect(RongCloudCode(reason).reason == reason)
        #expect(RongCloudCode(Self.ended(reason))?.reason == reason)
    }

    @Test(
        "B12: the seed's codes",
        arguments: [
            (31_004, .authenticationFailed("")), (31_020, .tokenExpired), (31_010, .kicked(by: nil)),
            (31_023, .kickedByOtherDevice(nil)), (31_009, .banned(nil)), (34_006, .timeLimit(.zero)),
            (31_008, .appBlocked(nil)), (31_028, .proxyUnavailable("")), (34_245, .proxyUnavailable("")),
            (31_029, .deactivated(nil)),
            (33_002, .store("")), (30_002, .networkUnavailable), (12_345, .unknown(12_345)),
        ] as [(Int, ConnectionReason)]
    ) func rongcloudCodes(_ code: Int, _ reason: ConnectionReason) {
        #expect(RongCloudCode(rawValue: code).reason == reason)
    }

    @Test("B12: RongCloud has no code for a status that needs none")
    func rongcloudNone() {
        #expect(Set(Self.everyReason.map { RongCloudCode($0) }).count == Self.everyReason.count)
        #expect(RongCloudCode(ConnectionStatus(state: .connected)) == nil)
    }

    @Test(
        "B12: Supabase's three states",
        arguments: [
            (.initialized, .disconnected), (ConnectionStatus(state: .connecting), .connecting),
            (ConnectionStatus(state: .connected), .connected), (waiting, .connecting),
            (ConnectionStatus(state: .suspended), .disconnected), (ended(.closedByUser), .disconnected),
        ] as [(ConnectionStatus, SupabaseStatus)]
    ) func supabase(_ status: ConnectionStatus, _ expected: SupabaseStatus) {
        #expect(SupabaseStatus(status) == expected)
    }

    @Test("Every reason and state explains itself", arguments: everyReason)
    func words(_ reason: ConnectionReason) {
        #expect(reason.words.hasSuffix("."))
        for state in ConnectionStatus.State.allCases {
            #expect(!ConnectionStatus(state: state, reason: reason).words.isEmpty)
        }
    }
}
