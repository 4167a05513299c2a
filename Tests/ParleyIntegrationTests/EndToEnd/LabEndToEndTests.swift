import Foundation
import Platform
import TestSupport
import Testing

extension EndToEndTests {
    /// `parley lab`, as scripts and people use it.
    @Suite("The lab")
    struct Lab {
        private static let quick = """
            // A cut while messages are sent.
            {
                title: "a cut", seed: 7,
                steps: [
                    { expect: { status: "connected" }, within: "60s" },
                    { do: "send", count: 20, every: "10ms" },
                    { after: "50ms", do: "cut" },
                    { expect: { status: "reconnecting" }, within: "60s" },
                    { expect: { status: "connected" }, within: "60s" },
                    { expect: { sent: 20, acknowledged: 20, received: 20, lost: 0, doubled: 0 }, within: "60s" },
                ],
            }

            """

        @Test(
            "run carries a scenario out; its log, page, JUnit file and last line have the same figures",
            arguments: NATSServerProcess.binaries)
        func run(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let folder = network.folder
                let file = try folder.write(Self.quick, to: "cut.json5")
                let (log, page, junit) = (folder.path("cut.jsonl"), folder.path("cut.html"), folder.path("cut.xml"))
                let events = try await network.objects(
                    "lab", "run", file, "--json", "--log", log, "--report", page, "--junit", junit)
                let last = try #require(events.last)
                #expect(last["verdict"].string == "passed" && last["sent"].int == 20 && last["received"].int == 20)
                #expect(last["lost"].int == 0 && last["doubled"].int == 0 && last["outOfOrder"].int == 0)
                #expect(!last["recovery"].isNull && events.first?["seed"].int == 7)
                #expect(events.contains { $0["event"].string == "fault" && $0["fault"].string == "cut" })

                let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
                #expect(lines.count == events.count)
                let reported = try await network.objects("lab", "report", log, "--json")
                let figures = try #require(reported.first)
                for name in ["sent", "acknowledged", "received", "doubled", "lost", "outOfOrder"] {
                    #expect(figures[name].int == last[name].int, "\(name)")
                }
                let html = try String(contentsOfFile: page, encoding: .utf8)
                #expect(html.contains("data-verdict=\"passed\"") && html.contains("data-figure=\"received\">20</td>"))
                #expect(!html.contains("<script"))
                let copy = folder.path("copy.html")
                #expect(try await network.parley("lab", "report", log, "--out", copy).exitCode == 0)
                #expect(try String(contentsOfFile: copy, encoding: .utf8) == html)
                let shown = try await network.parley("lab", "report", log)
                #expect(shown.lines.first == "a cut: passed", "\(shown)")
                let xml = try String(contentsOfFile: junit, encoding: .utf8)
                #expect(xml.contains("tests=\"1\" failures=\"0\"") && xml.contains("name=\"a cut\""))
            }
        }

        @Test("run exits 1 where a scenario does not pass, and names a mistake in a file with its place")
        func failing() async throws {
            try await PrivateNetworkFixture.run { network in
                let folder = network.folder
                let unmet = try folder.write(
                    "{ steps: [ { expect: { status: \"suspended\" }, within: \"100ms\" } ] }", to: "unmet.json5")
                let failed = try await network.parley("lab", "run", unmet)
                #expect(
                    failed.exitCode == 1 && failed.output.contains("NOT as expected: status suspended"), "\(failed)")
                let wrong = try folder.write("{ steps: [\n  { do: \"cutt\" } ] }", to: "wrong.json5")
                let refused = try await network.parley("lab", "run", wrong)
                #expect(refused.exitCode == 65 && refused.diagnostics.contains("wrong.json5:2:9: "), "\(refused)")
                #expect(refused.diagnostics.contains("“cutt” is no act"))
                let absent = try await network.parley("lab", "run", folder.path("none.json5"))
                #expect(absent.exitCode == 65, "\(absent)")
            }
        }

        @Test("Faults of the server's side are refused on a network that somebody else started")
        func foreign() async throws {
            try await PrivateNetworkFixture.run { network in
                let refused = try await network.parley("lab", "run", "kick", "--server", "nats://127.0.0.1:1")
                #expect(
                    refused.exitCode == 77 && refused.diagnostics.contains("a network that Parley started"),
                    "\(refused)")
            }
        }

        @Test("list names the scenarios, and prints one as a file that run takes")
        func list() async throws {
            try await PrivateNetworkFixture.run { network in
                let names = try await network.objects("lab", "list", "--json").map { $0["name"].string }
                #expect(names.count == 14 && names.contains("relayx-over-two-minutes") && names.contains("kick"))
                let text = try await network.parley("lab", "list", "kick")
                let file = try network.folder.write(text.output, to: "kick.json5")
                let events = try await network.objects("lab", "run", file, "--json")
                #expect(events.last?["verdict"].string == "passed", "\(events)")
                #expect(events.contains { $0["status"].string == "disconnected" && $0["reason"].string == "kicked" })
            }
        }

        @Test("What send writes, watch counts, each message once; a number that is missing is named")
        func ledger() async throws {
            try await PrivateNetworkFixture.run { network in
                let sent = try await network.objects(
                    "lab", "send", "chat.lab", "--count", "8", "--writer", "w", "--as", "alice", "--json")
                #expect(sent.count { $0["event"].string == "acknowledged" } == 8)
                let watched = try await network.objects(
                    "lab", "watch", "chat.lab", "--since", "all", "--count", "8", "--as", "bob", "--json")
                #expect(watched.last?["verdict"].string == "passed" && watched.last?["received"].int == 8)
                // Whoever writes, in whatever client.
                _ = try await network.objects("send", "chat.holes", "lab x 1", "--as", "alice", "--json")
                _ = try await network.objects("send", "chat.holes", "lab x 4", "--as", "alice", "--json")
                let holes = try await network.parley(
                    "lab", "watch", "chat.holes", "--since", "all", "--count", "4", "--as", "bob")
                #expect(holes.exitCode == 1, "\(holes)")
                #expect(holes.output.contains("Acknowledged and never delivered: x 2, x 3."), "\(holes)")
            }
        }

        @Test("proxy puts faults before a server for any program, which a script or lines of input say")
        func proxy() async throws {
            try await PrivateNetworkFixture.run { network in
                let creds = network.folder.path("alice.creds")
                _ = try await network.objects("network", "start", "--json")
                _ = try await network.objects("network", "user", "add", "alice", "--out", creds, "--json")
                let server = try #require(network.description).url
                let log = network.folder.path("proxy.jsonl")
                let proxy = try network.start(
                    "lab", "proxy", "--server", server, "--listen", "127.0.0.1:0", "--json", "--log", log)
                let address = try JSONLine(await proxy.nextLine())["listening"].string
                #expect(address.hasPrefix("nats://127.0.0.1:"))
                let through = ["--server", address, "--creds", creds]
                _ = try await network.objects(["send", "chat.lab", "lab p 1", "--json"] + through)
                try proxy.write("nonsense\nrefuse\n")
                try await proxy.waitFor("the link refuses") { output, diagnostics in
                    output.contains("\"refuse\"") && diagnostics.contains("“nonsense” is no act")
                }
                try await eventually("nobody is let through") {
                    try await network.run(["watch", "--for", "1"] + through + ["--json"]).output
                        .contains("\"connected\"") == false
                }
                try proxy.write("restore\n")
                try await proxy.waitFor("the link is restored") { output, _ in output.contains("\"ended\"") }
                _ = try await network.objects(["send", "chat.lab", "lab p 2", "--json"] + through)
                let watched = try await network.objects(
                    "lab", "watch", "chat.lab", "--since", "all", "--count", "2", "--as", "bob", "--json")
                #expect(watched.last?["received"].int == 2 && watched.last?["verdict"].string == "passed")
                proxy.signal(SIGTERM)
                #expect(try await proxy.waitForExit().exitCode == 128 + SIGTERM)
                let report = try await network.parley("lab", "report", log, "--json")
                #expect(report.exitCode == 0 && report.output.contains("\"verdict\""), "\(report)")
            }
        }

        @Test("proxy listens at the address that it is told, and says where others reach the server by it")
        func listening() async throws {
            try await PrivateNetworkFixture.run { network in
                let creds = network.folder.path("alice.creds")
                _ = try await network.objects("network", "start", "--json")
                _ = try await network.objects("network", "user", "add", "alice", "--out", creds, "--json")
                let server = try #require(network.description).url
                for (place, isOpen) in [("0", false), ("127.0.0.2:0", false), ("0.0.0.0:0", true)] {
                    let proxy = try network.start("lab", "proxy", "--server", server, "--listen", place, "--json")
                    let address = try JSONLine(await proxy.nextLine())["listening"].string
                    let host = place == "0" ? "127.0.0.1" : String(place.dropLast(2))
                    #expect(address.hasPrefix("nats://\(host):"), "\(place)")
                    let sent = try await network.parley(
                        "send", "chat.lab", "through \(place)", "--server",
                        address.replacingOccurrences(of: "0.0.0.0", with: "127.0.0.1"), "--creds", creds)
                    #expect(sent.exitCode == 0, "\(place): \(sent)")
                    #expect(proxy.diagnostics.contains("anybody who reaches 0.0.0.0") == isOpen, "\(place)")
                    proxy.signal(SIGTERM)
                    try await proxy.waitForExit()
                }
                let refused = try await network.parley(
                    "lab", "proxy", "--server", server, "--listen", "localhost.example:1")
                #expect(
                    refused.exitCode == 73 && refused.diagnostics.contains("it is no address in numbers"), "\(refused)")
            }
        }

        @Test("What needs a cluster of three servers runs on one of its own, which is gone afterwards", .realClusters)
        func cluster() async throws {
            try await PrivateNetworkFixture.run { network in
                let place = network.folder.path("temporary")
                try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
                let result = try await network.run(
                    ["lab", "run", "leader-loss", "--json"], environment: ["TMPDIR": place])
                let events = try result.lines.map { try JSONLine($0) }
                #expect(result.exitCode == 0 && events.last?["verdict"].string == "passed", "\(result)")
                #expect(events.last?["sent"].int == 25 && events.last?["lost"].int == 0, "\(result)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
                let refused = try await network.parley("lab", "run", "leader-loss", "--server", "nats://127.0.0.1:1")
                #expect(
                    refused.exitCode == 77 && refused.diagnostics.contains("for a network that Parley started"),
                    "\(refused)")
            }
        }

        @Test("record keeps what is done by hand as a file that passes")
        func record() async throws {
            try await PrivateNetworkFixture.run { network in
                let file = network.folder.path("mine.json5")
                let recording = try network.start("lab", "record", "--out", file, "--json", "--title", "by hand")
                try await recording.waitFor("a connection") { output, _ in output.contains("\"status\":\"connected\"") }
                try recording.write("send count=3\n")
                try await recording.waitFor("three messages") { output, _ in
                    output.split(separator: "\n").count { $0.contains("\"received\"") } >= 3
                }
                try recording.write("cut\n")
                try await recording.waitFor("the outage and its end") { output, _ in
                    guard let cut = output.range(of: "\"cut\"") else { return false }
                    let behind = output[cut.upperBound...]
                    guard let lost = behind.range(of: "\"reconnecting\"") else { return false }
                    return behind[lost.upperBound...].contains("\"status\":\"connected\"")
                }
                recording.closeInput()
                #expect(try await recording.waitForExit(deadline: .seconds(120)).exitCode == 0)
                let text = try String(contentsOfFile: file, encoding: .utf8)
                #expect(text.contains("title: \"by hand\"") && text.contains("\"do\": \"cut\""), "\(text)")
                let events = try await network.objects("lab", "run", file, "--json")
                #expect(events.last?["verdict"].string == "passed", "\(text)\n\(events)")
            }
        }

        private static let python = ProcessInfo.processInfo.environment["PARLEY_TEST_PYTHON"]

        @Test(
            "nats-py goes behind the proxy through cuts, refusal and silence, and its ledger is clean",
            .enabled(if: python != nil, "PARLEY_TEST_PYTHON names no Python with nats-py"),
            arguments: [
                "{ at: \"300ms\", do: \"cut\" }, { after: \"500ms\", do: \"cut\", how: \"finish\" }",
                "{ at: \"300ms\", do: \"refuse\", for: \"2s\" }, { do: \"cut\" }",
                "{ at: \"300ms\", do: \"blackhole\", for: \"4s\" }, { after: \"5s\", do: \"cut\" }",
            ])
        func otherClient(_ steps: String) async throws {
            try await PrivateNetworkFixture.run { network in
                let creds = network.folder.path("alice.creds")
                _ = try await network.objects("network", "start", "--json")
                _ = try await network.objects("network", "user", "add", "alice", "--out", creds, "--json")
                let server = try #require(network.description).url
                let script = try network.folder.write("{ steps: [ \(steps) ] }", to: "faults.json5")
                let proxy = try network.start("lab", "proxy", "--server", server, "--json", "--script", script)
                let address = try JSONLine(await proxy.nextLine())["listening"].string
                let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                    .appendingPathComponent("Interop/numbers.py").path
                let client = try await ChildProcess.run(
                    try #require(Self.python), [program, address, creds, "chat.py", "60"], deadline: .seconds(120))
                #expect(client.exitCode == 0, "\(client)")
                try await proxy.waitFor("the script's last act") { output, _ in output.contains("\"cut\"") }
                let watched = try await network.objects(
                    "lab", "watch", "chat.py", "--since", "all", "--count", "60", "--as", "bob", "--json")
                #expect(watched.last?["verdict"].string == "passed" && watched.last?["received"].int == 60)
                proxy.signal(SIGTERM)
                try await proxy.waitForExit()
            }
        }
    }
}
