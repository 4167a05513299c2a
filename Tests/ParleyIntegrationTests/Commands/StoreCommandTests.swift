import Foundation
import Relay
import TestSupport
import Testing

/// A folder with a user's local store, and the built program over it.
private struct StoreCommands: Sendable {
    let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory("commands") }

    var path: String { folder.path("data/parley/stores/alice@local.sqlite") }

    func parley(_ words: String...) async throws -> ChildProcess.Result { try await parley(words) }

    func parley(_ words: [String]) async throws -> ChildProcess.Result {
        try await ChildProcess.run(
            try BuiltProduct.url("parley").path, words + ["--as", "alice"],
            environment: [
                "XDG_DATA_HOME": folder.path("data"), "XDG_CONFIG_HOME": folder.path("config"),
                "XDG_STATE_HOME": folder.path("state"), "TZ": "UTC", "SWIFT_BACKTRACE": "enable=no",
            ])
    }

    /// Keeps messages, the first with the number 1, as the chat would.
    func keep(_ messages: [KeptMessage], _ changes: [StoreChange] = []) async throws {
        let store = try LocalStore.open(path)
        await store.append(messages)
        try await store.flush()
        try await store.commit(changes)
        try await store.close()
    }

    static func line(
        _ sequence: UInt64, _ text: String, topic: String = "chat.qa", from: String = "bob", day: String = "2026-11-20"
    ) throws -> KeptMessage {
        let time = try #require(Timestamp(iso8601: day))
        let envelope = Envelope(
            id: "id-\(sequence)", room: topic,
            message: ChatLine(username: from, text: text, timestamp: time).value, start: time)
        return KeptMessage(
            place: KeptPlace(stream: StreamIdentity(name: "stream", incarnation: 1), sequence: sequence), topic: topic,
            id: envelope.id, from: from, time: time, payload: envelope.encoded())
    }

    /// Three messages of two topics.
    func fill() async throws {
        try await keep([
            try Self.line(1, "the build fails", day: "2026-11-18"),
            try Self.line(2, "it builds \u{1B}[2J again", from: "carol", day: "2026-11-19"),
            try Self.line(3, "a build of mine", topic: "chat.dev", from: "carol"),
        ])
    }

    func status() async throws -> JSONLine {
        let result = try await parley("store", "status", "--json")
        #expect(result.exitCode == 0, "\(result)")
        return try JSONLine(result.output)
    }
}

@Suite("Commands over the local store", .realProcesses)
struct StoreCommandTests {
    @Test("Without a store every command has an empty answer, and makes neither a store nor a network")
    func none() async throws {
        let store = try StoreCommands()
        let status = try await store.status()
        #expect(status.keys == ["path", "bytes", "messages", "topics", "oldest", "outbox"])
        #expect(status["path"].string == store.path && status["bytes"].int == 0 && status["messages"].int == 0)
        #expect(status["topics"].int == 0 && status["oldest"].isNull && status["outbox"].int == 0)
        let people = try await store.parley("store", "status")
        #expect(people.exitCode == 0 && people.output.contains("no local store yet"), "\(people)")
        for words in [["store", "export", "chat.qa"], ["search", "build"]] {
            let result = try await store.parley(words[0], words[1], words.last ?? "")
            #expect(result.exitCode == 0 && result.output.isEmpty, "\(result)")
            #expect(result.diagnostics.contains("no local store yet"), "\(result)")
        }
        let forgotten = try await store.parley("store", "forget", "chat.qa", "--json")
        #expect(forgotten.exitCode == 0, "\(forgotten)")
        #expect(try JSONLine(forgotten.output)["forgotten"].int == 0)
        let compacted = try await store.parley("store", "compact", "--json")
        #expect(compacted.exitCode == 0, "\(compacted)")
        #expect(try JSONLine(compacted.output)["freed"].int == 0)
        #expect(!FileManager.default.fileExists(atPath: store.folder.path("data")))
    }

    @Test("The status counts, the export has the keys of tail, and forgetting says how much it was")
    func statusExportForget() async throws {
        let store = try StoreCommands()
        try await store.fill()
        let status = try await store.status()
        #expect(status["messages"].int == 3 && status["topics"].int == 2 && (status["bytes"].int ?? 0) > 0)
        #expect(status["oldest"].string == "2026-11-18T00:00:00.000Z")

        let exported = try await store.parley("store", "export", "chat.*")
        #expect(exported.exitCode == 0, "\(exported)")
        let lines = try exported.lines.map { try JSONLine($0) }
        #expect(lines.map { $0["seq"].int } == [1, 2, 3])
        #expect(lines.first?.keys == ["seq", "topic", "id", "from", "text", "message", "time", "recovered"])
        #expect(lines.first?["message"]["text"].string == "the build fails" && lines.first?["from"].string == "bob")
        let nothing = try await store.parley("store", "export", "chat.none")
        #expect(nothing.exitCode == 0 && nothing.output.isEmpty && !nothing.diagnostics.isEmpty, "\(nothing)")

        let forgotten = try await store.parley("store", "forget", "chat.qa")
        #expect(forgotten.exitCode == 0 && forgotten.output == "2 messages of chat.qa forgotten\n", "\(forgotten)")
        #expect(try await store.status()["messages"].int == 1)
        let wrong = try await store.parley("store", "forget", "chat..qa")
        #expect(wrong.exitCode == 65 && wrong.output.isEmpty, "\(wrong)")
    }

    @Test("Compacting keeps what the configuration says, and says how much smaller the file is")
    func compact() async throws {
        let store = try StoreCommands()
        let long = String(repeating: "a long message ", count: 40)
        let old = try (1...1_000).map { try StoreCommands.line(UInt64($0), long, day: "2020-01-01") }
        let kept = try StoreCommands.line(2_000, "kept", topic: "chat.dev", day: "2020-01-01")
        try await store.keep(old + [kept])
        let config = store.folder.path("config.json")
        try store.folder.write("{ retention: { topics: [{ topic: 'chat.qa', age: '30d' }] } }", to: "config.json")
        let full = try await store.status()
        let before = try #require(full["bytes"].int)
        let result = try await store.parley("store", "compact", "--json", "--config", config)
        #expect(result.exitCode == 0, "\(result)")
        let line = try JSONLine(result.output)
        let (freed, bytes) = (line["freed"].int ?? 0, line["bytes"].int ?? 0)
        #expect(line["deleted"].int == 1_000 && freed > 100_000 && bytes < before - 100_000, "\(line)")
        #expect(try await store.status()["messages"].int == 1)
        let again = try await store.parley("store", "compact", "--config", config)
        #expect(again.exitCode == 0 && again.output.hasPrefix("0 messages deleted\nthe file shrank by "), "\(again)")

        try store.folder.write("{ retention: { topics: [{ topic: 'chat.qa', age: 'soon' }] } }", to: "config.json")
        let mistaken = try await store.parley("store", "compact", "--config", config)
        #expect(mistaken.exitCode == 78 && mistaken.diagnostics.contains("retention.topics.0.age"), "\(mistaken)")
    }

    @Test("A search prints what it finds, the newest first, as tail does and with what was found")
    func search() async throws {
        let store = try StoreCommands()
        try await store.fill()
        let time = try #require(Timestamp(iso8601: "2026-11-17"))
        let letter = KeptLetter(
            direction: .received, id: "l-1", person: "dave", postbox: "personal", time: time, text: "Build a house")
        try await store.keep([], [.letter(letter)])

        let found = try await store.parley("search", "build", "--json")
        #expect(found.exitCode == 0, "\(found)")
        let lines = try found.lines.map { try JSONLine($0) }
        #expect(lines.map { $0["id"].string } == ["id-3", "id-2", "id-1", "l-1"])
        #expect(lines.map { $0["match"].string } == ["build", "builds", "build", "Build"])
        #expect(lines[0].keys == ["seq", "topic", "id", "from", "text", "message", "time", "recovered", "match"])
        #expect(lines[3]["seq"].isNull && lines[3]["from"].string == "dave" && lines[3]["postbox"].string == "personal")

        let people = try await store.parley("search", "builds", "from:carol")
        #expect(people.exitCode == 0 && people.lines.count == 1, "\(people)")
        #expect(people.output.hasPrefix("2026-11-19T00:00:00.000Z  chat.qa  carol: it builds "), "\(people)")
        #expect(!people.output.contains("\u{1B}"))
        let here = try await store.parley("search", "build", "--in", "chat.dev", "--json")
        #expect(here.lines.count == 1, "\(here)")
        let newest = try await store.parley("search", "build", "--limit", "1", "--json")
        #expect(newest.lines.count == 1 && newest.diagnostics.contains("there may be more"), "\(newest)")
        let early = try await store.parley("search", "before:2026-11-19", "build", "in:chat.>", "--json")
        #expect(early.lines.count == 1, "\(early)")
        let none = try await store.parley("search", "unheard")
        #expect(none.exitCode == 0 && none.output.isEmpty && none.diagnostics.contains("nothing was found"), "\(none)")
        let empty = try await store.parley("search", "...")
        #expect(empty.exitCode == 64, "\(empty)")
    }

    @Test("A mistyped command joins no topic; a topic that the user has, or that chat names, is joined")
    func mistyped() async throws {
        let store = try StoreCommands()
        let refused = try await store.parley("lits")
        #expect(refused.exitCode == 64 && refused.diagnostics.contains("Did you mean parley inbox list"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: store.path))
        try await store.keep([], [.join("lits")])
        // There is no terminal here, which is the next thing that the chat finds.
        for words in [["lits"], ["chat", "chta"]] {
            let chat = try await store.parley(words)
            #expect(chat.exitCode == 78, "\(chat)")
        }
        #expect(try await store.parley("chta").exitCode == 64)
    }

    #if os(Linux)
        @Test("Output that cannot be written is told, with its exit status")
        func fullOutput() async throws {
            let store = try StoreCommands()
            let result = try await ChildProcess.run(
                "/bin/sh", ["-c", "\"$0\" store status --as alice >/dev/full", try BuiltProduct.url("parley").path],
                environment: [
                    "XDG_DATA_HOME": store.folder.path("data"), "XDG_CONFIG_HOME": store.folder.path("config"),
                ])
            #expect(result.exitCode == 73, "\(result)")
            #expect(result.diagnostics.hasPrefix("parley: standard output cannot be written: "), "\(result)")
        }
    #endif

    @Test("A damaged store is put aside and said to be, once; one that cannot be opened is left alone")
    func trouble() async throws {
        let store = try StoreCommands()
        let stores = store.folder.path("data/parley/stores")
        try FileManager.default.createDirectory(atPath: stores, withIntermediateDirectories: true)
        try store.folder.write("this is no database at all", to: "data/parley/stores/alice@local.sqlite")
        let damaged = try await store.parley("store", "export", ">")
        #expect(damaged.exitCode == 65 && damaged.output.isEmpty, "\(damaged)")
        #expect(damaged.diagnostics.contains(".damaged-"), "\(damaged)")
        #expect(try await store.status()["messages"].int == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: stores)
        #expect(names.contains { $0.hasPrefix("alice@local.sqlite.damaged-") }, "\(names)")

        for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.path + ending) }
        try FileManager.default.createDirectory(atPath: store.path, withIntermediateDirectories: false)
        for words in [["store", "status"], ["search", "build"]] {
            let closed = try await store.parley(words[0], words[1])
            #expect(closed.exitCode == 73 && closed.output.isEmpty, "\(closed)")
            #expect(closed.diagnostics.contains("The local store failed: \(store.path)"), "\(closed)")
        }
    }
}
