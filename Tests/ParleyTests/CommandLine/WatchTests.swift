import Relay
import Terminal
import Testing

@testable import Parley

@Suite("What watch prints")
struct WatchTests {
    private static let wall = Timestamp(milliseconds: 1_763_719_200_123)
    private static let start = ContinuousClock.now

    private static func lines(_ statuses: [ConnectionStatus]) -> [WatchReport.Line] {
        var report = WatchReport(zone: .fixed(seconds: 0))
        return statuses.enumerated().compactMap { number, status in
            report.note(
                status,
                at: Moment(
                    instant: start.advanced(by: .seconds(number)),
                    wall: Timestamp(milliseconds: wall.milliseconds + Int64(number) * 1_000)))
        }
    }

    @Test("B11 Each change is a line, and a round trip alone is none")
    func changes() {
        let retry = Self.start.advanced(by: .milliseconds(4_300))
        let lines = Self.lines([
            .initialized, ConnectionStatus(state: .connecting, attempt: 1),
            ConnectionStatus(state: .connected, roundTripTime: .microseconds(400)),
            ConnectionStatus(state: .connected, roundTripTime: .microseconds(900)),
            ConnectionStatus(
                state: .reconnecting, reason: .connectionLost("reset"), attempt: 0, nextRetryAt: retry),
        ])
        #expect(
            lines.map { $0.text(isColored: false) } == [
                "10:00:00.123  ○ initialized",
                "10:00:01.123  ◌ connecting     attempt 1",
                "10:00:02.123  ● connected      0.4 ms · after 1.0 s connecting",
                "10:00:04.123  ↻ reconnecting   next try in 0.3 s · after 2.0 s connected · The connection was lost (reset).",
            ])
        #expect(lines[2].text(isColored: true).contains("\u{1B}[32m● connected    \u{1B}[0m"))
    }

    @Test("B61 Silence and its end are a line each, of the same state")
    func silence() {
        let silent = ConnectionStatus(state: .connected, silentSince: Self.start - .seconds(1))
        let lines = Self.lines([
            ConnectionStatus(state: .connected, roundTripTime: .microseconds(400)), silent, silent,
            ConnectionStatus(state: .connected, roundTripTime: .seconds(3)),
        ])
        #expect(
            lines.map { $0.text(isColored: false) } == [
                "10:00:00.123  ● connected      0.4 ms",
                "10:00:01.123  ● connected      no answer for 2.0 s",
                "10:00:03.123  ● connected      3.0 s · answering again after 4.0 s",
            ])
        #expect(lines[1].text(isColored: true).contains("\u{1B}[33m● connected    \u{1B}[0m"))
    }

    @Test("B53 Remote words on a line are safe")
    func hostile() {
        let lines = Self.lines([ConnectionStatus(state: .disconnected, reason: .banned("\u{1B}[2J\nevil\u{202E}"))])
        let text = lines.first?.text(isColored: false) ?? ""
        #expect(text.contains("evil") && !text.contains("\u{1B}") && !text.contains("\n") && !text.contains("\u{202E}"))
    }

    @Test(
        "B12 The object has the status in every vocabulary",
        arguments: [
            (
                ConnectionStatus.initialized,
                #"{"at":"2025-11-21T10:00:00.123Z","status":"initialized","reason":null,"attempt":0,"retryIn":null,"rtt":null,"silentSince":null,"relayx":null,"sudo":"initialized","nexconn":11,"rongcloud":null,"supabase":"disconnected"}"#
            ),
            (
                ConnectionStatus(state: .connected, roundTripTime: .microseconds(250)),
                #"{"at":"2025-11-21T10:00:00.123Z","status":"connected","reason":null,"attempt":0,"retryIn":null,"rtt":0.00025,"silentSince":null,"relayx":"CONNECTED","sudo":"connected","nexconn":0,"rongcloud":null,"supabase":"connected"}"#
            ),
            (
                ConnectionStatus(state: .connected, silentSince: start - .milliseconds(2_023)),
                #"{"at":"2025-11-21T10:00:00.123Z","status":"connected","reason":null,"attempt":0,"retryIn":null,"rtt":null,"silentSince":"2025-11-21T09:59:58.100Z","relayx":"CONNECTED","sudo":"connected","nexconn":0,"rongcloud":null,"supabase":"connected"}"#
            ),
            (
                ConnectionStatus(
                    state: .reconnecting, reason: .connectionLost("x"), attempt: 2,
                    nextRetryAt: start.advanced(by: .milliseconds(1_500))),
                #"{"at":"2025-11-21T10:00:00.123Z","status":"reconnecting","reason":"The connection was lost (x).","attempt":2,"retryIn":1.5,"rtt":null,"silentSince":null,"relayx":"RECONNECTING","sudo":"connecting","nexconn":13,"rongcloud":32054,"supabase":"connecting"}"#
            ),
            (
                ConnectionStatus(state: .disconnected, reason: .banned(nil)),
                #"{"at":"2025-11-21T10:00:00.123Z","status":"disconnected","reason":"This user is banned. Ask the network's administrator.","attempt":0,"retryIn":null,"rtt":null,"silentSince":null,"relayx":"DISCONNECTED","sudo":"error","nexconn":16,"rongcloud":31009,"supabase":"disconnected"}"#
            ),
        ])
    func json(status: ConnectionStatus, expected: String) throws {
        let line = try #require(Self.lines([status]).first)
        #expect(line.objects.map { JSONText.text(.map($0)) } == [expected])
    }

    @Test("B12 B13 The end of RelayX's window is RECONN_FAILED, and DISCONNECTED as the last event")
    func windowExpired() throws {
        let line = try #require(
            Self.lines([ConnectionStatus(state: .disconnected, reason: .windowExpired)]).first)
        #expect(line.objects.map { $0["relayx"] } == [.string("RECONN_FAILED"), .string("DISCONNECTED")])
        #expect(line.objects.map { $0["status"] } == [.string("disconnected"), .string("disconnected")])
    }
}
