import Platform
import Relay

/// A local store with damage, and what the chat and the commands do with it.
enum DamagedStore {
    /// How an input damages the store: each six bytes say where, how, and by which value.
    private static func damage(_ store: [UInt8], by input: [UInt8]) -> [UInt8] {
        var file = store
        let page = 4_096
        for start in stride(from: 0, to: input.count - 5, by: 6) where !file.isEmpty {
            let place = input[start..<start + 4].reduce(0) { $0 << 8 | Int($1) } % file.count
            let first = place / page * page
            let value = input[start + 5]
            switch input[start + 4] % 4 {
            case 0: file[place] = value
            case 1: for index in first..<min(first + page, file.count) { file[index] = value }
            case 2:
                let other = Int(value) * page % file.count / page * page
                let count = min(page, file.count - max(first, other))
                file.replaceSubrange(first..<first + count, with: store[other..<other + count])
            default: file.removeSubrange(place...)
            }
        }
        return file
    }

    /// Opens a damaged store as often as a person would who starts again, and uses it.
    ///
    /// - Throws: ``FuzzTarget/Finding`` where it cannot be used by then.
    static func use(_ input: [UInt8]) async throws(FuzzTarget.Finding) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(RelayClient.newID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("alice.sqlite").path
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let file = damage(try await whole.value, by: input)
            try Data(file).write(to: URL(fileURLWithPath: path))
        } catch { throw FuzzTarget.Finding(words: "no store could be made: \(error)") }
        var failures: [String] = []
        for _ in 1...3 {
            do throws(RelayError) {
                let store = try LocalStore.open(path, clock: SystemTime(), within: .seconds(1))
                failures = await failuresOfUsing(store)
                try? await store.close()
            } catch { failures = [error.words] }
            if failures.isEmpty { return }
        }
        throw FuzzTarget.Finding(words: "at the third start a store cannot be used: \(failures)")
    }

    /// The file of a store that has something of everything.
    private static let whole = Task {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(RelayClient.newID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("alice.sqlite").path
        let store = try LocalStore.open(path)
        let stream = StreamIdentity(name: "N_stream", incarnation: 1_000)
        let time = Timestamp(milliseconds: 5_000)
        let messages = (UInt64(1)...60).map { sequence in
            let line = ChatLine(username: "bob", text: "hello \(sequence)", timestamp: time)
            let envelope = Envelope(id: "id-\(sequence)", room: "chat.lobby", message: line.value, start: time)
            return KeptMessage(
                place: KeptPlace(stream: stream, sequence: sequence), topic: "chat.lobby", id: envelope.id, from: "bob",
                time: time, payload: envelope.encoded())
        }
        let end = KeptPlace(stream: stream, sequence: 60)
        await store.append(messages, [.received("chat.lobby", stream, 1...60), .cursor("chat.lobby", end)])
        try await store.flush()
        try await store.commit(
            (1...20).map { number in
                let message = OutboxMessage(id: "waits-\(number)", topic: "chat.lobby", payload: Array("typed".utf8))
                return .outbox(KeptPublish(message: message, since: time))
            } + [
                .join("chat.lobby"), .readMark("chat.lobby", end), .draft(conversation: "chat.lobby", "half a line"),
                .line(KeptLine("typed")), .ignored("eve", true),
                .letter(
                    KeptLetter(
                        direction: .received, id: "1", person: "carol", postbox: "personal", time: time,
                        text: "a letter")),
            ])
        try await store.compact(.unlimited)
        try await store.close()
        return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    private static func failuresOfUsing(_ store: LocalStore) async -> [String] {
        var failures: [String] = []
        func attempt<Value>(_ work: () async throws -> Value) async {
            do { _ = try await work() } catch { failures.append("\(error)") }
        }
        await attempt { try await store.outbox() }
        await attempt { try await store.desk() }
        await attempt { try await store.cursor(of: "chat.lobby") }
        await attempt { try await store.letterPage(limit: 25, nextToken: nil, postbox: nil, owner: "alice") }
        await attempt { try await store.status() }
        await attempt { try await store.messages(of: TopicPattern("chat.lobby"), limit: 100) }
        await attempt { try await store.search(SearchQuery("hello")) }
        await attempt { try await store.commit([.draft(conversation: "chat.new", "half"), .line(KeptLine("typed"))]) }
        return failures
    }
}
