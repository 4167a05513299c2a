import Foundation
import GRDB
import Platform
import Relay
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("Troubles of the local store, in the chat")
    struct StoreTroubles {
        private static let failure = "The local store failed: "
        private static let recovery = "The local store keeps what comes again."

        /// A folder with alice's files, on a machine that reaches no server.
        private struct Machine {
            let folder: TemporaryDirectory
            private let configuration: String

            init() throws {
                folder = try TemporaryDirectory("e2e")
                let profile = "servers: ['nats://127.0.0.1:1'], user: 'alice', namespace: 'n', hash: 'h'"
                configuration = try folder.write("{ profiles: { default: { \(profile) } } }", to: "config.json")
            }

            /// Alice's local store.
            var path: String { folder.path("data/parley/stores/alice@127.0.0.1-1.sqlite") }

            /// The mount that makes the folder of her stores read-only, for what runs behind it alone.
            static let readOnly = [
                "-rm", "sh", "-c",
                #"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@""#, "sh",
            ]

            /// Alice's chat, or another command of hers, which shows long sentences whole.
            func chat(_ words: [String] = [], isReadOnly: Bool = false) throws -> PseudoTerminal {
                let chat = [try BuiltProduct.url("parley").path] + words + ["--config", configuration]
                let stores = folder.path("data/parley/stores")
                return try PseudoTerminal(
                    isReadOnly ? "unshare" : chat[0],
                    isReadOnly ? Self.readOnly + [stores] + chat : Array(chat.dropFirst()),
                    environment: [
                        "XDG_DATA_HOME": folder.path("data"), "XDG_STATE_HOME": folder.path("state"),
                        "XDG_CONFIG_HOME": folder.path("config"), "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no",
                    ], rows: 60, columns: 240)
            }
        }

        private static func say(_ text: String, marked mark: String, _ chat: PseudoTerminal) async throws {
            try chat.type(text)
            try chat.press(.enter)
            try await chat.waitFor("“\(text)” with \(mark)") { screen in
                screen.rows.contains { $0.contains(text) && $0.hasSuffix(mark) }
            }
        }

        private static func join(_ topic: String, _ chat: PseudoTerminal) async throws {
            try chat.type("/join \(topic)")
            try chat.press(.enter)
            try await chat.waitFor("\(topic)") { $0.main(row: 1).contains(topic) }
        }

        /// The log has the trouble and its end, each once.
        private static func checkLog(_ chat: PseudoTerminal) async throws {
            try chat.press(.f(8))
            let log = try await chat.waitFor("the log") {
                $0.main(row: 1).contains("connection log") && $0.rows.dropLast(2).contains { $0.contains(recovery) }
            }
            // The bottom line may still say it too.
            #expect(log.rows.dropLast(2).count { $0.contains(failure) } == 1, "\(log)")
            #expect(log.rows.dropLast(2).count { $0.contains(recovery) } == 1, "\(log)")
            try chat.press(.f(8))
            try await chat.waitFor("the conversation") { !$0.main(row: 1).contains("connection log") }
        }

        @Test("B9 Of a store that was cut off the chat says how much could be read, and shows what was typed")
        func cutOff() async throws {
            let machine = try Machine()
            let stream = StreamIdentity(name: "n_stream", incarnation: 1)
            let messages = (1...600).map { number in
                KeptMessage(
                    place: KeptPlace(stream: stream, sequence: UInt64(number)), topic: "chat.lobby",
                    time: Timestamp(milliseconds: 0), payload: [UInt8](repeating: 0x20, count: 300))
            }
            let store = try LocalStore.open(machine.path)
            try await store.commit([.join("chat.lobby"), .draft(conversation: "chat.lobby", "half a thought")])
            await store.append(messages, [.cursor("chat.lobby", KeptPlace(stream: stream, sequence: 600))])
            try await store.close()
            for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: machine.path + ending) }
            let whole = try Data(contentsOf: URL(fileURLWithPath: machine.path))
            try Data(whole.prefix(whole.count * 7 / 10 / 4_096 * 4_096)).write(
                to: URL(fileURLWithPath: machine.path))

            let alice = try machine.chat()
            defer { alice.close() }
            let words =
                "The local store was damaged or of another version. 3 entries of it could be read into a new one; it is "
                + "put aside as alice@127.0.0.1-1.sqlite.damaged-"
            try await alice.waitFor(text: "half a thought")
            try alice.press(.f(8))
            try await alice.waitFor("the log") {
                $0.main(row: 1).contains("connection log") && $0.rows.dropLast(2).contains { $0.contains(words) }
            }
        }

        @Test("B9 B32 What is done while another program has the store locked is told once, and kept when it lets go")
        func locked() async throws {
            let machine = try Machine()
            let alice = try machine.chat()
            defer { alice.close() }
            try await alice.waitFor("the first topic") { $0.main(row: 1).contains("chat.lobby") }
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            // Alice may be writing when the store is to be locked.
            configuration.busyMode = .timeout(60)
            try await eventually("the local store") { FileManager.default.fileExists(atPath: machine.path) }
            let other = try DatabaseQueue(path: machine.path, configuration: configuration)
            func count(_ table: String) async throws -> Int? {
                try await other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") }
            }
            try await eventually("the topic in the local store") { try await count("joined") == 1 }

            try await other.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
            try await Self.say("said meanwhile", marked: "…", alice)
            try await alice.waitFor(text: "another program keeps it locked; wait for it or end it")
            try await Self.join("chat.qa", alice)
            try await Self.join("chat.ops", alice)
            try alice.type("half a thought")
            try await alice.waitFor(text: "half a thought")
            try await other.writeWithoutTransaction { try $0.rollback() }
            try await alice.waitFor(text: Self.recovery)
            try await eventually("all that was done meanwhile") {
                let (joined, outbox, lines) = try await (count("joined"), count("outbox"), count("lines"))
                let draft = try await other.read {
                    try String.fetchOne($0, sql: "SELECT text FROM drafts WHERE conversation = 'chat.ops'")
                }
                return joined == 3 && outbox == 1 && lines == 3 && draft == "half a thought"
            }
            try other.close()
            try await Self.checkLog(alice)
            alice.signal(SIGKILL)
            #expect(try await alice.waitForExit() == .signalled(SIGKILL))

            let again = try machine.chat()
            defer { again.close() }
            let screen = try await again.waitFor("all that was done meanwhile") { screen in
                screen.main(row: 1).contains("chat.ops") && screen.contains("half a thought")
                    && screen.contains("chat.qa") && screen.contains("⇅ 1")
            }
            #expect(!screen.contains(Self.failure))
            try again.press(.alt("1"))
            try await again.waitFor("the line that waits") { screen in
                screen.rows.contains { $0.contains("said meanwhile") && $0.hasSuffix("…") }
            }
        }
    }
}

#if os(Linux)
    extension EndToEndTests.StoreTroubles {
        @Test(
            "B9 On a read-only disk the chat shows and searches what its store has, and says once that nothing is kept",
            .enabled(if: Probe.canMount, "\(Probe.missing)"))
        func readOnlyDisk() async throws {
            let machine = try Machine()
            let stream = StreamIdentity(name: "n_stream", incarnation: 1)
            let messages = (1...20).map { number in
                let time = Timestamp(milliseconds: Int64(number) * 1_000)
                let line = ChatLine(username: "bob", text: "line number \(number)", timestamp: time)
                let envelope = Envelope(id: "id-\(number)", room: "chat.lobby", message: line.value, start: time)
                return KeptMessage(
                    place: KeptPlace(stream: stream, sequence: UInt64(number)), topic: "chat.lobby", id: envelope.id,
                    from: "bob", time: time, payload: envelope.encoded())
            }
            let store = try LocalStore.open(machine.path)
            try await store.commit([.join("chat.lobby")])
            await store.append(
                messages,
                [
                    .received("chat.lobby", stream, 1...20),
                    .cursor("chat.lobby", KeptPlace(stream: stream, sequence: 20)),
                ])
            try await store.close()
            let before = try Data(contentsOf: URL(fileURLWithPath: machine.path))

            let alice = try machine.chat(isReadOnly: true)
            defer { alice.close() }
            try await alice.waitFor(text: "line number 20")
            try alice.type("/search number 7")
            try alice.press(.enter)
            try await alice.waitFor("what was found") { screen in
                screen.contains("search: number 7 ─ 1 found")
                    && screen.rows.contains { $0.contains("▌") && $0.contains("line number 7") }
            }
            try alice.press(.escape)
            try await alice.waitFor(text: "line number 20")
            try alice.press(.f(8))
            let words = "may not be written: its history can be read"
            let log = try await alice.waitFor("the log") {
                $0.main(row: 1).contains("connection log") && $0.rows.dropLast(2).contains { $0.contains(words) }
            }
            #expect(log.rows.dropLast(2).count { $0.contains("may not be written") } == 1, "\(log)")
            #expect(!log.contains(Self.failure))
            #expect(try Data(contentsOf: URL(fileURLWithPath: machine.path)) == before)

            let doctor = try machine.chat(["doctor"], isReadOnly: true)
            defer { doctor.close() }
            try await doctor.waitFor("what the doctor finds") {
                $0.contains("local store") && $0.contains("\(words), and nothing new is kept")
            }
        }

        @Test(
            "B9 On a disk that is full the chat says so once and goes on online; what waited is kept when there is room",
            .enabled(if: Probe.canMount, "\(Probe.missing)"))
        func fullDisk() async throws {
            try await PrivateNetworkFixture.run { network in
                let server = try await network.started()
                let creds = network.folder.path("alice.creds")
                _ = try await network.objects("network", "user", "add", "alice", "--out", creds, "--json")
                // A small file system for her stores alone, which nobody else sees.
                let stores = network.folder.path("data/parley/stores")
                try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: true)
                let mount = [
                    "-rm", "sh", "-c", #"mount -t tmpfs -o size=16m,mode=700 tmpfs "$1" && shift && exec "$@""#,
                ]
                let alice = try PseudoTerminal(
                    "unshare",
                    mount + ["sh", stores, try BuiltProduct.url("parley").path, "--server", server, "--creds", creds],
                    environment: network.environment, rows: 60, columns: 240)
                defer { alice.close() }
                try await alice.waitFor("the live topic") {
                    $0.contains("● CONNECTED") && $0.main(row: 1).contains("chat.lobby") && !$0.contains("joining …")
                }

                let ballast = "/proc/\(alice.processID)/root\(stores)/ballast"
                let descriptor = open(ballast, O_WRONLY | O_CREAT, 0o600)
                try #require(descriptor >= 0)
                let block = [UInt8](repeating: 0xFF, count: 16_384)
                while block.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }) > 0 {}
                close(descriptor)
                // More than the store can put where it has written before.
                let lines = (1...200).map { "line \($0) " + String(repeating: "x", count: 9_000) }
                let sent = try await network.parley(
                    "send", "chat.lobby", "--as", "bob", "--lines", input: lines.joined(separator: "\n"))
                #expect(sent.status.isSuccess, "\(sent)")
                try await alice.waitFor("word of the disk") {
                    $0.contains(Self.failure) && $0.contains("the disk is full; make room")
                }
                try await Self.say("said on a full disk", marked: "✓", alice)
                #expect(alice.screen.contains("● CONNECTED"))

                try FileManager.default.removeItem(atPath: ballast)
                try await alice.waitFor(text: Self.recovery, deadline: .seconds(120))
                try await Self.checkLog(alice)
            }
        }
    }
#endif
