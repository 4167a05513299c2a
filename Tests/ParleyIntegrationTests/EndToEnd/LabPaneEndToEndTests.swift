import Foundation
import Platform
import TestSupport
import Testing

extension EndToEndTests {
    /// The lab in the chat, by keys alone.
    @Suite("The lab on the screen")
    struct LabPane {
        /// A value of the ledger as the screen shows it.
        private static func figure(_ words: String, _ screen: TerminalScreen) -> String? {
            screen.rows.indices.map { screen.main(row: $0) }.first { $0.hasPrefix(" \(words)  ") }?
                .split(separator: " ").last.map(String.init)
        }

        /// Somebody in the lab, whose connection goes through it.
        private static func opened(_ network: PrivateNetworkFixture, _ arguments: [String] = []) async throws
            -> PseudoTerminal
        {
            let alice = try await network.connected("alice", arguments)
            try alice.press(.f(9))
            try await alice.waitFor(text: "Put this chat's connection behind the lab? y/N")
            try alice.type("y")
            try await alice.waitFor("the lab") { $0.contains("cut the link") && $0.contains("─ seed ") }
            return alice
        }

        @Test(
            "From a fresh start: the link is cut, three lines are typed, it is restored, and the ledger accounts for each",
            arguments: NATSServerProcess.binaries)
        func rehearsal(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let alice = try await Self.opened(network)
                try alice.type("c")
                try await alice.waitFor("the cut link") {
                    $0.contains("↻ RECONNECTING") && $0.contains("● until restored")
                }
                try alice.press(.tab)
                let lines = ["one in the dark", "two with c and r and e", "three"]
                for line in lines {
                    try alice.type(line)
                    try alice.press(.enter)
                }
                try await alice.waitFor("three lines that wait") { $0.contains("sent 3") && $0.contains("⇅ 3") }
                try alice.press(.f(9))
                try alice.type("r")
                try await alice.waitFor("all of them back") { $0.contains("● CONNECTED") && $0.contains("received 3") }
                try alice.type("e")
                let figures = [
                    ("sent", "3"), ("acknowledged", "3"), ("received", "3"), ("twice", "0"), ("missing", "0"),
                    ("out of order", "0"), ("time to notice", "s"), ("time to recover", "s"),
                ]
                try await alice.waitFor("the ledger") { screen in
                    screen.contains("✓ Every message is accounted for.")
                        && figures.allSatisfy { Self.figure($0.0, screen) == $0.1 }
                }
                #expect(try await network.texts(on: "chat.lobby") == lines)

                // The connection is the server's own again, and the lines are where they belong.
                try alice.press(.escape)
                try await alice.waitFor("the conversation") { screen in
                    screen.contains("● CONNECTED") && !screen.contains("behind the lab")
                        && lines.allSatisfy { line in screen.rows.contains { $0.contains(line) && $0.hasSuffix("✓") } }
                }

                // What was done by hand is a scenario that anybody can carry out again.
                let file = network.folder.path("by hand.json5")
                try alice.type("/lab save \(file)")
                try alice.press(.enter)
                try await alice.waitFor(text: "Saved as")
                let text = try String(contentsOfFile: file, encoding: .utf8)
                for act in ["refuse", "cut", "send", "restore"] { #expect(text.contains("\"\(act)\""), "\(text)") }
                let events = try await network.objects("lab", "run", file, "--json")
                #expect(events.last?["verdict"].string == "passed" && events.last?["sent"].int == 3, "\(events)")
            }
        }

        @Test(
            "What others send during the rehearsal is counted: what arrives, what is recovered, and that nothing is missing"
        )
        func others() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await Self.opened(network)
                func send(_ count: Int) async throws {
                    let sent = try await network.parley(
                        "lab", "send", "chat.lobby", "--as", "bob", "--writer", "bobs", "--count", "\(count)")
                    #expect(sent.status.isSuccess)
                }
                try await send(10)
                try await alice.waitFor("ten of them") { $0.contains("received 10") }
                try alice.type("c")
                try await alice.waitFor("the cut link") { $0.contains("↻ RECONNECTING") }
                try await send(22)
                try alice.type("r")
                try await alice.waitFor("what was missed") { $0.contains("received 32") && $0.contains("recovered 22") }
                try await send(28)
                try alice.type("e")
                let figures = [
                    ("sent", "0"), ("received", "60"), ("recovered", "22"), ("missing", "0"), ("twice", "0"),
                ]
                try await alice.waitFor("the ledger") { screen in
                    screen.contains("✓ Every message is accounted for.")
                        && figures.allSatisfy { Self.figure($0.0, screen) == $0.1 }
                }
                try alice.press(.escape)
                try await alice.waitFor("the lines, as Bob's") { screen in
                    screen.rows.contains { $0.contains("bob ") && $0.contains("lab bobs") }
                }
            }
        }

        /// Walks down to a row, and begins what it stands for until it is restored.
        private static func begin(_ words: String, _ terminal: PseudoTerminal) async throws {
            func chosen(_ screen: TerminalScreen) -> String? {
                screen.rows.indices.map { screen.main(row: $0) }.first { $0.hasPrefix("▌") }
            }
            // A frame arrives in pieces, and the row's place is in its last line: with it the whole list is there.
            func selected(_ place: Int) async throws -> String {
                let screen = try await terminal.waitFor("the lab's row \(place)") { screen in
                    screen.text.split(separator: " ").contains { $0.hasPrefix("\(place)/") } && chosen(screen) != nil
                }
                return try #require(chosen(screen))
            }
            try terminal.press(.home)
            var place = 1
            while try await !selected(place).contains(words) {
                try terminal.press(.down)
                place += 1
            }
            for _ in 0..<10 { try terminal.press(.right) }
            try terminal.press(.enter)
        }

        @Test("A ban, a full disk and a killed server of the private network pass, and nothing that is typed is lost")
        func server() async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await Self.opened(network)
                let before = try #require(network.description)
                try alice.type("S")
                try await alice.waitFor("the outage and its end") { [before] screen in
                    screen.contains("● CONNECTED") && network.description?.serverPid != before.serverPid
                        && network.description != nil
                }
                func host(says words: String) async throws {
                    try await eventually("the host says: \(words)") {
                        let log = try? String(
                            contentsOfFile: network.folder.path("data/parley/local/host.log"), encoding: .utf8)
                        return log?.contains(words) == true
                    }
                }
                try await Self.begin("fill its disk", alice)
                try await alice.waitFor("the full disk") {
                    $0.main(row: $0.row(containing: "fill its disk") ?? 0).contains("● until restored")
                }
                try await host(says: "is full: nothing more is stored")
                try alice.type("r")
                try await alice.waitFor("the disk that is free again") { !$0.contains("● until restored") }
                try await host(says: "has room")
                try await Self.begin("ban you", alice)
                try await alice.waitFor("the ban") { $0.contains("DISCONNECTED") && $0.contains("● until restored") }
                try alice.type("r")
                try await alice.waitFor("the end of the ban") { $0.contains("● CONNECTED") }
                try alice.press(.tab)
                try alice.type("back again")
                try alice.press(.enter)
                try await alice.waitFor("the line") { $0.contains("received 1") }
                try alice.press(.f(9))
                try alice.type("e")
                try await alice.waitFor("the ledger") { $0.contains("✓ Every message is accounted for.") }
                #expect(try await network.texts(on: "chat.lobby") == ["back again"])
            }
        }

        @Test("Another device, a kick and the background end the connection here, and the chat is back by a key")
        func comings() async throws {
            try await PrivateNetworkFixture.run { network in
                let file = try network.configuration("user: 'alice', session: 'take-over', device: 'the desk'")
                let alice = try network.terminal(["--config", file])
                try await alice.waitFor("its topics") { $0.contains("● CONNECTED") && $0.contains("chat.lobby") }
                try alice.press(.f(9))
                try await alice.waitFor(text: "behind the lab? y/N")
                try alice.type("y")
                try await alice.waitFor(text: "─ seed ")
                for key in ["D", "K"] {
                    try alice.type(key)
                    try await alice.waitFor("the end by \(key)") { $0.contains("✕ DISCONNECTED") }
                    try alice.type("w")
                    try await alice.waitFor("the way back from \(key)") { $0.contains("● CONNECTED") }
                }
                try alice.press(.end)
                try alice.press(.up)
                for _ in 0..<10 { try alice.press(.right) }
                try alice.press(.enter)
                try await alice.waitFor("the rest in the background") { $0.contains("║ SUSPENDED") }
                try alice.type("r")
                try await alice.waitFor("the foreground") { $0.contains("● CONNECTED") }
                try alice.type("e")
                try await alice.waitFor(text: "✓ Nothing was sent.")
            }
        }

        /// What the rehearsals of a cluster have in common.
        private struct Cluster {
            let box: LocalClusterFixture
            let urls: [String]

            init(_ box: LocalClusterFixture) async throws {
                self.box = box
                _ = try await box.objects("owner", "network", "cluster", "start", "--user", "alice", "--json")
                urls = try box.processes()["servers"].array.map { "nats://127.0.0.1:\($0["port"].int ?? 0)" }
            }

            func status() async throws -> JSONLine {
                let lines = try await box.objects("owner", "network", "cluster", "status", "--json")
                return try #require(lines.first)
            }

            /// The place of the server that leads the topics' stream.
            func leader() async throws -> Int { try #require(try await knownLeader()) }

            /// The same; nil where none is told of.
            func knownLeader() async throws -> Int? {
                let streams = try await status()["streams"].array.filter { $0["name"].string.hasSuffix("_stream") }
                let name = streams.first?["leader"].string ?? ""
                return Int(name.dropFirst("parley-".count)).map { $0 - 1 }
            }

            /// The process of the server in a place; nil where none runs.
            func process(_ place: Int) throws -> Int32? {
                let servers = try box.processes()["servers"].array
                return servers[place]["process"]["pid"].int.map(Int32.init)
                    .flatMap { PrivateNetworkFixture.isRunning($0) ? $0 : nil }
            }

            func waitForAll() async throws {
                try await eventually("three whole servers", deadline: .seconds(60)) {
                    try await status()["whole"].bool == true
                }
            }

            /// Somebody's chat behind the lab, whose own server is that in a place.
            func opened(_ place: Int) async throws -> PseudoTerminal {
                let terminal = try PseudoTerminal(
                    try BuiltProduct.url("parley").path,
                    ["--profile", "cluster", "--server", urls[place], "chat.lobby"],
                    environment: box.machine("owner"), rows: 24, columns: 80)
                try await terminal.waitFor("a connected client") {
                    $0.contains("● CONNECTED") && $0.contains("chat.lobby")
                }
                try terminal.press(.f(9))
                try await terminal.waitFor(text: "behind the lab? y/N")
                try terminal.type("y")
                try await terminal.waitFor("the lab") { $0.contains("cut the link") && $0.contains("─ seed ") }
                return terminal
            }

            /// Stops the leader until it is restored.
            func stopLeader(_ terminal: PseudoTerminal) async throws {
                try await LabPane.begin("stop the leader", terminal)
                try await terminal.waitFor("the leader that is gone") {
                    $0.main(row: $0.row(containing: "stop the leader") ?? 0).contains("● until restored")
                }
            }

            func write(_ lines: [String], _ terminal: PseudoTerminal) throws {
                try terminal.press(.tab)
                for line in lines {
                    try terminal.type(line)
                    try terminal.press(.enter)
                }
                try terminal.press(.f(9))
            }
        }

        @Test(
            "On a cluster the leader is gone until it is restored, and three lines are all there, whichever server is one's own",
            .realClusters, arguments: NATSServerProcess.binaries)
        func leader(_ binary: NATSServerBinary) async throws {
            try await LocalClusterFixture.run(binary) { box in
                let cluster = try await Cluster(box)
                var texts: [String] = []
                for isOwn in [true, false] {
                    try await cluster.waitForAll()
                    let leader = try await cluster.leader()
                    let alice = try await cluster.opened(isOwn ? leader : (leader + 1) % 3)
                    try await cluster.stopLeader(alice)
                    try await eventually("the leader's end") { try cluster.process(leader) == nil }
                    let lines = ["one", "two", "three"].map { "\($0), \(isOwn)" }
                    texts += lines
                    try cluster.write(lines, alice)
                    // The two others go on, and the host leaves it at that.
                    try await alice.waitFor("all of them back", deadline: .seconds(120)) { $0.contains("received 3") }
                    #expect(try cluster.process(leader) == nil)
                    // Just after an election the one who lists streams may not have heard of it.
                    try await eventually("another leader", deadline: .seconds(60)) {
                        guard let next = try await cluster.knownLeader() else { return false }
                        return next != leader
                    }
                    try alice.type("r")
                    try await cluster.waitForAll()
                    try alice.type("e")
                    let figures = [
                        ("sent", "3"), ("acknowledged", "3"), ("received", "3"), ("twice", "0"), ("missing", "0"),
                        // Only whose own server it was has been without a connection.
                        ("out of order", "0"), ("time to recover", isOwn ? "s" : "–"),
                    ]
                    try await alice.waitFor("the ledger, own: \(isOwn)") { screen in
                        screen.contains("✓ Every message is accounted for.")
                            && figures.allSatisfy { Self.figure($0.0, screen) == $0.1 }
                    }
                    try alice.press(.ctrl("q"))
                    #expect(try await alice.waitForExit() == .exited(0))
                }
                let kept = try await box.objects(
                    "owner", "history", "chat.lobby", "--start", "all", "--json", "--profile", "cluster")
                #expect(kept.map { $0["text"].string } == texts)
            }
        }

        @Test(
            "On a cluster one's own server dies and comes back, the disk is full for a while, and a chat that is killed leaves no server behind that is gone",
            .realClusters)
        func clusterServer() async throws {
            try await LocalClusterFixture.run { box in
                let cluster = try await Cluster(box)
                try await cluster.waitForAll()
                func host(says words: String) async throws {
                    try await eventually("the host says: \(words)") {
                        try String(contentsOfFile: box.network + "/host.log", encoding: .utf8).contains(words)
                    }
                }
                let alice = try await cluster.opened(1)
                let own = try #require(try cluster.process(1))
                try alice.type("S")
                try await eventually("another process of one's own server") {
                    let process = try cluster.process(1)
                    return process != nil && process != own
                }
                try await alice.waitFor("the way around it") { $0.contains("● CONNECTED") }
                try await cluster.waitForAll()
                try alice.type("U")
                try await host(says: "is full: nothing more is stored")
                try alice.type("r")
                try await host(says: "has room")
                let leader = try await cluster.leader()
                try await cluster.stopLeader(alice)
                try await eventually("the leader's end") { try cluster.process(leader) == nil }
                alice.signal(SIGKILL)
                _ = try await alice.waitForExit()
                try await cluster.waitForAll()
                #expect(try cluster.process(leader) != nil)
            }
        }

        @Test(
            "On a network that Parley did not start, what is the administrator's affair is not offered, with the reason"
        )
        func elsewhere() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.parley("network", "start")
                let url = try #require(network.description).url
                let credentials = network.folder.path("data/parley/local/users/alice.creds")
                #expect(try await network.parley("send", "--as", "alice", "chat.lobby", "first").status.isSuccess)
                let alice = try network.terminal(
                    ["--server", url, "--creds", credentials, "chat.lobby"], rows: 40, columns: 120)
                // Before the local store is open there is nothing that could go behind the lab.
                try await alice.waitFor("what was there") { $0.contains("● CONNECTED") && $0.contains("first") }
                try alice.press(.f(9))
                try await alice.waitFor(text: "behind the lab? y/N")
                try alice.type("y")
                try await alice.waitFor(text: "─ seed ")
                try alice.type("K")
                try await alice.waitFor(text: "Not here: Parley did not start this network")
                #expect(alice.screen.contains("● CONNECTED"))
                try alice.type("x")
                try await alice.waitFor("another connection") { $0.contains("● CONNECTED") && $0.contains("attempts") }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
            }
        }
    }
}
