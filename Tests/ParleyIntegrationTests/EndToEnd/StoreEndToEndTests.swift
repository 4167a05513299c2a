import Foundation
import GRDB
import Platform
import Relay
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("What the chat keeps on this machine")
    struct Kept {
        @Test(
            "B9 B38 A chat that starts while its network is down shows all that is kept, and each once when it is back",
            arguments: NATSServerProcess.binaries)
        func offlineStart(_ binary: NATSServerBinary) async throws {
            try await PrivateNetworkFixture.run(binary) { network in
                let server = try await network.started()
                let file = network.folder.path("alice.creds")
                _ = try await network.objects("network", "user", "add", "alice", "--out", file, "--json")
                let address = ["--server", server, "--creds", file]
                // Before she is there for the first time.
                _ = try await network.objects("postbox", "list", "--creds", file, "--server", server, "--json")
                let asked = try await network.parley("send", "--as", "bob", "chat.qa", "asked long ago")
                let posted = try await network.parley("inbox", "post", "--as", "bob", "alice/personal", "a letter")
                #expect(asked.exitCode == 0 && posted.exitCode == 0, "\(asked) \(posted)")

                let alice = try network.terminal(address, columns: 120)
                try await alice.waitFor("the live topic", deadline: .seconds(60)) {
                    $0.contains("● CONNECTED") && $0.contains("chat.lobby") && !$0.contains("joining …")
                }
                try alice.type("said before")
                try alice.press(.enter)
                try await alice.waitFor("the tick") { screen in
                    screen.rows.contains { $0.contains("said before") && $0.hasSuffix("✓") }
                }
                let sent = try await network.parley("send", "--as", "bob", "chat.lobby", "heard before")
                #expect(sent.exitCode == 0, "\(sent)")
                try await alice.waitFor(text: "heard before")
                try alice.type("/join chat.qa")
                try alice.press(.enter)
                try await alice.waitFor("the other topic") {
                    $0.main(row: 1).contains("chat.qa") && $0.contains("asked long ago") && $0.contains("✉ 2")
                }
                try alice.type("half a thought")
                try await alice.waitFor(text: "half a thought")
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))

                let stopped = try await network.parley("network", "stop", "--force")
                #expect(stopped.status.isSuccess, "\(stopped)")
                let spoken = try network.start("--plain", "--server", server, "--creds", file)
                try await eventually("what is kept, without a screen", deadline: .seconds(60)) {
                    spoken.output.contains("There is no connection yet.")
                        && spoken.output.contains("The last 1 message:\n") && spoken.output.contains("asked long ago\n")
                }
                spoken.closeInput()
                #expect(try await spoken.waitForExit(deadline: .seconds(60)).status == .exited(0), "\(spoken.output)")
                let again = try network.terminal(address, columns: 120)
                // Nothing came over its subscription, and the inbox was never open.
                let other = try await again.waitFor("what was typed", deadline: .seconds(60)) {
                    $0.contains("half a thought") && $0.contains("asked long ago") && $0.contains("✉ 2")
                }
                #expect(other.main(row: 1).contains("chat.qa ─ offline, as of "))
                try again.press(.ctrl("p"))
                let screen = try await again.waitFor("what was said", deadline: .seconds(60)) {
                    $0.contains("said before") && $0.contains("heard before") && $0.contains("offline, as of ")
                }
                #expect(screen.count(of: "said before") == 1 && screen.count(of: "heard before") == 1)
                #expect(!screen.contains("● CONNECTED"))
                try again.press(.f(3))
                try await again.waitFor("the letter") {
                    $0.main(row: 1).contains("offline, as of ") && $0.contains("a letter")
                }
                try again.press(.escape)
                // Esc and what follows at once would be one key.
                try await again.waitFor("the cursor in the text") { $0.cursorRow == 22 }
                try again.type("/join chat.none")
                try again.press(.enter)
                try await again.waitFor(text: "Nothing of this topic is on this machine.", deadline: .seconds(60))

                #expect(try await network.started() == server)
                let missed = try await network.parley("send", "--as", "bob", "chat.qa", "missed meanwhile")
                #expect(missed.exitCode == 0, "\(missed)")
                try await again.waitFor("what came out of view, counted", deadline: .seconds(60)) { screen in
                    screen.contains("Nothing here yet. Say hello.")
                        && screen.rows.contains { $0.hasPrefix(" chat.qa ") && $0.contains(" 1 │") }
                }
                try again.press(.ctrl("p"))
                let filled = try await again.waitFor("what was missed", deadline: .seconds(60)) {
                    $0.main(row: 1).contains("chat.qa") && $0.contains("missed meanwhile") && $0.contains("● CONNECTED")
                }
                for text in ["asked long ago", "missed meanwhile", "half a thought"] {
                    #expect(filled.count(of: text) == 1)
                }
                #expect(filled.contains("── new ─"))
                try again.press(.ctrl("q"))
                #expect(try await again.waitForExit(deadline: .seconds(60)) == .exited(0))
            }
        }

        /// A chat that goes to a topic of its own.
        private static func join(_ topic: String, _ chat: PseudoTerminal) async throws {
            try chat.type("/join \(topic)")
            try chat.press(.enter)
            try await chat.waitFor("\(topic), live", deadline: .seconds(60)) {
                $0.main(row: 1).contains(topic) && !$0.contains("joining …")
            }
        }

        private static func say(_ text: String, marked mark: String, _ chat: PseudoTerminal) async throws {
            try chat.type(text)
            try chat.press(.enter)
            try await chat.waitFor("“\(text)” with \(mark)", deadline: .seconds(60)) { screen in
                screen.rows.contains { $0.contains(text) && $0.hasSuffix(mark) }
            }
        }

        @Test(
            "What was typed is kept though the disk is slow, the window is closed, and its end is told again",
            arguments: [Ending.closedWindow, .quitThenClosedWindow, .signal])
        func slowDisk(_ ending: Ending) async throws {
            try await PrivateNetworkFixture.run { network in
                let alice = try await network.connected("alice", columns: 120)
                var configuration = Configuration()
                configuration.allowsUnsafeTransactions = true
                // Alice may be writing when the store is to be locked.
                configuration.busyMode = .timeout(60)
                let other = try DatabaseQueue(
                    path: network.folder.path("data/parley/stores/alice@local.sqlite"), configuration: configuration)
                try await eventually("the topic in the local store") {
                    try await other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM joined") } == 1
                }
                try await other.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
                try alice.type("half a thought")
                try await alice.waitFor(text: "half a thought")
                switch ending {
                case .closedWindow: alice.hangUp()
                case .quitThenClosedWindow:
                    try alice.press(.ctrl("q"))
                    try await alice.waitFor("a screen that is left") { _ in !alice.modes.isAlternateScreen }
                    alice.hangUp()
                case .signal: alice.signal(SIGTERM)
                }
                let waited = try await Self.unlock(other, under: alice, tellsAgain: ending != .signal)
                #expect(waited, "It waits for the store.")
                try other.close()
                try await alice.waitForExit(deadline: .seconds(60))
                let again = try network.open("alice", columns: 120)
                try await again.waitFor("what was typed", deadline: .seconds(60)) { $0.contains("half a thought") }
            }
        }

        /// Tells a chat its end again where that is asked for, and lets go of its store a moment later: by the clock,
        /// since the chat waits for its store for some seconds, in which a busy machine may give this task no turn.
        ///
        /// - Returns: whether the chat still ran then.
        private static func unlock(
            _ store: DatabaseQueue, under chat: PseudoTerminal, tellsAgain: Bool
        ) async throws -> Bool {
            let queue = DispatchQueue(label: "slow disk")
            // Longer than the network is waited for, and than a person who asks again needs.
            let (second, end) = (DispatchTime.now() + .milliseconds(2_500), DispatchTime.now() + .milliseconds(3_000))
            return try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Bool, any Error>) in
                queue.asyncAfter(deadline: second) { if tellsAgain { chat.signal(SIGHUP) } }
                queue.asyncAfter(deadline: end) {
                    let isRunning = chat.exitStatus == nil
                    do {
                        try store.writeWithoutTransaction { try $0.rollback() }
                        continuation.resume(returning: isRunning)
                    } catch {
                        continuation.resume(throwing: error)
                    }
                }
            }
        }

        /// How a chat ends.
        enum Ending: CaseIterable, Sendable { case closedWindow, quitThenClosedWindow, signal }

        @Test(
            "B9 B32 B38 Two chats of one user share the store; when one is killed, nothing of either is lost or doubled"
        )
        func twoChats() async throws {
            try await PrivateNetworkFixture.run { network in
                _ = try await network.objects("network", "start", "--json")
                let one = try await network.connected("alice", columns: 120)
                let two = try await network.connected("alice", columns: 120)
                try await Self.join("chat.one", one)
                try await Self.join("chat.two", two)
                try await Self.say("said in one", marked: "✓", one)
                try await Self.say("said in two", marked: "✓", two)
                let heard = (1...5).map { "heard by both \($0)" }
                for text in heard {
                    let sent = try await network.parley("send", "--as", "bob", "chat.lobby", text)
                    #expect(sent.exitCode == 0, "\(sent)")
                }

                let before = try #require(network.description)
                // A host that does not run cannot start the next server.
                try await pause(before.hostPid)
                kill(before.serverPid, SIGKILL)
                for chat in [one, two] {
                    try await chat.waitFor("word of the outage", deadline: .seconds(60)) {
                        $0.contains("↻ RECONNECTING")
                    }
                }
                try await Self.say("waits in one", marked: "…", one)
                try await Self.say("waits in two", marked: "…", two)
                try await eventually("the lines in the local store", deadline: .seconds(60)) {
                    try await network.objects("outbox", "list", "--as", "alice", "--json").count == 2
                }
                two.signal(SIGKILL)
                #expect(try await two.waitForExit(deadline: .seconds(60)) == .signalled(SIGKILL))
                try await Self.say("after the end of the other", marked: "…", one)

                kill(before.hostPid, SIGCONT)
                try await eventually("the next server", deadline: .seconds(60)) {
                    network.description.map { $0.serverPid != before.serverPid } ?? false
                }
                try await one.waitFor("its own lines as sent", deadline: .seconds(60)) { screen in
                    ["waits in one", "after the end of the other"].allSatisfy { text in
                        screen.rows.contains { $0.contains(text) && $0.hasSuffix("✓") }
                    }
                }
                try one.press(.ctrl("q"))
                #expect(try await one.waitForExit(deadline: .seconds(60)) == .exited(0))

                let again = try await network.connected("alice", columns: 120)
                try await again.waitFor("the topics of both", deadline: .seconds(60)) {
                    $0.contains("chat.lobby") && $0.contains("chat.one") && $0.contains("chat.two")
                }
                try await eventually("an empty outbox", deadline: .seconds(60)) {
                    try await network.objects("outbox", "list", "--as", "alice", "--json").isEmpty
                }
                let lines = [
                    "chat.lobby": heard, "chat.one": ["said in one", "waits in one", "after the end of the other"],
                    "chat.two": ["said in two", "waits in two"],
                ]
                for (topic, texts) in lines { #expect(try await network.texts(on: topic) == texts) }
                let path = network.folder.path("data/parley/stores/alice@local.sqlite")
                let store = try LocalStore.open(path)
                #expect(store.opening == .found)
                #expect(try await Set(store.desk().joined) == Set(lines.keys))
                for (topic, texts) in lines {
                    let pattern = try TopicPattern(topic)
                    try await eventually("all of \(topic), once and in order", deadline: .seconds(60)) {
                        try await store.messages(of: pattern, limit: 100).messages.map { $0.message?.text } == texts
                    }
                }
                try await store.close()
                try again.press(.ctrl("q"))
                #expect(try await again.waitForExit(deadline: .seconds(60)) == .exited(0))
            }
        }
    }
}
