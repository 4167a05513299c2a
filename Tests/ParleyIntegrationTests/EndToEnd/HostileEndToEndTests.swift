import Foundation
import NATS
import Relay
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Hostile messages on the screen")
    struct Hostile {
        /// What a message holds that means ill, each with a word that shows that the message has come.
        static let texts: [(name: String, text: String)] = [
            ("title", "\u{1B}]0;PWNED\u{7}\u{1B}]2;PWNED\u{1B}\\"),
            ("erase", "\u{1B}[2J\u{1B}[3J\u{1B}[H\u{1B}c"),
            ("clipboard", "\u{1B}]52;c;UFdORUQ=\u{7}"),
            ("modes", "\u{1B}[?1049l\u{1B}[?25l\u{1B}[?1000h\u{1B}[31m\u{1B}(0\u{E}"),
            ("eight bit", "\u{9B}2J\u{9D}0;PWNED\u{9C}\u{90}q\u{9C}\u{85}"),
            ("order", "\u{202E}drawkcab\u{2066}inner\u{2069}\u{200F}\u{061C}"),
            ("lines", "one\ntwo\r\nthree\tfour\u{B}five\u{C}six\u{2028}seven\u{8}\u{8}\u{8}"),
            ("null", "a\u{0}b\u{7F}c\u{5}\u{7}"),
            ("marks", "e" + String(repeating: "\u{301}\u{489}", count: 250)),
            ("tags", "\u{E0041}\u{E007F}\u{FEFF}\u{200B}\u{FFF9}x\u{FFFB}"),
        ]

        @Test("B53 An error that repeats another user's words moves nothing on the terminal that shows it")
        func errors() async throws {
            let server = try await NATSServerProcess.start(NATSServerProcess.anyBinary)
            let folder = try TemporaryDirectory("e2e")
            let profile = "servers: ['\(server.url)'], user: 'alice', namespace: 'n', hash: 'h'"
            try folder.write("{ profiles: { default: { \(profile) } } }", to: "config.json")
            let mallory = try await NATSConnection.connect(
                to: try ServerAddress(parsing: server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
            let jetStream = JetStream(mallory, timeout: .seconds(60))
            try await jetStream.createStream(StreamConfiguration(name: "n_stream", subjects: ["h.>"]))
            let tail = try ChildProcess(
                try BuiltProduct.url("parley").path, ["tail", "chat.lobby", "--config", folder.path("config.json")],
                environment: ["XDG_DATA_HOME": folder.path("data"), "XDG_STATE_HOME": folder.path("state")])
            defer { tail.close() }
            defer { server.close() }
            // On a network without tokens, any user who may publish there is taken for the administrator.
            let attack = #"{"kind":"kicked","reason":"\u001b]52;c;UFdORUQ=\u0007\u009b2Jout of\u202esorts"}"#
            try await eventually("the end of the tail", deadline: .seconds(60)) {
                try mallory.publish(Array(attack.utf8), to: "relay.control.alice")
                return tail.exitStatus != nil
            }
            await mallory.close()
            let result = try await tail.waitForExit(deadline: .seconds(60))
            #expect(result.exitCode == 77 && result.diagnostics.contains("out of"), "\(result)")
            let controls = result.diagnostics.unicodeScalars.filter {
                $0 != "\n" && ($0.properties.generalCategory == .control || $0.properties.isBidiControl)
            }
            #expect(controls.isEmpty, "\(controls)")
        }

        @Test("B53 Controls in text, name and letter reach no terminal", arguments: NATSServerProcess.binaries)
        func controls(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let alice = try await network.connected("alice", rows: 40, columns: 120)
                let client = try await mallory(network)
                let begin = alice.outputCount
                let bells = alice.modes.bells
                for (name, text) in Self.texts {
                    // As text from the command line, as text and name on the wire, and as a letter.
                    let sent = try await network.parley(
                        "send", "chat.lobby", "--as", "mallory", input: "\(text) cli-\(name)")
                    #expect(sent.status.isSuccess, "\(name): \(sent)")
                    _ = try await client.send(
                        topic: "chat.lobby", message: ["username": "mallory", "text": .string("\(text) wire-\(name)")],
                        timeout: .seconds(60))
                    _ = try await client.send(
                        topic: "chat.lobby", message: ["username": .string(text), "text": .string("named-\(name)")],
                        timeout: .seconds(60))
                    _ = try await client.post(
                        to: "alice", postbox: "personal", text: "letter-\(name) \(text)", timeout: .seconds(60))
                    // A vertical tab and a form feed are blanks.
                    let words = name == "lines" ? ["four five six"] : []
                    try await alice.waitFor("all of “\(name)”") { screen in
                        (["cli-\(name)", "wire-\(name)", "named-\(name)"] + words).allSatisfy { screen.contains($0) }
                    }
                    try await frameHolds(alice, name)
                }
                // Maps, lists and bytes instead of text.
                _ = try await client.send(
                    topic: "chat.lobby", message: ["\u{1B}]0;PWNED\u{7}": ["\u{9B}2J", .null, 1]],
                    timeout: .seconds(60))
                _ = try await client.send(topic: "chat.lobby", message: "end-of-topic", timeout: .seconds(60))
                try await alice.waitFor(text: "end-of-topic")
                try await frameHolds(alice, "map")

                try alice.press(.f(3))
                try await alice.waitFor(text: "letter-tags")
                // The last letter stands first.
                for (name, _) in Self.texts.reversed() {
                    try alice.press(.enter)
                    try await alice.waitFor("the letter “\(name)”") {
                        $0.contains("from mallory to personal") && $0.count(of: "letter-\(name)") == 2
                    }
                    try await frameHolds(alice, name)
                    try alice.press(.enter)
                    try await alice.waitFor("the letter to close") { !$0.contains("from mallory to personal") }
                    try alice.press(.down)
                }

                try outputIsClean(Array(alice.output.suffix(alice.outputCount - begin)))
                #expect(alice.modes.bells == bells)
                await client.close()
            }
        }

        @Test("B53 Commands print hostile text for people without its controls, and whole for scripts")
        func commands() async throws {
            try await PrivateNetworkFixture.run { network in
                let client = try await mallory(network)
                let text = Self.texts.map(\.text).joined()
                _ = try await client.send(
                    topic: "chat.lobby", message: ["username": .string(text), "text": .string(text)],
                    timeout: .seconds(60))
                _ = try await network.parley("inbox", "list", "--as", "alice")
                _ = try await client.post(to: "alice", postbox: "personal", text: text, timeout: .seconds(60))
                await client.close()
                for arguments in [
                    ["tail", "chat.lobby", "--since", "all", "--count", "1"],
                    ["history", "chat.lobby", "--start", "all"],
                    ["inbox", "list", "--all"],
                ] {
                    let result = try await network.run(arguments + ["--as", "alice"])
                    #expect(result.status.isSuccess)
                    #expect(result.output.contains("PWNED"), "\(arguments): the message is shown as text")
                    #expect(result.output.contains("four five six"), "\(arguments): the blanks part words")
                    let bad = result.output.unicodeScalars.filter { isForbidden($0) && $0 != "\n" }
                    #expect(bad.isEmpty, "\(arguments): \(bad)")
                }
                let line = try #require(
                    try await network.objects("history", "chat.lobby", "--as", "alice", "--start", "all", "--json")
                        .first)
                #expect(line["text"].string == text)
                #expect(line["from"].string == text)
            }
        }

        // MARK: What is looked at

        private func mallory(_ network: PrivateNetworkFixture) async throws -> RelayClient {
            let file = network.folder.path("mallory.creds")
            let made = try await network.parley("network", "user", "add", "mallory", "--out", file)
            #expect(made.status.isSuccess, "\(made)")
            let description = try await runningNetwork(network)
            let client = RelayClient(
                configuration: RelayConfiguration(
                    servers: .fixed(try RelayConfiguration.addresses([description])), credentials: try .file(file)))
            try await client.connect(timeLimit: 60)
            return client
        }

        private func runningNetwork(_ network: PrivateNetworkFixture) async throws -> String {
            _ = try await network.parley("postbox", "list", "--as", "mallory")
            return try #require(network.description).url
        }

        /// The window's parts are where they were drawn, and the terminal's modes and title are the program's own.
        ///
        /// Half of a frame is no frame: it is waited for.
        private func frameHolds(_ terminal: PseudoTerminal, _ name: String) async throws {
            try await terminal.waitFor("a whole frame after “\(name)”") { screen in
                guard let divider = (0..<120).first(where: { terminal.cell(row: 1, column: $0).text == "│" }) else {
                    return false
                }
                let modes = screen.modes
                return screen.rows[0].hasPrefix(" parley  alice@local ─") && screen.rows[0].contains("● CONNECTED")
                    && (1..<37).allSatisfy { terminal.cell(row: $0, column: divider).text == "│" }
                    && terminal.cell(row: 37, column: divider).text == "┴" && screen.rows[38].hasPrefix(" > ")
                    && modes.isAlternateScreen && modes.isCursorVisible && modes.reportsFocus && modes.bracketsPaste
                    && !modes.title.contains("PWNED")
            }
        }

        /// What was written holds the program's own sequences and none of a message's.
        private func outputIsClean(_ output: [UInt8]) throws {
            let text = String(decoding: output, as: UTF8.self)
            for sequence in ["\u{1B}[2J", "\u{1B}[3J", "\u{1B}c", "\u{1B}]52", "\u{1B}[?1049l", "\u{1B}P", "\u{E}"] {
                #expect(!text.contains(sequence), "\(sequence.debugDescription)")
            }
            let titles = text.components(separatedBy: "\u{1B}]").dropFirst()
            #expect(titles.allSatisfy { $0.hasPrefix("2;") || $0.hasPrefix("0;") })
            #expect(titles.allSatisfy { !$0.prefix(while: { $0 != "\u{7}" && $0 != "\u{1B}" }).contains("PWNED") })
            let own: Set<Unicode.Scalar> = ["\u{1B}", "\u{7}", "\r", "\n", "\u{8}", "\t"]
            let bad = text.unicodeScalars.filter { isForbidden($0) && !own.contains($0) }
            #expect(bad.isEmpty, "\(Set(bad))")
        }

        /// Controls, and what reorders, hides or tags text.
        private func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar.value {
            case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF,
                0xFFF9...0xFFFB, 0xE0000...0xE0FFF:
                true
            default: false
            }
        }
    }
}
