/// A scenario that comes with Parley. Each begins when the client is connected.
public struct ShippedScenario: Hashable, Sendable {
    /// The name by which `parley lab run` finds it.
    public let name: String
    /// The scenario's file.
    public let text: String

    /// - Parameters:
    ///   - settings: what the file says beside title, description and steps.
    ///   - count: how many messages are sent and received before the other steps.
    private init(
        _ name: String, _ title: String, _ about: String, settings: [String] = [], sending count: Int = 0,
        steps: String
    ) {
        self.name = name
        var all = ["{ expect: { status: \"connected\" }, within: \"60s\" },"]
        if count > 0 {
            all.append("{ do: \"send\", count: \(count) },")
            all.append("{ expect: { acknowledged: \(count), received: \(count) }, within: \"60s\" },")
        }
        all += steps.split(separator: "\n").map(String.init)
        let head = ["title: \"\(title)\",", "about: \"\(about)\","] + settings
        let lines = ["{"] + head.map { "    " + $0 } + ["    steps: ["] + all.map { "        " + $0 } + ["    ],", "}"]
        text = lines.joined(separator: "\n")
    }

    /// The scenario.
    ///
    /// - Throws: ``LabScenarioError``, which a test keeps from happening.
    public func scenario() throws(LabScenarioError) -> LabScenario { try LabScenario(parsing: text.utf8) }

    /// The scenario of that name; nil where none comes with Parley.
    public static func named(_ name: String) -> ShippedScenario? { all.first { $0.name == name } }

    /// All of them.
    public static let all: [ShippedScenario] = [
        ShippedScenario(
            "relayx-under-two-minutes", "RelayX: an outage of less than two minutes",
            "The window does not pass: what was written meanwhile is sent when the link is back.",
            settings: ["// Two minutes are 6 s.", "speed: 20,", #"client: { reconnect: "relayx" },"#], sending: 5,
            steps: """
                { do: "refuse", for: "60s" },
                { do: "cut" },
                { expect: { status: "reconnecting" }, within: "60s" },
                { do: "send", count: 20, every: "2s" },
                { expect: { status: "connected" }, within: "300s" },
                { expect: { sent: 25, acknowledged: 25, received: 25, lost: 0, doubled: 0 }, within: "300s" },
                """),
        ShippedScenario(
            "relayx-over-two-minutes", "RelayX: an outage of more than two minutes",
            "The window passes: the session ends, and what waited is reported as not sent.",
            settings: ["// Two minutes are 6 s.", "speed: 20,", #"client: { reconnect: "relayx" },"#], sending: 5,
            steps: """
                { do: "refuse", for: "200s" },
                { do: "cut" },
                { expect: { status: "reconnecting" }, within: "60s" },
                { do: "send", count: 3 },
                { expect: { status: "disconnected", reason: "windowExpired" }, within: "400s" },
                { expect: { notSent: 3, acknowledged: 5, received: 5, lost: 0 }, within: "60s" },
                """),
        ShippedScenario(
            "rongcloud-ladder", "RongCloud: the waits between attempts",
            "0.05, 0.25, 0.5, 1, 2, 4 s and so on, without end.",
            settings: ["speed: 10,", #"client: { reconnect: "rongcloud" },"#],
            steps: """
                { do: "refuse", for: "40s" },
                { do: "cut" },
                { expect: { status: "reconnecting" }, within: "60s" },
                { expect: { attempts: 7 }, within: "120s" },
                { do: "send", count: 3 },
                { expect: { status: "connected" }, within: "300s" },
                { expect: { sent: 3, acknowledged: 3, received: 3, lost: 0, doubled: 0 }, within: "60s" },
                """),
        ShippedScenario(
            "token-expiry", "A token that ends while connected",
            "The client is given a new one and goes on; nothing is lost.",
            settings: [#"client: { tokenLifetime: "20s" },"#], sending: 3,
            steps: """
                { expect: { status: "reconnecting", reason: "tokenExpired" }, within: "60s" },
                { expect: { status: "connected" }, within: "60s" },
                { do: "send", count: 3 },
                { expect: { sent: 6, acknowledged: 6, received: 6, lost: 0, doubled: 0 }, within: "60s" },
                """),
        ShippedScenario(
            "kick", "Kicked by the administrator",
            "The session ends with the administrator's reason, and does not come back by itself.",
            sending: 3,
            steps: """
                { do: "kick", reason: "a rehearsal" },
                { expect: { status: "disconnected", reason: "kicked" }, within: "60s" },
                { expect: { sent: 3, received: 3, lost: 0, doubled: 0 } },
                """),
        ShippedScenario(
            "ban", "Banned, and let in again",
            "The session ends with the ban; a new one begins when it is lifted.",
            sending: 3,
            steps: """
                { do: "ban", reason: "a rehearsal" },
                { expect: { status: "disconnected", reason: "banned" }, within: "60s" },
                { do: "unban" },
                { do: "connect" },
                { expect: { status: "connected" }, within: "60s" },
                { expect: { sent: 3, received: 3, lost: 0, doubled: 0 }, within: "60s" },
                """),
        ShippedScenario(
            "other-device", "Signed in on another device",
            "With one session for each user, the first device learns which other one took it over.",
            settings: [#"client: { session: "take-over" },"#], sending: 3,
            steps: """
                { do: "login", device: "the other device" },
                { expect: { status: "disconnected", reason: "kickedByOtherDevice" }, within: "60s" },
                { expect: { sent: 3, received: 3, lost: 0, doubled: 0 } },
                """),
        ShippedScenario(
            "background-cycles", "Into the background and back, three times",
            "The connection is suspended each time, and what was written meanwhile is sent on return.",
            settings: [#"client: { suspendAfter: "1s" },"#],
            steps: """
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
                """),
        ShippedScenario(
            "flapping-link", "A link that is cut again and again",
            "While messages are sent: each arrives once and in order.",
            steps: """
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
                """),
        ShippedScenario(
            "half-open-link", "A half-open link",
            "What the server sends vanishes and the socket stays open: the client's pings notice it.",
            settings: [#"client: { ping: "1s", pong: "3s" },"#], sending: 3,
            steps: """
                { do: "blackhole", direction: "from-server", for: "8s" },
                { do: "send", count: 3 },
                { expect: { status: "reconnecting", reason: "connectionLost" }, within: "60s" },
                { expect: { status: "connected" }, within: "60s" },
                { expect: { sent: 6, acknowledged: 6, received: 6, lost: 0, doubled: 0 }, within: "90s" },
                """),
        ShippedScenario(
            "slow-subscriber", "A slow subscriber",
            "A reader that takes nothing for a while misses nothing: what it has not taken stays on the server.",
            steps: """
                { do: "pause", for: "3s" },
                { do: "send", count: 3000 },
                { expect: { acknowledged: 3000 }, within: "90s" },
                { expect: { sent: 3000, received: 3000, lost: 0, doubled: 0, outOfOrder: 0 }, within: "90s" },
                """),
        ShippedScenario(
            "full-disk", "A full disk",
            "While its disk is full the network takes nothing more, and each message that it refuses is reported as not sent.",
            sending: 3,
            steps: """
                { do: "fill-disk", for: "8s" },
                { do: "send", count: 60, every: "200ms" },
                { expect: { notSent: "1+" }, within: "60s" },
                { expect: { sent: 63, unsettled: 0, lost: 0, doubled: 0, contradicted: 0 }, within: "90s" },
                """),
        ShippedScenario(
            "server-killed", "A server that is killed",
            "And started again after two seconds: what was written meanwhile is sent, and what it stored is there.",
            sending: 5,
            steps: """
                { do: "kill-server", for: "2s" },
                { expect: { status: "reconnecting" }, within: "60s" },
                { do: "send", count: 5 },
                { expect: { status: "connected" }, within: "90s" },
                { expect: { sent: 10, acknowledged: 10, received: 10, lost: 0, doubled: 0 }, within: "90s" },
                """),
        ShippedScenario(
            "leader-loss", "A cluster that loses a leader",
            "Three servers, of which the one dies that leads the stream: another one leads, and nothing is lost.",
            sending: 5,
            steps: """
                { do: "stop-leader", for: "10s" },
                { do: "send", count: 20, every: "100ms" },
                { expect: { sent: 25, acknowledged: 25, received: 25, lost: 0, doubled: 0 }, within: "120s" },
                { expect: { status: "connected" }, within: "60s" },
                """),
    ]
}
