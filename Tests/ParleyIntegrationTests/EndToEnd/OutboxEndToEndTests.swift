import Foundation
import Platform
import Relay
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("What was not sent when the program ended")
    struct Unsent {
        /// Leaves messages in alice's local store, as chats that have ended would: those with a reason were not sent.
        private static func leave(
            _ messages: [(id: String, text: String, reason: String?)], in network: PrivateNetworkFixture
        ) async throws {
            let store = try LocalStore.open(network.folder.path("data/parley/stores/alice@local.sqlite"))
            let time = try #require(Timestamp(iso8601: "2026-11-20"))
            let changes = messages.map { message -> StoreChange in
                let line = ChatLine(username: "alice", text: message.text, timestamp: time)
                let envelope = Envelope(id: message.id, room: "chat.lobby", message: line.value, start: time)
                let kept = OutboxMessage(id: message.id, topic: "chat.lobby", payload: envelope.encoded())
                return .outbox(
                    KeptPublish(message: kept, state: message.reason.map { .notSent($0) } ?? .queued, since: time))
            }
            try await store.commit(changes)
            try await store.close()
        }

        private static func isUnread(_ screen: TerminalScreen) -> Bool {
            screen.rows.contains { row in
                let sidebar = row.prefix { $0 != "│" }
                return sidebar.contains("chat.qa") && sidebar.contains("1")
            }
        }

        private static func has(_ text: String, marked mark: String, _ screen: TerminalScreen) -> Bool {
            screen.count(of: text) == 1 && screen.rows.contains { $0.contains(text) && $0.hasSuffix(mark) }
        }

        @Test(
            "B32 Lines typed while the server is down, and a draft, outlive a killed client; the lines are sent once and in order",
            arguments: [SIGKILL, SIGHUP])
        func killedClient(_ signal: Int32) async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.objects("network", "start", "--json")
                let alice = try await network.connected("alice", columns: 120)
                try alice.type("/join chat.qa")
                try alice.press(.enter)
                try await alice.waitFor("the other topic, live") {
                    $0.main(row: 1).contains("chat.qa") && !$0.contains("joining …")
                }
                try alice.press(.ctrl("p"))
                try await alice.waitFor("the first topic, live") {
                    $0.main(row: 1).contains("chat.lobby") && !$0.contains("joining …")
                }
                let seen = try await network.parley("send", "--as", "bob", "chat.lobby", "seen before")
                #expect(seen.exitCode == 0, "\(seen)")
                try await alice.waitFor(text: "seen before")
                let sent = try await network.parley("send", "--as", "bob", "chat.qa", "for later")
                #expect(sent.exitCode == 0, "\(sent)")
                try await alice.waitFor("the unread message") { Self.isUnread($0) }

                let before = try #require(network.description)
                // A host that does not run cannot start the next server.
                try await pause(before.hostPid)
                kill(before.serverPid, SIGKILL)
                try await alice.waitFor("word of the outage") { $0.contains("↻ RECONNECTING") }
                let lines = ["typed first", "typed second", "typed third"]
                for line in lines {
                    try alice.type(line)
                    try alice.press(.enter)
                    try await alice.waitFor("the queued line") { Self.has(line, marked: "…", $0) }
                }
                try await eventually("the lines in the local store") {
                    try await network.objects("outbox", "list", "--as", "alice", "--json").count == 3
                }
                let listed = try await network.objects("outbox", "list", "--as", "alice", "--json")
                #expect(listed.map { $0["text"].string } == lines)
                #expect(listed.allSatisfy { $0["held"].bool == true && $0["state"].string == "queued" })
                let refused = try await network.parley("outbox", "drop", "--all", "--as", "alice")
                #expect(refused.exitCode == 75 && refused.output.isEmpty, "\(refused)")
                try alice.type("half a thought")
                let store = try LocalStore.open(network.folder.path("data/parley/stores/alice@local.sqlite"))
                try await eventually("the draft in the local store") {
                    try await store.desk().drafts["chat.lobby"] == "half a thought"
                }
                try await store.close()

                alice.signal(signal)
                #expect(try await alice.waitForExit() == .signalled(signal))
                kill(before.hostPid, SIGCONT)
                try await eventually("the next server") {
                    network.description.map { $0.serverPid != before.serverPid } ?? false
                }
                let again = try await network.connected("alice", columns: 120)
                try await again.waitFor("the lines as sent, and the rest as it was") { screen in
                    lines.allSatisfy { Self.has($0, marked: "✓", screen) } && screen.contains("⇅ 0")
                        && screen.main(row: 1).contains("chat.lobby") && Self.isUnread(screen)
                        && screen.contains("> half a thought")
                        // What was seen is not unread again.
                        && screen.rows[0].contains("# 1") && screen.contains("seen before")
                        && !screen.contains("── new ─")
                }
                #expect(try await network.texts(on: "chat.lobby") == ["seen before"] + lines)
                try again.press(.ctrl("n"))
                try await again.waitFor("the new line") {
                    $0.main(row: 1).contains("chat.qa") && $0.contains("── new ─") && $0.count(of: "for later") == 1
                }
                try await eventually("an empty outbox") {
                    try await network.objects("outbox", "list", "--as", "alice", "--json").isEmpty
                }
            }
        }

        @Test(
            "B8 B32 With reconnect: relayx, what waits when the session ends is kept as not sent: /unsent lists it, r, x; then 69"
        )
        func givenUp() async throws {
            try await PrivateNetworkFixture.run { network in
                let silent = try SilentPort()
                let file = try network.folder.write(
                    """
                    { profiles: { default: {
                        servers: ["\(silent.url)"], user: "alice", namespace: "n", hash: "h", reconnect: "relayx",
                        connectTimeout: 20,
                    } } }
                    """, to: "relayx.json5")
                let alice = try network.terminal(["chat", "chat.lobby", "--config", file], columns: 120)
                try await alice.waitFor("the chat") { $0.contains("chat.lobby") }
                for line in ["first thought", "second thought"] {
                    try alice.type(line)
                    try alice.press(.enter)
                    try await alice.waitFor("the line") { $0.contains(line) }
                }
                try await alice.waitFor(text: "2 messages are not sent yet. Quit anyway?")
                try alice.type("n")
                try await alice.waitFor("the end of the session, and the lines as not sent") { screen in
                    screen.contains("✕ DISCONNECTED") && screen.contains("No connection within 20 seconds")
                        && ["first thought", "second thought"].allSatisfy { Self.has($0, marked: "✗", screen) }
                        && screen.contains("⇅ 0")
                }
                try alice.type("/unsent")
                try alice.press(.enter)
                // The reason takes another line.
                try await alice.waitFor("the list") { screen in
                    screen.contains("Unsent lines of chat.lobby")
                        && ["first", "second"].allSatisfy { screen.contains("\($0) thought (not sent: No connection") }
                }
                try alice.press(.escape)
                try await alice.waitFor("the lines again") { !$0.contains("Unsent lines of chat.lobby") }
                try alice.press(.backTab)
                try await alice.waitFor(text: "r send again  x drop")
                try alice.type("x")
                try await alice.waitFor("one line less") { !$0.contains("first thought") }
                try alice.type("r")
                try await alice.waitFor("the line that waits again") { Self.has("second thought", marked: "…", $0) }
                try alice.press(.ctrl("q"))
                try await alice.waitFor(text: "1 message is not sent yet. Quit anyway?")
                try alice.type("y")
                #expect(try await alice.waitForExit() == .exited(69))
            }
        }

        @Test("B32 What was not sent is on the screen at the next start: r sends it again, x drops it, and both last")
        func keys() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.objects("network", "start", "--json")
                let reason = "The session ended."
                try await Self.leave(
                    [("1", "unsent one", reason), ("2", "unsent two", reason), ("3", "unsent three", reason)],
                    in: network)
                let alice = try await network.connected("alice", columns: 120)
                try await alice.waitFor("the unsent lines") { screen in
                    ["unsent one", "unsent two", "unsent three"].allSatisfy { Self.has($0, marked: "✗", screen) }
                        && screen.contains("not sent: The session ended.")
                }
                try alice.press(.backTab)
                try await alice.waitFor(text: "r sends it again, x drops it")
                try alice.type("r")
                try await alice.waitFor("the tick") { Self.has("unsent one", marked: "✓", $0) }
                try alice.type("x")
                try await alice.waitFor("one line less") { !$0.contains("unsent two") }
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit() == .exited(0))

                let again = try await network.connected("alice", columns: 120)
                let screen = try await again.waitFor("what is left") {
                    Self.has("unsent one", marked: "✓", $0) && Self.has("unsent three", marked: "✗", $0)
                }
                #expect(!screen.contains("unsent two"))
                #expect(try await network.texts(on: "chat.lobby") == ["unsent one"])
                let listed = try await network.objects("outbox", "list", "--as", "alice", "--json")
                #expect(listed.map { $0["id"].string } == ["3"])
                try again.type("/discard")
                try again.press(.enter)
                try await again.waitFor("no unsent line") { !$0.contains("unsent three") }
                try await eventually("an empty outbox") {
                    try await network.objects("outbox", "list", "--as", "alice", "--json").isEmpty
                }
            }
        }

        @Test(
            "B32 B56 parley outbox lists without a network, sends what is named and then the rest, and drops",
            arguments: NATSServerProcess.binaries)
        func commands(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let none = try await network.parley("outbox", "list", "--as", "alice", "--json")
                #expect(none.exitCode == 0 && none.output.isEmpty, "\(none)")
                #expect(none.diagnostics.contains("no local store yet"), "\(none)")
                try await Self.leave(
                    [
                        ("a", "was \u{1B}[2Jrefused", "It may not be sent."), ("b", "waits", nil),
                        ("c", "waits too", nil), ("d", "is a mistake", "The session ended."),
                    ], in: network)
                let listed = try await network.objects("outbox", "list", "--as", "alice", "--json")
                #expect(listed.map { $0["id"].string } == ["a", "b", "c", "d"])
                #expect(listed.map { $0["state"].string } == ["notSent", "queued", "queued", "notSent"])
                #expect(listed[1]["topic"].string == "chat.lobby" && listed[1]["text"].string == "waits")
                #expect(listed[1]["since"].string == "2026-11-20T00:00:00.000Z" && listed[1]["held"].bool == false)
                #expect(listed[0]["reason"].string == "It may not be sent.")
                let people = try await network.parley("outbox", "list", "--as", "alice")
                #expect(people.exitCode == 0 && people.lines.count == 4, "\(people)")
                #expect(people.output.contains("(waits)") && !people.output.contains("\u{1B}"), "\(people)")

                let unknown = try await network.parley("outbox", "send", "a", "nobody", "--as", "alice")
                #expect(
                    unknown.exitCode == 65 && unknown.diagnostics.contains("no unsent message nobody"), "\(unknown)")
                #expect(try await network.parley("outbox", "drop", "--as", "alice").exitCode == 64)
                let dropped = try await network.objects("outbox", "drop", "d", "--as", "alice", "--json")
                #expect(dropped.map { $0["id"].string } == ["d"] && dropped[0]["state"].string == "dropped")
                // None of this has asked for a network.
                #expect(network.description == nil)

                let one = try await network.objects("outbox", "send", "c", "--as", "alice", "--json")
                #expect(one.map { $0["id"].string } == ["c"] && one[0]["state"].string == "sent")
                #expect(one[0]["seq"].int == 1)
                #expect(try await network.texts(on: "chat.lobby") == ["waits too"])
                let rest = try await network.objects("outbox", "send", "--as", "alice", "--json")
                #expect(rest.map { $0["id"].string } == ["a", "b"])
                #expect(rest.allSatisfy { $0["state"].string == "sent" && $0["reason"].isNull })
                #expect(try await network.texts(on: "chat.lobby").count == 3)
                #expect(try await network.objects("outbox", "list", "--as", "alice", "--json").isEmpty)
                let nothing = try await network.parley("outbox", "send", "--as", "alice")
                #expect(nothing.exitCode == 0 && nothing.output.isEmpty, "\(nothing)")
            }
        }
    }
}
