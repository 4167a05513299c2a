import Foundation
import RelayNetwork
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("What the connection did: the log, watch and doctor", .certificates)
    struct Connection {
        @Test(
            "B13 F8 shows a killed server's outage with its reason, and the recovery",
            arguments: NATSServerProcess.binaries)
        func log(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let alice = try await network.connected("alice", rows: 30, columns: 180)
                let before = try #require(network.description)
                // A host that does not run cannot start the next server before the test has looked.
                try await pause(before.hostPid)
                kill(before.serverPid, SIGKILL)
                try await alice.waitFor("word of the outage") {
                    $0.rows[0].contains("↻ RECONNECTING")
                }
                try alice.press(.f(8))
                let outage = try await alice.waitFor("the outage in the log") { screen in
                    screen.rows[1].contains("connection log")
                        && screen.rows.contains {
                            $0.contains("↻ RECONNECTING") && $0.contains("The connection was lost (")
                                && $0.contains("connected")
                        }
                }
                // The first connection is above it.
                let lost = try #require(
                    outage.rows.indices.first { $0 > 1 && outage.rows[$0].contains("The connection was lost (") })
                #expect(outage.rows[1..<lost].contains { $0.contains("● CONNECTED") && $0.contains("ms") })
                kill(before.hostPid, SIGCONT)
                let after = try await alice.waitFor("the recovery in the log", deadline: .seconds(60)) { screen in
                    screen.rows[0].contains("● CONNECTED")
                        && screen.rows.contains { $0.contains("● CONNECTED") && $0.contains("reconnecting") }
                }
                let clock = /\d\d:\d\d:\d\d\.\d\d\d  ● CONNECTED/
                #expect(after.rows.contains { $0.contains(clock) })

                try alice.type("still writing")
                try await alice.waitFor("the text below the log") { screen in
                    screen.contains("> still writing") && screen.rows[1].contains("connection log")
                }
                try alice.press(.f(8))
                try await alice.waitFor("the conversation") { $0.rows[1].contains("chat.lobby") }
                try alice.press(.ctrl("c"))
                try alice.type("/log")
                try alice.press(.enter)
                try await alice.waitFor("the log again") { $0.rows[1].contains("connection log") }
                try alice.press(.escape)
                try await alice.waitFor("the conversation again") { $0.rows[1].contains("chat.lobby") }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))
            }
        }

        @Test(
            "B11 B13 watch tells every change, through a killed server to the interruption",
            arguments: NATSServerProcess.binaries)
        func watch(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let watch = try network.start("watch", "--as", "alice", "--json")
                var seen: [JSONLine] = []
                func read(to state: String) async throws {
                    repeat {
                        seen.append(try JSONLine(try await watch.nextLine(deadline: .seconds(60))))
                    } while seen.last?["status"].string != state
                }
                try await read(to: "connected")
                // A busy machine may need another attempt.
                let states = seen.map { $0["status"].string }
                #expect(states.first == "initialized" && Set(states.dropFirst().dropLast()) == ["connecting"])
                #expect(
                    seen.allSatisfy {
                        $0.keys == [
                            "at", "status", "reason", "attempt", "retryIn", "rtt", "silentSince", "relayx", "sudo",
                            "nexconn", "rongcloud", "supabase",
                        ]
                    })
                #expect(seen[0]["relayx"].isNull && seen[0]["nexconn"].int == 11 && seen[0]["rongcloud"].isNull)
                #expect(seen.last?["relayx"].string == "CONNECTED" && seen.last?["nexconn"].int == 0)
                let server = try #require(network.description).serverPid
                kill(server, SIGKILL)
                let connected = seen.count
                try await read(to: "connected")
                let outage = seen[connected...].dropLast()
                #expect(!outage.isEmpty && outage.allSatisfy { $0["status"].string == "reconnecting" })
                #expect(outage.first?["reason"].string.hasPrefix("The connection was lost (") == true)
                #expect(outage.first?["relayx"].string == "RECONNECTING")
                #expect(seen.last?["relayx"].string == "RECONNECTED")
                let ended = seen.count
                watch.signal(SIGINT)
                try await read(to: "disconnected")
                #expect(seen.count == ended + 1)
                #expect(seen.last?["nexconn"].int == 12 && seen.last?["relayx"].string == "DISCONNECTED")
                let result = try await watch.waitForExit()
                #expect(result.exitCode == 130 && result.diagnostics.isEmpty, "\(result)")
            }
        }

        @Test("watch ends by time with 0, and by a refusal with 77 after the line that says so")
        func watchEnds() async throws {
            try await PrivateNetworkFixture.run { network in
                // The connection comes well before the time has passed, also on a busy machine.
                _ = try await network.started()
                let timed = try await network.parley("watch", "--as", "alice", "--for", "15")
                #expect(timed.exitCode == 0, "\(timed)")
                let states = timed.lines.map { $0.split(separator: " ").dropFirst(2).first.map(String.init) ?? "" }
                #expect(states.first == "initialized" && states.last == "disconnected", "\(timed)")
                #expect(!timed.output.contains("\u{1B}"))

                let server = try await NATSServerProcess.start(
                    configuration: "authorization { user: someone, password: else }")
                defer { server.close() }
                let refused = try await network.parley("watch", "--server", server.url, "--json")
                #expect(refused.exitCode == 77, "\(refused)")
                let last = try JSONLine(try #require(refused.lines.last))
                #expect(last["status"].string == "disconnected" && last["rongcloud"].int == 31_004)
                #expect(try JSONLine(refused.lines[0])["status"].string == "initialized")
                #expect(refused.diagnostics.contains("asks for credentials, and none were given"))
            }
        }

        @Test("B8 With a time limit, watch, tail and the chat give up the first connection with 69")
        func connectTimeout() async throws {
            let network = try PrivateNetworkFixture(NATSServerProcess.anyBinary)
            let silent = try SilentPort()
            let words = ["--server", silent.url, "--connect-timeout", "2"]
            async let watched = network.run(["watch", "--json"] + words)
            async let tailed = network.run(["tail", "chat.lobby"] + words)
            async let plain = network.run(["chat", "--plain", "chat.lobby"] + words, input: "hello\n")
            let screen = try network.terminal(["chat", "chat.lobby"] + words, columns: 120)
            #expect(try await screen.waitForExit() == .exited(69))
            #expect(screen.screen.contains("parley: No connection within 2 seconds"), "\(screen.screen)")
            for result in try await [watched, tailed, plain] {
                #expect(result.exitCode == 69, "\(result)")
                #expect(result.diagnostics.contains("No connection within 2 seconds"), "\(result)")
            }
            let last = try JSONLine(try #require(try await watched.lines.last))
            #expect(last["status"].string == "disconnected" && last["relayx"].string == "DISCONNECTED")
            #expect(last["nexconn"].int == 14 && last["rongcloud"].int == 34_006)
            let unreached = try await network.run(["inbox", "watch", "--json", "--server", silent.url])
            #expect(unreached.exitCode == 69, "\(unreached)")
            let events = try unreached.lines.map { try JSONLine($0)["status"].string }
            #expect(events == ["initialized", "connecting", "error"])
        }

        @Test("doctor starts nothing, and finds all well on a running network", arguments: NATSServerProcess.binaries)
        func doctor(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let asleep = try await network.objects("doctor", "--as", "alice", "--json")
                #expect(network.description == nil)
                #expect(asleep.allSatisfy { $0.keys.isSuperset(of: ["check", "ok", "detail", "fix"]) })
                #expect(asleep.allSatisfy { $0["ok"].bool == true }, "\(asleep)")
                let program = asleep.first { $0["check"].string == "nats-server" }
                #expect(program?["detail"].string.hasSuffix("(\(binary.path))") == true)

                _ = try await network.objects("network", "start", "--json")
                let url = try #require(network.description).url
                let strange = try await network.objects("doctor", "--as", "stranger", "--json")
                #expect(strange.contains { $0["detail"].string.contains("user stranger of the private network, made") })
                #expect(strange.contains { $0["check"].string == "server \(url)" && $0["ok"].bool == true })
                let users = try FileManager.default.contentsOfDirectory(
                    atPath: network.folder.path("data/parley/local/users"))
                #expect(!users.contains { $0.hasPrefix("stranger") }, "\(users)")
                _ = try await network.objects("network", "user", "add", "alice", "--json")
                let awake = try await network.objects("doctor", "--as", "alice", "--json")
                #expect(awake.allSatisfy { $0["ok"].bool == true }, "\(awake)")
                for check in [
                    "private network", "credentials", "server \(url)", "round trip", "namespace", "JetStream",
                ] {
                    #expect(awake.contains { $0["check"].string == check }, "\(check): \(awake)")
                }
                let people = try await network.parley("doctor", "--as", "alice")
                #expect(people.lines.count == awake.count && people.lines.allSatisfy { "✓!".contains($0.first ?? " ") })
            }
        }

        @Test("B2 doctor names the step that fails, exits with the first failure's status, and shows no secret")
        func doctorFailures() async throws {
            try await PrivateNetworkFixture.run { network in
                func doctor(_ arguments: String...) async throws -> (code: Int32?, failed: [String], output: String) {
                    let result = try await network.run(["doctor", "--json"] + arguments)
                    let objects = try result.lines.map { try JSONLine($0) }
                    let failed = objects.filter { $0["ok"].bool == false }
                    #expect(failed.allSatisfy { !$0["fix"].string.isEmpty }, "\(result)")
                    return (
                        result.exitCode, failed.map { "\($0["check"].string): \($0["detail"].string)" },
                        result.output + result.diagnostics
                    )
                }
                let silent = try SilentPort()
                let unreachable = try await doctor("--server", silent.url)
                #expect(unreachable.code == 69 && unreachable.failed.count == 1, "\(unreachable)")
                #expect(unreachable.failed.first?.hasPrefix("server \(silent.url): TCP: ") == true)
                let nameless = try await doctor("--server", "nats://no-such-host.invalid:4999")
                #expect(nameless.code == 69 && nameless.failed.first?.contains(": DNS: ") == true, "\(nameless)")

                let server = try await NATSServerProcess.start(
                    configuration: "authorization { user: someone, password: else }")
                defer { server.close() }
                let refused = try await doctor("--server", server.url)
                #expect(refused.code == 77 && refused.failed.first?.contains(": login: ") == true, "\(refused)")
                let both = try await doctor("--server", silent.url, "--server", server.url)
                #expect(both.code == 69 && both.failed.count == 2, "\(both)")
                let plain = try await doctor("--server", "nats://someone:else@127.0.0.1:\(server.port)")
                #expect(plain.code == 69 && plain.failed.first?.hasPrefix("namespace: ") == true, "\(plain)")
                #expect(!plain.output.contains("someone:else"))

                let secure = try await doctor("--server", "tls://127.0.0.1:\(server.port)")
                #expect(secure.code == 69 && secure.failed.first?.contains(": TLS: ") == true, "\(secure)")
                let impossible = try await doctor("--as", "no user")
                #expect(impossible.code == 65 && impossible.failed.count == 1, "\(impossible)")

                try network.folder.write(
                    """
                    { profiles: { plain: { servers: ["\(server.url)"], namespace: "lab", hash: "h" } } }
                    """, to: "config.json")
                let file = network.folder.path("config.json")
                let unnamed = try await doctor("--config", file, "--profile", "none")
                #expect(unnamed.code == 78 && unnamed.failed.first?.hasPrefix("settings: ") == true, "\(unnamed)")
                try network.folder.write("{ profiles: [] }", to: "config.json")
                let broken = try await doctor("--config", file)
                #expect(broken.code == 78 && broken.failed.first?.hasPrefix("configuration: ") == true, "\(broken)")

                let creds = network.folder.path("dora.creds")
                _ = try await network.objects("network", "user", "add", "dora", "--out", creds, "--json")
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: creds)
                let open = try await doctor("--server", silent.url, "--creds", creds)
                #expect(open.code == 78 && open.failed.first == "credentials: others can read \(creds)", "\(open)")
                let secret = try String(contentsOfFile: creds, encoding: .utf8).split(separator: "\n")
                    .filter { $0.hasPrefix("SU") || $0.hasPrefix("eyJ") }
                #expect(secret.count == 2)
                for line in secret { #expect(!open.output.contains(line)) }

                let taken = network.folder.path("taken")
                try network.folder.write("", to: "taken")
                let blocked = try await network.parley(
                    "doctor", "--server", silent.url, environment: ["XDG_DATA_HOME": taken])
                #expect(blocked.exitCode == 73, "\(blocked)")
                let missing = try await network.parley(
                    "doctor", environment: ["PARLEY_NATS_SERVER": "/nonexistent"])
                #expect(missing.exitCode == 78 && missing.output.contains("✗ nats-server"), "\(missing)")
            }
        }

        @Test("What keeps a command from its connection is said, and which option is missing")
        func causes() async throws {
            let network = try PrivateNetworkFixture(NATSServerProcess.anyBinary)
            let server = try await NATSServerProcess.start(
                configuration: "authorization { user: someone, password: else }")
            defer { server.close() }
            let silent = try SilentPort()
            // What ends by its limit has met its cause before; what ends by itself needs none.
            func send(_ url: String, limit: Int = 60) async throws -> ChildProcess.Result {
                try await network.parley("send", "chat.lobby", "x", "--timeout", "\(limit)", "--server", url)
            }
            let refused = try await send(silent.url, limit: 10)
            #expect(refused.exitCode == 69, "\(refused)")
            #expect(refused.diagnostics.contains("No connection within 10 seconds."), "\(refused)")
            #expect(refused.diagnostics.contains("othing answers at \(silent.url)"), "\(refused)")
            let secure = try await send("tls://127.0.0.1:\(server.port)", limit: 10)
            #expect(secure.exitCode == 69 && secure.diagnostics.contains("No secure connection"), "\(secure)")
            let missing = try await send(server.url)
            #expect(missing.exitCode == 77 && missing.diagnostics.contains("--creds FILE"), "\(missing)")
            let watch = try await network.parley("watch", "--for", "60", "--server", server.url)
            #expect(watch.exitCode == 77 && watch.diagnostics.contains("--creds FILE"), "\(watch)")
            let wrong = try await send("nats://someone:other@127.0.0.1:\(server.port)")
            #expect(wrong.exitCode == 77 && wrong.diagnostics.contains("refused the credentials"), "\(wrong)")
            #expect(!wrong.diagnostics.contains("--creds") && !wrong.diagnostics.contains("other@"), "\(wrong)")
        }

        @Test(
            "A server that wants TLS before its first word ends send and doctor with 78, and the setting is named",
            .enabled(if: NATSServerProcess.newestBinary.takesTLSFirst, "no nats-server here does that"))
        func handshakeFirst() async throws {
            let network = try PrivateNetworkFixture(NATSServerProcess.newestBinary)
            // Silent for much longer than a login may take; then it speaks first, as its start is waited for.
            let server = try await NATSServerProcess.start(
                NATSServerProcess.newestBinary,
                configuration: TestCertificates.configuration(more: "handshake_first: \"30s\""), jetStream: false)
            defer { server.close() }
            let url = "nats://127.0.0.1:\(server.port)"
            async let sent = network.run(["send", "chat.lobby", "x", "--timeout", "60", "--server", url])
            async let checked = network.run(["doctor", "--server", url])
            for result in try await [sent, checked] {
                #expect(result.exitCode == 78, "\(result)")
                let words = result.output + result.diagnostics
                #expect(words.contains("wants TLS before its first word; set tlsFirst"), "\(result)")
            }
            // The other way round: the setting is there, and the server speaks first.
            let plain = try await NATSServerProcess.start(NATSServerProcess.newestBinary, jetStream: false)
            defer { plain.close() }
            let folder = try TemporaryDirectory("tls")
            let file = try folder.write(
                "{ profiles: { a: { servers: ['\(plain.url)'], user: 'alice', namespace: 'n', hash: 'h', tlsFirst: true } } }",
                to: "config.json")
            let profile = ["--profile", "a", "--config", file]
            async let refused = network.run(["send", "chat.lobby", "x", "--timeout", "60"] + profile)
            async let examined = network.run(["doctor"] + profile)
            for result in try await [refused, examined] {
                #expect(result.exitCode == 78, "\(result)")
                let words = result.output + result.diagnostics
                #expect(words.contains("speaks before TLS; remove tlsFirst"), "\(result)")
                #expect(!words.contains("certificate") && !words.contains("check tlsAuthority"), "\(result)")
            }
        }

        @Test(
            "B4 B5 The chat says that the server refuses the credentials, and of a file that others can read how to mend it"
        )
        func refusedOnScreen() async throws {
            let network = try PrivateNetworkFixture(NATSServerProcess.anyBinary)
            let server = try await NATSServerProcess.start(
                configuration: "authorization { user: someone, password: else }")
            defer { server.close() }
            let refused = try network.terminal(
                ["--server", "nats://someone:other@127.0.0.1:\(server.port)"], columns: 200)
            defer { refused.close() }
            try await refused.waitFor("the reason") {
                $0.contains("✕ DISCONNECTED") && $0.contains("The server refused the credentials")
                    && $0.contains("/reconnect tries again.")
            }
            try refused.press(.f(8))
            let log = try await refused.waitFor("the log") {
                $0.main(row: 1).contains("connection log")
                    && $0.rows.dropLast(2).contains { $0.contains("The server refused the credentials") }
            }
            #expect(!log.contains("other@"))
            try refused.press(.ctrl("q"))
            try await refused.waitForExit()

            let creds = try network.folder.write("nothing that is to be read", to: "open.creds", permissions: 0o644)
            let open = try network.terminal(["--server", server.url, "--creds", creds], columns: 200)
            defer { open.close() }
            #expect(try await open.waitForExit() == .exited(78))
            #expect(open.screen.contains("chmod 600 \(creds)"), "\(open.screen)")
        }

        @Test("A name that has no address, and a peer that speaks something else, are said too, by every command")
        func strangers() async throws {
            let network = try PrivateNetworkFixture(NATSServerProcess.anyBinary)
            // A label of DNS has 63 bytes at most, so that nobody has to be asked.
            let nowhere = "nats://\(String(repeating: "n", count: 64)).example:4222"
            let peer = try ScriptedPeer(greeting: "SSH-2.0-OpenSSH_9.2\r\n")
            let tries: [(url: String, words: String)] = [
                (nowhere, "has no address"), (peer.url, "unknown operation “SSH-2.0-OpenSSH_9.2”"),
            ]
            for (url, words) in tries {
                let watch = try network.start("watch", "--server", url)
                try await eventually("the cause", deadline: .seconds(60)) { watch.output.contains(words) }
                watch.signal(SIGTERM)
                _ = try await watch.waitForExit(deadline: .seconds(60))
                let sent = try await network.parley("send", "chat.lobby", "x", "--timeout", "10", "--server", url)
                #expect(sent.exitCode == 69, "\(sent)")
                #expect(sent.diagnostics.contains("No connection within 10 seconds."), "\(sent)")
                #expect(sent.diagnostics.contains(words), "\(sent)")
            }
        }

        @Test("doctor on a terminal knows it, in colour")
        func doctorOnTerminal() async throws {
            let network = try PrivateNetworkFixture(NATSServerProcess.anyBinary)
            let terminal = try PseudoTerminal(
                try BuiltProduct.url("parley").path, ["doctor"], environment: network.environment, rows: 30,
                columns: 160)
            defer { terminal.close() }
            #expect(try await terminal.waitForExit() == .exited(0))
            #expect(terminal.screen.rows[0].contains("✓ terminal") && terminal.screen.rows[0].contains("160×30"))
            #expect(String(decoding: terminal.output, as: UTF8.self).contains("\u{1B}[32m✓"))
            #expect(network.description == nil)
        }

        @Test("A letter of several lines is listed with its further lines indented")
        func letterLines() async throws {
            try await PrivateNetworkFixture.run { network in
                #expect(try await network.parley("postbox", "list", "--as", "bob").exitCode == 0)
                let posted = try await network.parley(
                    "inbox", "post", "bob/personal", "--as", "alice", input: "first\nsecond\n\nlast")
                #expect(posted.exitCode == 0, "\(posted)")
                let list = try await network.parley("inbox", "list", "--all", "--as", "bob")
                #expect(list.output.contains("  alice: first\n    second\n    \n    last\n"), "\(list)")
            }
        }
    }
}
