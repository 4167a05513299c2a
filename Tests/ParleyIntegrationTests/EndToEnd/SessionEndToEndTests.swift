import Foundation
import Relay
import RelayNetwork
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("One session for each user, the local store, and who may not come in")
    struct Sessions {
        /// Returns when a watch has reported its connection.
        private static func connected(_ watch: ChildProcess) async throws {
            try await watch.waitFor("the connection", deadline: .seconds(60)) { output, _ in
                output.contains("● connected")
            }
        }

        @Test(
            "B17 With take-over the device that comes second stays, and the first learns which it is",
            arguments: NATSServerProcess.binaries)
        func takeOver(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let rule = "user: 'alice', session: 'take-over'"
                let desk = try network.configuration("\(rule), device: 'the desk'", name: "desk.json")
                let train = try network.configuration("\(rule), device: 'the train'", name: "train.json")
                let first = try network.start("watch", "--config", desk)
                try await Self.connected(first)
                // A single piece of work takes no session away.
                let sent = try await network.parley("send", "--config", train, "chat.lobby", "hello")
                #expect(sent.exitCode == 0, "\(sent)")
                let second = try network.terminal(["--config", train], columns: 120)
                try await second.waitFor("the second connection", deadline: .seconds(60)) {
                    $0.contains("● CONNECTED")
                }
                let result = try await first.waitForExit(deadline: .seconds(60))
                #expect(result.exitCode == 77, "\(result)")
                #expect(result.diagnostics.contains("Signed in on the train"), "\(result)")

                // And back again: now the chat learns it.
                let third = try network.start("watch", "--config", desk)
                try await Self.connected(third)
                try await second.waitFor("the reason", deadline: .seconds(60)) {
                    $0.contains("✕ DISCONNECTED") && $0.contains("the desk")
                }
                third.signal(SIGTERM)
                #expect(try await third.waitForExit(deadline: .seconds(60)).exitCode == 143)
            }
        }

        @Test("B17 With yield the device that comes second goes, and says who is there")
        func yield() async throws {
            try await PrivateNetworkFixture.run { network in
                let rule = "user: 'alice', session: 'yield'"
                let desk = try network.configuration("\(rule), device: 'the desk'", name: "desk.json")
                let train = try network.configuration("\(rule), device: 'the train'", name: "train.json")
                let first = try network.start("watch", "--config", desk)
                try await Self.connected(first)
                let second = try await network.parley("watch", "--config", train)
                #expect(second.exitCode == 77 && second.diagnostics.contains("the desk"), "\(second)")
                first.signal(SIGTERM)
                let result = try await first.waitForExit(deadline: .seconds(60))
                #expect(result.exitCode == 143, "\(result)")
            }
        }

        @Test("B17 A tail that is interrupted gives its session back at once", arguments: [SIGINT, SIGTERM, SIGHUP])
        func interruptedTail(_ signal: Int32) async throws {
            try await PrivateNetworkFixture.run { network in
                let rule = try network.configuration("user: 'alice', session: 'yield'")
                #expect(try await network.parley("send", "--as", "alice", "chat.lobby", "hello").exitCode == 0)
                for _ in 0..<2 {
                    let tail = try network.start("tail", "chat.lobby", "--since", "all", "--config", rule)
                    try await tail.waitFor("the line", deadline: .seconds(60)) { output, _ in output.contains("hello") }
                    tail.signal(signal)
                    let result = try await tail.waitForExit(deadline: .seconds(60))
                    #expect(result.exitCode == 128 + signal && result.diagnostics.isEmpty, "\(result)")
                }
            }
        }

        @Test(
            "B9 The chat keeps a store; a damaged one and one that cannot be opened are reported once, no more"
        )
        func store() async throws {
            try await PrivateNetworkFixture.run { network in
                let path = network.folder.path("data/parley/stores/alice@local.sqlite")
                func chat(_ check: (PseudoTerminal) async throws -> Void) async throws {
                    let alice = try network.open("alice", rows: 30, columns: 200)
                    try await check(alice)
                    try await alice.waitFor("the connection", deadline: .seconds(60)) { $0.contains("● CONNECTED") }
                    try alice.press(.ctrl("q"))
                    #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))
                }
                func doctor() async throws -> JSONLine? {
                    let result = try await network.parley("doctor", "--as", "alice", "--json")
                    return try result.lines.map { try JSONLine($0) }.first { $0["check"].string == "local store" }
                }
                #expect(try await network.parley("send", "--as", "alice", "chat.lobby", "x").exitCode == 0)
                #expect(!FileManager.default.fileExists(atPath: path))
                #expect(try await doctor()?["detail"].string == "\(path) (not made yet)")
                try await chat { alice in
                    try await alice.waitFor("the connection", deadline: .seconds(60)) { $0.contains("● CONNECTED") }
                    #expect(!alice.screen.contains("local store"))
                }
                #expect(FileManager.default.fileExists(atPath: path))
                #expect(try await doctor()?["detail"].string.hasPrefix(path + ", ") == true)

                for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + ending) }
                try Data("this is no database at all".utf8).write(to: URL(fileURLWithPath: path))
                #expect(try await doctor()?["outcome"].string == "warning")
                let words =
                    "The local store was damaged or of another version. Nothing of it could be read, and a new one is begun"
                try await chat { alice in
                    try await alice.waitFor("the notice", deadline: .seconds(60)) {
                        $0.contains(words) && $0.contains("put aside as alice@local.sqlite.damaged-")
                    }
                    try alice.press(.f(8))
                    try await alice.waitFor("the log", deadline: .seconds(60)) {
                        $0.rows[1].contains("connection log") && $0.rows.dropLast(2).contains { $0.contains(words) }
                    }
                }
                let names = try FileManager.default.contentsOfDirectory(
                    atPath: network.folder.path("data/parley/stores"))
                #expect(names.contains { $0.hasPrefix("alice@local.sqlite.damaged-") }, "\(names)")

                for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + ending) }
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                try await chat { alice in
                    try await alice.waitFor("the notice", deadline: .seconds(60)) {
                        $0.contains("The local store failed: ")
                    }
                }
                let finding = try await doctor()
                #expect(finding?["ok"].bool == false)
            }
        }

        @Test("B60 A user who is banned or deactivated reads why on the screen, elsewhere too, and the status is 77")
        func refusedAtTheDoor() async throws {
            try await PrivateNetworkFixture.run { network in
                for user in ["bob", "carol"] {
                    _ = try await network.objects(
                        "network", "user", "add", user, "--out", network.folder.path("\(user).creds"), "--json")
                }
                let server = try await network.started()
                let banned = try await network.parley("network", "user", "ban", "bob", "--reason", "too much noise")
                #expect(banned.exitCode == 0, "\(banned)")
                let closed = try await network.parley("network", "user", "deactivate", "carol")
                #expect(closed.exitCode == 0, "\(closed)")
                for (user, words) in [("bob", "bob is banned: too much noise."), ("carol", "carol was deactivated.")] {
                    let terminal = try network.open(user, columns: 120)
                    #expect(try await terminal.waitForExit(deadline: .seconds(60)) == .exited(77))
                    #expect(terminal.screen.rows[0].contains("parley: \(words)"), "\(terminal.screen.rows[0])")
                }
                // With a file that was handed out, on a machine that knows nothing of the network's users.
                let elsewhere = ["--server", server, "--creds", network.folder.path("bob.creds")]
                let chat = try network.terminal(elsewhere, columns: 120)
                try await chat.waitFor("the reason", deadline: .seconds(60)) {
                    $0.contains("DISCONNECTED") && $0.contains("This user is banned (too much noise).")
                }
                let sent = try await network.run(["send", "chat.a", "no"] + elsewhere)
                #expect(sent.exitCode == 77 && sent.diagnostics.contains("(too much noise)"), "\(sent)")
                let found = try await network.run(["doctor"] + elsewhere)
                #expect(found.exitCode == 77 && found.output.contains("banned"), "\(found)")
                let lifted = try await network.parley("network", "user", "unban", "bob")
                #expect(lifted.exitCode == 0, "\(lifted)")
                let again = try await network.run(["send", "chat.a", "yes"] + elsewhere)
                #expect(again.exitCode == 0, "\(again)")
            }
        }

        @Test(
            "B57 B60 A revoked key and a blocked application are told on the screen, each for what it is",
            arguments: NATSServerProcess.binaries)
        func keptOut(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let server = try await network.started()
                _ = try await network.objects("network", "user", "add", "alice", "--json")
                func key(_ name: String) async throws -> (id: String, words: [String]) {
                    let file = network.folder.path(name)
                    let made = try await network.objects("network", "key", "new", "alice", "--out", file, "--json")
                    return (made[0]["key"].string, ["--server", server, "--creds", file])
                }
                let (lost, kept) = (try await key("lost.creds"), try await key("kept.creds"))
                let chat = try network.terminal(lost.words, columns: 120)
                try await chat.waitFor("a connection") { $0.contains("● CONNECTED") }
                let revoked = try await network.parley(
                    "network", "key", "revoke", "alice", lost.id, "--reason", "lost laptop")
                #expect(revoked.exitCode == 0, "\(revoked)")
                try await chat.waitFor("the reason") {
                    $0.contains("✕ DISCONNECTED · credentials revoked: lost laptop")
                        && $0.contains("These credentials were revoked (lost laptop).")
                }
                let blocked = try await network.parley("network", "block", "--reason", "closed for today")
                #expect(blocked.exitCode == 0, "\(blocked)")
                let other = try network.terminal(kept.words, columns: 120)
                try await other.waitFor("the block") {
                    $0.contains("✕ DISCONNECTED · application blocked: closed for today")
                }
                // What was revoked is not let as far as the door.
                let refused = try await network.run(["send", "chat.a", "no"] + lost.words)
                #expect(refused.exitCode == 77 && refused.diagnostics.contains("refused the credentials"), "\(refused)")
                #expect(try await network.parley("network", "unblock").exitCode == 0)
                #expect(try await network.run(["send", "chat.a", "yes"] + kept.words).exitCode == 0)
            }
        }
    }
}
