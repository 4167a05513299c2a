/// The scenarios that come with Parley, by their names.
public enum ShippedScenario: String, Hashable, Sendable, CaseIterable {
    /// RelayX's window: an outage of less than two minutes.
    case relayxShort = "relayx-under-two-minutes"
    /// RelayX's window: an outage of more than two minutes.
    case relayxLong = "relayx-over-two-minutes"
    /// RongCloud's waits between attempts.
    case rongcloudLadder = "rongcloud-ladder"
    /// A token that ends while connected.
    case tokenExpiry = "token-expiry"
    /// An administrator who ends the connection.
    case kick
    /// An administrator who bans the user.
    case ban
    /// The same user on another device.
    case otherDevice = "other-device"
    /// An application that comes and goes.
    case backgroundCycles = "background-cycles"
    /// A link that is cut again and again.
    case flappingLink = "flapping-link"
    /// A link that swallows what the server sends.
    case halfOpenLink = "half-open-link"
    /// A reader that takes nothing for a while.
    case slowSubscriber = "slow-subscriber"
    /// A server whose disk is full.
    case fullDisk = "full-disk"
    /// A server that is killed.
    case serverKilled = "server-killed"
    /// A cluster whose leader is killed.
    case leaderLoss = "leader-loss"

    /// The scenario's file.
    public var text: String {
        switch self {
        case .relayxShort:
            """
            {
                title: "RelayX: an outage of less than two minutes",
                about: "The window does not pass: what was written meanwhile is sent when the link is back.",
                // Two minutes are 6 s.
                speed: 20,
                client: { reconnect: "relayx" },
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 5 },
                    { expect: { acknowledged: 5, received: 5 }, within: "60s" },
                    { do: "refuse", for: "60s" },
                    { do: "cut" },
                    { expect: { status: "reconnecting" }, within: "60s" },
                    { do: "send", count: 20, every: "2s" },
                    { expect: { status: "connected" }, within: "300s" },
                    { expect: { sent: 25, acknowledged: 25, received: 25, lost: 0, doubled: 0 }, within: "300s" },
                ],
            }
            """
        case .relayxLong:
            """
            {
                title: "RelayX: an outage of more than two minutes",
                about: "The window passes: the session ends, and what waited is reported as not sent.",
                // Two minutes are 6 s.
                speed: 20,
                client: { reconnect: "relayx" },
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 5 },
                    { expect: { acknowledged: 5, received: 5 }, within: "60s" },
                    { do: "refuse", for: "200s" },
                    { do: "cut" },
                    { expect: { status: "reconnecting" }, within: "60s" },
                    { do: "send", count: 3 },
                    { expect: { status: "disconnected", reason: "windowExpired" }, within: "400s" },
                    { expect: { notSent: 3, acknowledged: 5, received: 5, lost: 0 }, within: "60s" },
                ],
            }
            """
        case .rongcloudLadder:
            """
            {
                title: "RongCloud: the waits between attempts",
                about: "0.05, 0.25, 0.5, 1, 2, 4 s and so on, without end.",
                speed: 10,
                client: { reconnect: "rongcloud" },
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "refuse", for: "40s" },
                    { do: "cut" },
                    { expect: { status: "reconnecting" }, within: "60s" },
                    { expect: { attempts: 7 }, within: "120s" },
                    { do: "send", count: 3 },
                    { expect: { status: "connected" }, within: "300s" },
                    { expect: { sent: 3, acknowledged: 3, received: 3, lost: 0, doubled: 0 }, within: "60s" },
                ],
            }
            """
        case .tokenExpiry:
            """
            {
                title: "A token that ends while connected",
                about: "The client is given a new one and goes on; nothing is lost.",
                client: { tokenLifetime: "20s" },
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 3 },
                    { expect: { acknowledged: 3, received: 3 }, within: "60s" },
                    { expect: { status: "reconnecting", reason: "tokenExpired" }, within: "60s" },
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 3 },
                    { expect: { sent: 6, acknowledged: 6, received: 6, lost: 0, doubled: 0 }, within: "60s" },
                ],
            }
            """
        case .kick:
            """
            {
                title: "Kicked by the administrator",
                about: "The session ends with the administrator's reason, and does not come back by itself.",
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 3 },
                    { expect: { acknowledged: 3, received: 3 }, within: "60s" },
                    { do: "kick", reason: "a rehearsal" },
                    { expect: { status: "disconnected", reason: "kicked" }, within: "60s" },
                    { expect: { sent: 3, received: 3, lost: 0, doubled: 0 } },
                ],
            }
            """
        case .ban:
            """
            {
                title: "Banned, and let in again",
                about: "The session ends with the ban; a new one begins when it is lifted.",
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 3 },
                    { expect: { acknowledged: 3, received: 3 }, within: "60s" },
                    { do: "ban", reason: "a rehearsal" },
                    { expect: { status: "disconnected", reason: "banned" }, within: "60s" },
                    { do: "unban" },
                    { do: "connect" },
                    { expect: { status: "connected" }, within: "60s" },
                    { expect: { sent: 3, received: 3, lost: 0, doubled: 0 }, within: "60s" },
                ],
            }
            """
        case .otherDevice:
            """
            {
                title: "Signed in on another device",
                about: "With one session for each user, the first device learns which other one took it over.",
                client: { session: "take-over" },
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 3 },
                    { expect: { acknowledged: 3, received: 3 }, within: "60s" },
                    { do: "login", device: "the other device" },
                    { expect: { status: "disconnected", reason: "kickedByOtherDevice" }, within: "60s" },
                    { expect: { sent: 3, received: 3, lost: 0, doubled: 0 } },
                ],
            }
            """
        case .backgroundCycles:
            """
            {
                title: "Into the background and back, three times",
                about: "The connection is suspended each time, and what was written meanwhile is sent on return.",
                client: { suspendAfter: "1s" },
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "background" },
                    { expect: { status: "suspended", reason: "backgrounded" }, within: "60s" },
                    { do: "send", count: 2 },
                    { do: "foreground" },
                    { expect: { status: "connected" }, within: "60s" },
                    { expect: { acknowledged: 2, received: 2 }, within: "60s" },
                    { do: "background" },
                    { expect: { status: "suspended" }, within: "60s" },
                    { do: "send", count: 2 },
                    { do: "foreground" },
                    { expect: { status: "connected" }, within: "60s" },
                    { expect: { acknowledged: 4, received: 4 }, within: "60s" },
                    { do: "background" },
                    { expect: { status: "suspended" }, within: "60s" },
                    { do: "send", count: 2 },
                    { do: "foreground" },
                    { expect: { status: "connected" }, within: "60s" },
                    { expect: { sent: 6, acknowledged: 6, received: 6, lost: 0, doubled: 0 }, within: "60s" },
                ],
            }
            """
        case .flappingLink:
            """
            {
                title: "A link that is cut again and again",
                about: "While messages are sent: each arrives once and in order.",
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 200, every: "10ms" },
                    { after: "200ms", do: "cut" },
                    { expect: { status: "reconnecting" }, within: "60s" },
                    { expect: { status: "connected" }, within: "60s" },
                    { after: "100ms", do: "cut", how: "finish", afterBytes: 500, direction: "from-server" },
                    { after: "200ms", do: "cut", afterBytes: 300, direction: "from-client" },
                    { after: "300ms", do: "cut" },
                    { after: "300ms", do: "cut", how: "finish" },
                    { after: "300ms", do: "cut" },
                    { expect: { sent: 200, acknowledged: 200, received: 200, lost: 0, doubled: 0, outOfOrder: 0 },
                      within: "90s" },
                    { expect: { status: "connected" }, within: "60s" },
                ],
            }
            """
        case .halfOpenLink:
            """
            {
                title: "A half-open link",
                about: "What the server sends vanishes and the socket stays open: the client's pings notice it.",
                client: { ping: "1s", pong: "3s" },
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 3 },
                    { expect: { acknowledged: 3, received: 3 }, within: "60s" },
                    { do: "blackhole", direction: "from-server", for: "8s" },
                    { do: "send", count: 3 },
                    { expect: { status: "reconnecting", reason: "connectionLost" }, within: "60s" },
                    { expect: { status: "connected" }, within: "60s" },
                    { expect: { sent: 6, acknowledged: 6, received: 6, lost: 0, doubled: 0 }, within: "90s" },
                ],
            }
            """
        case .slowSubscriber:
            """
            {
                title: "A slow subscriber",
                about: "A reader that takes nothing for a while misses nothing: what it has not taken stays on the server.",
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "pause", for: "3s" },
                    { do: "send", count: 3000 },
                    { expect: { acknowledged: 3000 }, within: "90s" },
                    { expect: { sent: 3000, received: 3000, lost: 0, doubled: 0, outOfOrder: 0 }, within: "90s" },
                ],
            }
            """
        case .fullDisk:
            """
            {
                title: "A full disk",
                about: "While its disk is full the network takes nothing more, and each message that it refuses is reported as not sent.",
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 3 },
                    { expect: { acknowledged: 3, received: 3 }, within: "60s" },
                    { do: "fill-disk", for: "8s" },
                    { do: "send", count: 60, every: "200ms" },
                    { expect: { notSent: "1+" }, within: "60s" },
                    { expect: { sent: 63, unsettled: 0, lost: 0, doubled: 0, contradicted: 0 }, within: "90s" },
                ],
            }
            """
        case .serverKilled:
            """
            {
                title: "A server that is killed",
                about: "And started again after two seconds: what was written meanwhile is sent, and what it stored is there.",
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 5 },
                    { expect: { acknowledged: 5, received: 5 }, within: "60s" },
                    { do: "kill-server", for: "2s" },
                    { expect: { status: "reconnecting" }, within: "60s" },
                    { do: "send", count: 5 },
                    { expect: { status: "connected" }, within: "90s" },
                    { expect: { sent: 10, acknowledged: 10, received: 10, lost: 0, doubled: 0 }, within: "90s" },
                ],
            }
            """
        case .leaderLoss:
            """
            {
                title: "A cluster that loses a leader",
                about: "Three servers, of which the one dies that leads the stream: another one leads, and nothing is lost.",
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 5 },
                    { expect: { acknowledged: 5, received: 5 }, within: "60s" },
                    { do: "stop-leader", for: "10s" },
                    { do: "send", count: 20, every: "100ms" },
                    { expect: { sent: 25, acknowledged: 25, received: 25, lost: 0, doubled: 0 }, within: "120s" },
                    { expect: { status: "connected" }, within: "60s" },
                ],
            }
            """
        }
    }

    /// Whether it needs a cluster of three servers.
    public var needsCluster: Bool { self == .leaderLoss }

    /// The scenario.
    ///
    /// - Throws: ``LabScenarioError``, which a test keeps from happening.
    public func scenario() throws(LabScenarioError) -> LabScenario { try LabScenario(parsing: text.utf8) }
}
