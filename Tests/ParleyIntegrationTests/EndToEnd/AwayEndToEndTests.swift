import Foundation
import NATS
import Platform
import RelayFaults
import TestSupport
import Testing

/// What somebody who is away misses, and what they find on return.
private enum Missed {
    static let lines = ["said meanwhile", "and said again"]

    /// Has letters come to alice until one does so by itself, so that none that comes later can be overlooked, and goes
    /// back to the lobby.
    static func awaitLetters(_ alice: PseudoTerminal, in network: PrivateNetworkFixture) async throws {
        try alice.press(.f(3))
        try await alice.waitFor("the list", deadline: .seconds(60)) {
            $0.contains("page 1") && $0.contains("Welcome") && !$0.contains("listing")
        }
        var number = 0
        // One may come just before the chat listens.
        repeat {
            number += 1
            try await post("letter \(number)", in: network)
        } while try await !shows("letter \(number)", alice)
        try alice.press(.alt("1"))
        try await alice.waitFor("the lobby", deadline: .seconds(60)) { $0.main(row: 1).contains("chat.lobby") }
    }

    private static func shows(_ text: String, _ terminal: PseudoTerminal) async throws -> Bool {
        do {
            try await terminal.waitFor(text: text, deadline: .seconds(10))
            return true
        } catch {
            guard terminal.exitStatus == nil else { throw error }
            return false
        }
    }

    /// Has bob say both lines and write a letter; all of it is on the network when this returns.
    static func happens(in network: PrivateNetworkFixture) async throws {
        for line in lines {
            let sent = try await network.parley("send", "--as", "bob", "chat.lobby", line)
            #expect(sent.status.isSuccess, "\(sent)")
        }
        try await post("written meanwhile", in: network)
    }

    private static func post(_ text: String, in network: PrivateNetworkFixture) async throws {
        let posted = try await network.parley("inbox", "post", "--as", "bob", "alice/personal", text)
        #expect(posted.status.isSuccess, "\(posted)")
    }

    /// Whether both lines are there once, as recovered, below the mark of what is new.
    static func isMarked(_ screen: TerminalScreen) -> Bool {
        guard let mark = screen.row(containing: "── new ─") else { return false }
        return lines.allSatisfy { line in
            let rows = screen.rows.indices.filter { screen.rows[$0].contains(line) }
            return rows.count == 1 && rows.allSatisfy { $0 > mark && screen.rows[$0].hasSuffix("↺") }
        }
    }

    /// Whether the row above the text says all of what came.
    static func isTold(_ screen: TerminalScreen) -> Bool {
        screen.rows.contains { $0.contains("away ") && $0.contains(": 2 new in 1 topic, 1 letter") }
    }

    /// Leads to the letter and back; it is there once.
    static func readLetter(_ alice: PseudoTerminal) async throws {
        try alice.press(.f(3))
        try await alice.waitFor("the letter, once", deadline: .seconds(60)) {
            $0.count(of: "written meanwhile") == 1 && !$0.contains("listing")
        }
    }
}

extension EndToEndTests {
    @Suite("Away and back")
    struct Away {
        private static func suspended(_ alice: PseudoTerminal) async throws {
            try await alice.waitFor("the rest", deadline: .seconds(60)) { $0.contains("║ SUSPENDED") }
        }

        private static func returned(_ alice: PseudoTerminal) async throws {
            try await alice.waitFor("the return, with what came meanwhile", deadline: .seconds(60)) {
                $0.contains("● CONNECTED") && Missed.isMarked($0) && Missed.isTold($0)
            }
            try await Missed.readLetter(alice)
        }

        private static func nobodyIsConnected(_ network: PrivateNetworkFixture) async throws {
            try await eventually("the server to have no client", deadline: .seconds(60)) {
                try await network.clientCount() == 0
            }
        }

        /// Runs a body with a tmux server, and returns when all that ran there has ended.
        private static func inTmux(
            _ network: PrivateNetworkFixture, focusEvents: Bool, _ body: (TmuxServer) async throws -> Void
        ) async throws {
            let tmux = try await TmuxServer.start(focusEvents: focusEvents, environment: network.environment)
            defer { tmux.close() }
            try await body(tmux)
            let programs = try await tmux.programs()
            tmux.close()
            try await eventually("the end of what ran in tmux", deadline: .seconds(60)) {
                !programs.contains { PrivateNetworkFixture.isRunning($0) }
            }
        }

        /// Alice's chat in tmux, connected.
        private static func chat(in tmux: TmuxServer) async throws -> PseudoTerminal {
            let parley = try BuiltProduct.url("parley").path
            let alice = try tmux.open(parley, ["--as", "alice", "--suspend-after", "1"], columns: 100)
            try await alice.waitFor("a connected client", deadline: .seconds(60)) {
                $0.contains("● CONNECTED") && $0.contains("personal")
            }
            return alice
        }

        @Test("B21 On a bare terminal: out of focus and back, what came meanwhile is there once, marked and counted")
        func focus() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.started()
                let alice = try await network.connected("alice", ["--suspend-after", "1"], columns: 100)
                try await Missed.awaitLetters(alice, in: network)
                try alice.focus(true)
                try alice.focus(false)
                try await Self.suspended(alice)
                try await Self.nobodyIsConnected(network)
                try await Missed.happens(in: network)
                #expect(!alice.screen.contains(Missed.lines[0]))
                try alice.focus(true)
                try await Self.returned(alice)
            }
        }

        @Test("B27 On a bare terminal: ^Z and fg, what came meanwhile is there once, marked and counted")
        func stopped() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.started()
                let alice = try await network.connected("alice", columns: 100)
                try await Missed.awaitLetters(alice, in: network)
                try alice.press(.ctrl("z"))
                try await alice.waitForStop(deadline: .seconds(60))
                try await Self.nobodyIsConnected(network)
                try await Missed.happens(in: network)
                alice.foreground()
                try await Self.returned(alice)
            }
        }

        @Test("B38 On a bare terminal: after a hang-up the next start has what came meanwhile once, and unread")
        func hungUp() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.started()
                let alice = try await network.connected("alice", columns: 100)
                try await Missed.awaitLetters(alice, in: network)
                let sent = try await network.parley("send", "--as", "bob", "chat.lobby", "said before")
                #expect(sent.exitCode == 0, "\(sent)")
                try await alice.waitFor(text: "said before", deadline: .seconds(60))
                try alice.type("/join chat.qa")
                try alice.press(.enter)
                try await alice.waitFor("the other topic, live", deadline: .seconds(60)) {
                    $0.main(row: 1).contains("chat.qa") && !$0.contains("joining …")
                }
                // The next start is where something is being written.
                try alice.type("half a thought")
                try await alice.waitFor(text: "half a thought")
                alice.hangUp()
                try await alice.waitForExit(deadline: .seconds(60))
                try await Self.nobodyIsConnected(network)
                try await Missed.happens(in: network)
                let again = try await network.connected("alice", columns: 100)
                try await again.waitFor("what is unread", deadline: .seconds(60)) {
                    $0.rows[0].contains("# 2") && $0.main(row: 1).contains("chat.qa")
                }
                try again.press(.ctrl("p"))
                try await again.waitFor("the lines, once and new", deadline: .seconds(60)) { screen in
                    screen.contains("── new ─") && Missed.lines.allSatisfy { screen.count(of: $0) == 1 }
                }
                try await Missed.readLetter(again)
            }
        }

        @Test("B25 Stopped and continued with a dead link, it is connected again over another one")
        func standstill() async throws {
            try await PrivateNetworkFixture.run { network in
                let server = try await network.started()
                let file = network.folder.path("alice.creds")
                _ = try await network.objects("network", "user", "add", "alice", "--out", file, "--json")
                let proxy = try await FaultProxy.start(target: try ServerAddress(parsing: server))
                let alice = try network.terminal(
                    ["--server", "nats://127.0.0.1:\(proxy.address.port)", "--creds", file], columns: 100)
                try await alice.waitFor("the live topic", deadline: .seconds(60)) {
                    $0.contains("● CONNECTED") && $0.contains("chat.lobby") && !$0.contains("joining …")
                }
                alice.signal(SIGSTOP)
                try await alice.waitForStop(deadline: .seconds(60))
                // As behind a cable that was pulled meanwhile: nobody says a word. Another dial finds another way.
                try await proxy.set(.blackhole(.both), on: .present)
                let sent = try await network.parley("send", "--as", "bob", "chat.lobby", Missed.lines[0])
                #expect(sent.status.isSuccess, "\(sent)")
                let dials = proxy.statistics.acceptedConnections
                // That it looks at once and not with the next ping is for tests that have no real time.
                alice.foreground()
                try await eventually("another connection", deadline: .seconds(60)) {
                    proxy.statistics.acceptedConnections > dials
                }
                try await alice.waitFor("the line, once", deadline: .seconds(60)) {
                    $0.contains("● CONNECTED") && $0.count(of: Missed.lines[0]) == 1
                }
                await proxy.close()
            }
        }

        @Test(
            "B21 In tmux, whether it passes the focus on or not: detached is away, and attached again all is told once",
            .enabled(if: TmuxServer.isInstalled, "\(TmuxServer.missing)"), arguments: [false, true])
        func detached(focusEvents: Bool) async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.started()
                try await Self.inTmux(network, focusEvents: focusEvents) { tmux in
                    let alice = try await Self.chat(in: tmux)
                    try await Missed.awaitLetters(alice, in: network)
                    // The choice to be told of what comes does not keep a connection for nobody.
                    try alice.type("/notify on")
                    try alice.press(.enter)
                    try await alice.waitFor(text: "The connection is kept while you look elsewhere")
                    try await alice.detach()
                    try await Self.nobodyIsConnected(network)
                    try await Missed.happens(in: network)
                    let back = try tmux.attach(columns: 100)
                    try await Self.returned(back)
                    try await back.detach()
                    try await Self.nobodyIsConnected(network)
                }
            }
        }

        @Test(
            "B21 In GNU screen, which passes on no focus: detached is away, and attached again all is told once",
            .enabled(if: ScreenSession.isInstalled, "\(ScreenSession.missing)"))
        func detachedFromScreen() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.started()
                let parley = try BuiltProduct.url("parley").path
                let screen = try await ScreenSession.start(
                    parley, ["--as", "alice", "--suspend-after", "1"], environment: network.environment)
                defer { screen.close() }
                let alice = try screen.attach(columns: 100)
                try await alice.waitFor("a connected client", deadline: .seconds(60)) {
                    $0.contains("● CONNECTED") && $0.contains("personal")
                }
                try await Missed.awaitLetters(alice, in: network)
                try await screen.detach(alice)
                try await Self.nobodyIsConnected(network)
                try await Missed.happens(in: network)
                let back = try screen.attach(columns: 100)
                try await Self.returned(back)
                try await screen.detach(back)
                try await Self.nobodyIsConnected(network)
                screen.close()
                try await eventually("the end of the chat", deadline: .seconds(60)) {
                    !PrivateNetworkFixture.isRunning(screen.program)
                }
            }
        }

        @Test(
            "B21 In tmux with focus-events, what its terminal reports of the focus counts",
            .enabled(if: TmuxServer.isInstalled, "\(TmuxServer.missing)"))
        func focusInTmux() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.started()
                try await Self.inTmux(network, focusEvents: true) { tmux in
                    let alice = try await Self.chat(in: tmux)
                    try await Missed.awaitLetters(alice, in: network)
                    try await alice.waitFor("tmux to ask for the focus", deadline: .seconds(60)) {
                        $0.modes.reportsFocus
                    }
                    try alice.focus(true)
                    try alice.focus(false)
                    try await Self.suspended(alice)
                    try await Self.nobodyIsConnected(network)
                    try await Missed.happens(in: network)
                    try alice.focus(true)
                    try await Self.returned(alice)
                }
            }
        }

        @Test("On a bare terminal doctor asks whether it reports its focus, and says what it has answered")
        func doctorOnTerminal() async throws {
            try await PrivateNetworkFixture.run { network in
                // A machine that has much else to do may answer too late for doctor, which says so then.
                try await eventually("an answer in time", deadline: .seconds(120)) {
                    let doctor = try network.terminal(["doctor", "--as", "alice"], rows: 60, columns: 200)
                    try await doctor.waitForExit(deadline: .seconds(60))
                    return doctor.screen.rows.contains {
                        $0.contains("focus") && $0.contains("the terminal reports it")
                    }
                }
            }
        }

        @Test(
            "Where tmux passes on no focus, doctor says that who looks elsewhere counts as present, and the way out",
            .enabled(if: TmuxServer.isInstalled, "\(TmuxServer.missing)"))
        func doctorInTmux() async throws {
            try await PrivateNetworkFixture.run { network in
                try await Self.inTmux(network, focusEvents: false) { tmux in
                    let parley = try BuiltProduct.url("parley").path
                    let look = "'\(parley)' doctor --as alice | grep focus; exec sleep 600"
                    let doctor = try tmux.open("sh", ["-c", look], columns: 250)
                    let screen = try await doctor.waitFor("what doctor says of the focus", deadline: .seconds(120)) {
                        $0.contains("tmux does not pass it on")
                    }
                    #expect(screen.contains("you count as present") && screen.contains("set -g focus-events on"))
                }
            }
        }
    }
}
