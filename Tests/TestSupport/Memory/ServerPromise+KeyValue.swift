import NATS
import NIOCore
import Testing

// Key-value buckets.
extension PromiseScene {
    private func bucket(history: Int = 1) async throws -> KeyValueBucket {
        let bucket = try KeyValueBucket(name, jetStream)
        try await bucket.create(history: history, storage: .memory)
        return bucket
    }

    private func value(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

    func keys() async throws {
        let bucket = try await bucket(history: 3)
        try await bucket.create(history: 3, storage: .memory)
        #expect(try await bucket.get("a") == nil)
        #expect(try await bucket.keys() == [])
        #expect(try await bucket.put(value("1"), for: "a") == 1)
        #expect(try await bucket.put(value("2"), for: "a") == 2)
        for key in ["b.1", "b.2", "gone"] { try await bucket.put(value(key), for: key) }
        let entry = try #require(try await bucket.get("a"))
        #expect(String(buffer: entry.value) == "2" && entry.revision == 2 && entry.operation == .put)
        try await bucket.delete("gone")
        #expect(try await bucket.get("gone") == nil)
        try await bucket.put(value("again"), for: "b.1")
        #expect(try await bucket.keys() == ["a", "b.2", "b.1"])
        #expect(try await bucket.keys(matching: "b.*") == ["b.2", "b.1"])
        var values: [String] = []
        try await bucket.forEachEntry(matching: "b.*") { values.append(String(buffer: $0.value)) }
        #expect(values == ["b.2", "again"])
        let history = try await bucket.history(of: "gone")
        #expect(history.map(\.operation) == [.put, .delete] && history.map(\.key) == ["gone", "gone"])
        try await bucket.purge("a")
        #expect(try await bucket.get("a") == nil)
        // A deletion keeps the history, a purge does not.
        let subjects = try await jetStream.streamInfo("KV_" + name, subjectsFilter: ">").state.subjects
        let counts = ["a": 1, "b.1": 2, "b.2": 1, "gone": 2].map { ("$KV.\(name).\($0.key)", UInt64($0.value)) }
        #expect(subjects == Dictionary(uniqueKeysWithValues: counts))
        let deletion = try await refusal { try await jetStream.deleteMessage(in: "KV_" + name, sequence: 4) }
        #expect(deletion?.errorCode == 10_057)
    }

    func conflicts() async throws {
        let bucket = try await bucket()
        let first = try await bucket.create(value("1"), for: "a")
        let repeated = try await refusal { try await bucket.create(value("2"), for: "a") }
        let second = try await bucket.update(value("2"), for: "a", revision: first)
        let late = try await refusal { try await bucket.update(value("3"), for: "a", revision: first) }
        let lateDeletion = try await refusal { try await bucket.delete("a", revision: first) }
        for refused in [repeated, late, lateDeletion] {
            #expect(refused.map { KeyValueBucket.isConflict($0) } == true)
        }
        try await bucket.delete("a", revision: second)
        // A key that was removed can be created again.
        try await bucket.create(value("4"), for: "a")
        try await bucket.purge("a")
        try await bucket.create(value("5"), for: "a")
        #expect(try await bucket.get("a").map { String(buffer: $0.value) } == "5")
        let winners = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<10 {
                group.addTask {
                    do {
                        try await bucket.create(ByteBuffer(string: "\(index)"), for: "race")
                        return 1
                    } catch NATSError.jetStream(let failure) where KeyValueBucket.isConflict(failure) {
                        return 0
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(winners == 1)
    }

    func watching() async throws {
        let bucket = try await bucket()
        try await bucket.put(value("1"), for: "a")
        try await bucket.put(value("2"), for: "a")
        try await bucket.put(value("3"), for: "b")
        var all = try bucket.watch().makeAsyncIterator()
        try await all.open()
        #expect(all.initiallyPending == 2)
        var changes = try bucket.watch("*", onlyChanges: true).makeAsyncIterator()
        try await changes.open()
        #expect(changes.initiallyPending == 0)
        var seen: [String] = []
        while seen.count < 2, let entry = try await all.next() { seen.append(Self.words(entry)) }
        try await bucket.put(value("4"), for: "c")
        try await bucket.delete("a")
        // A purge has a server of 2.9 pass over what its consumers have not delivered by then.
        while seen.count < 4, let entry = try await all.next() { seen.append(Self.words(entry)) }
        var changed: [String] = []
        while changed.count < 2, let entry = try await changes.next() { changed.append(Self.words(entry)) }
        try await bucket.purge("b")
        while seen.count < 5, let entry = try await all.next() { seen.append(Self.words(entry)) }
        #expect(seen == ["put a 2", "put b 3", "put c 4", "delete a ", "purge b "])
        while changed.count < 3, let entry = try await changes.next() { changed.append(Self.words(entry)) }
        #expect(changed == ["put c 4", "delete a ", "purge b "])
    }

    private static func words(_ entry: KeyValueEntry) -> String {
        "\(entry.operation) \(entry.key) \(String(buffer: entry.value))"
    }
}
