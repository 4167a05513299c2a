import Foundation
import RelayNetwork
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("A command that brings tokens", .longWaits)
    struct Tokens {
        @Test(
            "B5 The token command is asked before the first connection and when the token expires meanwhile",
            arguments: NATSServerProcess.binaries)
        func renewal(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let url = try await network.started()
                let counter = TokenCounter(folder: network.folder)
                let file = try network.configuration("servers: ['\(url)'], token_command: \"\(counter.command())\"")
                let watch = try network.start("watch", "--config", file, "--json")
                var seen: [JSONLine] = []
                func read(to state: String) async throws {
                    repeat {
                        seen.append(try JSONLine(try await watch.nextLine(deadline: .seconds(60))))
                    } while seen.last?["status"].string != state
                }
                var handed: [String] = []
                func token(_ lifetime: Int64) throws -> String {
                    let token = try network.bearerToken(for: "alice", lifetime: lifetime)
                    handed.append(token)
                    return token
                }
                try await counter.hand(try token(20), time: 1)
                try await read(to: "connected")
                try await read(to: "reconnecting")
                #expect(seen.last?["reason"].string.hasPrefix("The credentials have expired.") == true)
                try await counter.hand(try token(3_600), time: 2)
                try await read(to: "connected")
                watch.signal(SIGTERM)
                let result = try await watch.waitForExit(deadline: .seconds(60))
                #expect(result.exitCode == 143 && result.diagnostics.isEmpty, "\(result)")
                #expect(counter.count == 2)
                #expect(handed.count == 2)
                for token in handed { #expect(!"\(seen) \(result)".contains(token.prefix(60))) }
            }
        }

        @Test("B58 B59 A token of the network stands alone on a line, logs in by itself and is renewed by its command")
        func issued() async throws {
            try await PrivateNetworkFixture.run { network in
                let url = try await network.started()
                let nobody = try await network.parley("network", "token", "nobody")
                #expect(nobody.exitCode == 65 && nobody.output.isEmpty, "\(nobody)")
                for name in ["alice", "bob"] { _ = try await network.objects("network", "user", "add", name, "--json") }
                #expect(try await network.parley("network", "token", "alice", "--expires", "0").exitCode == 64)
                let plain = try await network.parley("network", "token", "alice")
                #expect(plain.exitCode == 0 && plain.lines.count == 1 && plain.lines[0].hasPrefix("eyJ"), "\(plain)")
                let made = try await network.objects("network", "token", "alice", "--expires", "2h", "--json")
                let (token, key) = (made[0]["token"].string, made[0]["key"].string)
                #expect(made[0]["user"].string == "alice" && !made[0]["expires"].string.isEmpty)
                func send(_ text: String) async throws -> ChildProcess.Result {
                    try await network.run(
                        ["send", "chat.a", text, "--server", url], environment: ["PARLEY_TOKEN": " \(token)\n"])
                }
                let sent = try await send("by a token")
                #expect(sent.exitCode == 0, "\(sent)")
                let keys = try await network.objects("network", "key", "list", "alice", "--json")
                #expect(keys.filter { $0["kind"].string == "token" }.map { $0["key"].string }.contains(key))
                // Without a server it is a login to the private network, and of no other user of it.
                func alone(_ words: [String], _ token: String) async throws -> ChildProcess.Result {
                    try await network.run(words, environment: ["PARLEY_TOKEN": token])
                }
                let local = try await alone(["send", "chat.a", "by a token alone"], token)
                #expect(local.exitCode == 0, "\(local)")
                let other = try await alone(["send", "chat.a", "as bob", "--as", "bob"], token)
                #expect(other.exitCode == 64 && other.diagnostics.contains("belongs to alice"), "\(other)")
                let lines = try await network.objects("history", "chat.a", "--as", "bob", "--start", "all", "--json")
                #expect(lines.map { $0["text"].string } == ["by a token", "by a token alone"])
                #expect(lines.allSatisfy { $0["from"].string == "alice" }, "\(lines)")
                // Narrower rights are known before a line is written, and whatever else is refused is named.
                let narrow = try await network.parley(
                    "network", "token", "alice", "--subscribe", "chat.>", "--kv", "none", "--letters", "no")
                let letters = try await alone(["inbox", "list"], narrow.lines[0])
                #expect(letters.exitCode == 77 && letters.diagnostics.contains(": listing the letters."), "\(letters)")
                let reader = try network.terminal(["chat.a"], environment: ["PARLEY_TOKEN": narrow.lines[0]])
                try await reader.waitFor("that it is read-only", deadline: .seconds(60)) {
                    $0.contains("by a token alone") && $0.contains("> chat.a is read-only with this key")
                }
                try reader.press(.ctrl("q"))
                #expect(try await reader.waitForExit(deadline: .seconds(60)) == .exited(0))
                let revoked = try await network.parley("network", "key", "revoke", "alice", key)
                #expect(revoked.exitCode == 0, "\(revoked)")
                let refused = try await send("no more")
                #expect(refused.exitCode == 77 && !"\(refused)".contains("eyJ"), "\(refused)")

                // The command that issues tokens is the one that a profile names.
                let parley = try BuiltProduct.url("parley").path
                let file = try network.configuration(
                    "servers: ['\(url)'], tokenCommand: '\(parley) network token bob --expires 30s'")
                let watch = try network.start("watch", "--config", file, "--json")
                var states: [String] = []
                while states.filter({ $0 == "connected" }).count < 2 {
                    let line = try JSONLine(try await watch.nextLine(deadline: .seconds(120)))
                    states.append(line["status"].string)
                    #expect(line["status"].string != "disconnected", "\(line)")
                }
                watch.signal(SIGTERM)
                try await watch.waitForExit(deadline: .seconds(60))
                let tokens = try await network.objects("network", "key", "list", "bob", "--json")
                    .filter { $0["kind"].string == "token" }
                #expect((2...3).contains(tokens.count), "\(tokens)")
            }
        }

        @Test("B5 On the screen the token says who somebody is, and nothing that the command writes gets there")
        func screen() async throws {
            try await PrivateNetworkFixture.run { network in
                let url = try await network.started()
                let counter = TokenCounter(folder: network.folder)
                let command = counter.command("echo NOISE >/dev/tty; echo NOISE >&2")
                let file = try network.configuration("servers: ['\(url)'], tokenCommand: '\(command)'")
                let alice = try network.terminal(["--config", file])
                try await counter.hand(try network.bearerToken(for: "alice", lifetime: 20), time: 1)
                // Handed over as soon as it is asked for: on a busy machine that may be before the screen is looked at.
                async let handed: Void = counter.hand(
                    try network.bearerToken(for: "alice", lifetime: 3_600), time: 2)
                try await alice.waitFor("the connection as alice", deadline: .seconds(60)) {
                    $0.contains("● CONNECTED") && $0.rows[0].contains("alice@")
                }
                try await handed
                try alice.type("with a new token")
                try alice.press(.enter)
                try await alice.waitFor("the stored line", deadline: .seconds(60)) { screen in
                    screen.contains("● CONNECTED")
                        && screen.rows.contains { $0.contains("with a new token") && $0.hasSuffix("✓") }
                }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))
                let output = String(decoding: alice.output, as: UTF8.self)
                #expect(!output.contains("NOISE") && !output.contains("eyJ"))
                let log = try String(contentsOfFile: network.folder.path("state/parley/parley.log"), encoding: .utf8)
                #expect(log.split(separator: "\n").count { $0 == "parley: token_command: NOISE" } == 2, "\(log)")
                #expect(!log.contains("eyJ"))
                #expect(try await network.texts(on: "chat.lobby") == ["with a new token"])
            }
        }

        @Test("B5 Lines that were written before the first token are sent under the name that it brings")
        func namedLater() async throws {
            try await PrivateNetworkFixture.run { network in
                let url = try await network.started()
                let counter = TokenCounter(folder: network.folder)
                let file = try network.configuration("servers: ['\(url)'], token_command: \"\(counter.command())\"")
                let alice = try network.terminal(["--config", file, "chat.lobby"])
                try await alice.waitFor("the screen", deadline: .seconds(60)) { $0.contains("◌ CONNECTING") }
                for text in ["early one", "early two"] {
                    try alice.type(text)
                    try alice.press(.enter)
                    try await alice.waitFor("the waiting line", deadline: .seconds(60)) { $0.contains(text) }
                }
                try await counter.hand(try network.bearerToken(for: "alice", lifetime: 3_600), time: 1)
                try await alice.waitFor("the stored lines", deadline: .seconds(60)) { screen in
                    ["early one", "early two"].allSatisfy { text in
                        screen.rows.contains { $0.contains(text) && $0.hasSuffix("✓") }
                    }
                }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))
                try network.folder.write(try network.bearerToken(for: "alice", lifetime: 3_600), to: "kept")
                let profile = "servers: ['\(url)'], token_command: 'cat \(network.folder.path("kept"))'"
                let sent = try await network.parley(
                    "send", "chat.lobby", "sent later", "--config", network.configuration(profile, name: "send.json"))
                #expect(sent.exitCode == 0, "\(sent)")
                let lines = try await network.objects(
                    "history", "chat.lobby", "--as", "auditor", "--start", "all", "--json")
                #expect(lines.map { $0["text"].string } == ["early one", "early two", "sent later"])
                #expect(lines.allSatisfy { $0["from"].string == "alice" }, "\(lines)")
            }
        }

        @Test(
            "B6 A token command that fails is reported with its status and its last words, in the chat and by commands")
        func failing() async throws {
            try await PrivateNetworkFixture.run { network in
                let url = try await network.started()
                let file = try network.configuration(
                    "servers: ['\(url)'], token_command: 'echo the vault is sealed >&2; exit 9'")
                let words = "The token command failed with exit status 9 (the vault is sealed)."
                let watch = try await network.parley("watch", "--config", file)
                #expect(watch.exitCode == 78 && watch.diagnostics.hasPrefix("parley: \(words)"), "\(watch)")
                let send = try await network.parley("send", "--config", file, "chat.lobby", "x")
                #expect(send.exitCode == 78 && send.diagnostics.contains(words), "\(send)")
                let doctor = try await network.parley("doctor", "--config", file)
                #expect(doctor.exitCode == 78 && doctor.output.contains(words), "\(doctor)")

                let chat = try network.terminal(["--config", file], columns: 200)
                try await chat.waitFor("the reason", deadline: .seconds(60)) {
                    $0.contains("✕ DISCONNECTED") && $0.contains(words)
                }
                try chat.press(.f(8))
                try await chat.waitFor("the reason in the log", deadline: .seconds(60)) {
                    $0.rows[1].contains("connection log") && $0.rows.dropLast(2).contains { $0.contains(words) }
                }
                try chat.press(.ctrl("q"))
                #expect(try await chat.waitForExit(deadline: .seconds(60)) == .exited(0))
            }
        }

        @Test(
            "A token command that hangs goes with the chat that started it, also when that is killed",
            arguments: [true, false])
        func leaving(isOrderly: Bool) async throws {
            try await PrivateNetworkFixture.run { network in
                let url = try await network.started()
                let place = network.folder.path("id")
                let file = try network.configuration(
                    "servers: ['\(url)'], token_command: \"trap '' TERM; echo $$ >\(place); sleep 600; sleep 600\"")
                let chat = try network.terminal(["--config", file])
                var process: Int32?
                try await eventually("the command to run", deadline: .seconds(60)) {
                    let text = (try? String(contentsOfFile: place, encoding: .utf8)) ?? ""
                    process = text.hasSuffix("\n") ? Int32(text.dropLast()) : nil
                    return process != nil
                }
                let id = try #require(process)
                if isOrderly { try chat.press(.ctrl("q")) } else { chat.signal(SIGKILL) }
                let expected: TestSupport.CommandStatus = isOrderly ? .exited(0) : .signalled(SIGKILL)
                #expect(try await chat.waitForExit(deadline: .seconds(60)) == expected)
                try await eventually("the end of the command", deadline: .seconds(60)) {
                    !PrivateNetworkFixture.isRunning(id)
                }
            }
        }

        @Test("doctor runs the token command once, and tells whose the token is and how long it holds")
        func doctor() async throws {
            try await PrivateNetworkFixture.run { network in
                let url = try await network.started()
                let token = try network.bearerToken(for: "alice", lifetime: 7 * 86_400 + 3_600)
                try network.folder.write(token, to: "token")
                let file = try network.configuration(
                    "servers: ['\(url)'], token_command: 'cat \(network.folder.path("token"))'")
                let result = try await network.parley("doctor", "--config", file)
                #expect(result.exitCode == 0, "\(result)")
                #expect(result.output.contains("token_command, user alice; they expire in 7 days"), "\(result)")
                #expect(result.output.contains("✓ JetStream"), "\(result)")
            }
        }
    }
}
