import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Key-value buckets", .realProcesses, .sharedServers)
struct KeyValueTests {
    private func bucket(_ binary: NATSServerBinary, history: Int = 1) async throws -> KeyValueBucket {
        let jetStream = JetStream(try await SharedServers.connect(binary), timeout: .seconds(120))
        let bucket = try KeyValueBucket(SharedServers.unique(), jetStream)
        try await bucket.create(history: history, storage: .memory)
        return bucket
    }

    private func isConflict(_ error: NATSError?) -> Bool {
        if case .jetStream(let failure) = error { KeyValueBucket.isConflict(failure) } else { false }
    }

    private func value(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

    @Test("keys are set, read and deleted", arguments: NATSServerProcess.binaries)
    func values(binary: NATSServerBinary) async throws {
        let bucket = try await bucket(binary, history: 3)
        // Made again with the same settings it is the same bucket.
        try await bucket.create(history: 3, storage: .memory)
        #expect(try await bucket.get("a") == nil)
        #expect(try await bucket.put(value("1"), for: "a") == 1)
        #expect(try await bucket.put(value("2"), for: "a") == 2)
        #expect(try await bucket.put(ByteBuffer(), for: "b/c=d.e_F-9") == 3)
        let entry = try #require(try await bucket.get("a"))
        #expect(
            entry.key == "a" && String(buffer: entry.value) == "2" && entry.revision == 2 && entry.operation == .put)
        #expect(try await bucket.get("b/c=d.e_F-9")?.value == ByteBuffer())
        try await bucket.delete("a")
        #expect(try await bucket.get("a") == nil)
        try await bucket.purge("b/c=d.e_F-9")
        #expect(try await bucket.get("b/c=d.e_F-9") == nil)
        // A deletion keeps the history, a purge does not.
        let info = try await bucket.jetStream.streamInfo(bucket.stream, subjectsFilter: ">")
        #expect(info.state.subjects == ["$KV.\(bucket.name).a": 3, "$KV.\(bucket.name).b/c=d.e_F-9": 1])
        await bucket.jetStream.connection.close()
    }

    @Test("of those who create or update at once, one wins", arguments: NATSServerProcess.binaries)
    func conflicts(binary: NATSServerBinary) async throws {
        let bucket = try await bucket(binary)
        let first = try await bucket.create(value("1"), for: "a")
        #expect(
            isConflict(await failure { () async throws(NATSError) in try await bucket.create(value("2"), for: "a") }))
        let second = try await bucket.update(value("2"), for: "a", revision: first)
        #expect(
            isConflict(
                await failure { () async throws(NATSError) in
                    try await bucket.update(value("3"), for: "a", revision: first)
                }))
        #expect(try await bucket.get("a")?.revision == second)
        // A key that was removed can be created again.
        try await bucket.delete("a")
        _ = try await bucket.create(value("4"), for: "a")
        try await bucket.purge("a")
        _ = try await bucket.create(value("5"), for: "a")
        #expect(try await bucket.get("a").map { String(buffer: $0.value) } == "5")
        let winners = try await withThrowingTaskGroup { group in
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
        await bucket.jetStream.connection.close()
    }

    @Test("keys with a value are listed, all or by pattern", arguments: NATSServerProcess.binaries)
    func keys(binary: NATSServerBinary) async throws {
        let bucket = try await bucket(binary)
        #expect(try await bucket.keys() == [])
        for key in ["a.1", "b", "a.2", "gone"] { try await bucket.put(value(key), for: key) }
        try await bucket.put(value("again"), for: "a.1")
        try await bucket.delete("gone")
        #expect(try await bucket.keys() == ["b", "a.2", "a.1"])
        #expect(try await bucket.keys(matching: "a.*") == ["a.2", "a.1"])
        #expect(try await bucket.keys(matching: "b") == ["b"])
        #expect(try await bucket.keys(matching: "c.>") == [])
        #expect(try await bucket.keys(matching: "gone") == [])
        await bucket.jetStream.connection.close()
    }

    @Test(
        "a value whose sender wrote a status before it is read, watched and listed",
        arguments: NATSServerProcess.binaries)
    func statusOfASender(binary: NATSServerBinary) async throws {
        let bucket = try await bucket(binary)
        let connection = bucket.jetStream.connection
        let statuses = ["404 No Messages", "408 Request Timeout", "503", "100 Idle Heartbeat"]
        for (number, status) in statuses.enumerated() {
            let headers = ByteBuffer(string: "NATS/1.0 \(status)\r\nX: y\r\n\r\n")
            _ = try connection.core.send {
                ProtocolEncoder.writePublish(
                    ByteBuffer(string: status), headers: headers, subject: "$KV.\(bucket.name).\(number)", reply: nil,
                    into: &$0)
            }
        }
        try await bucket.put(value("last"), for: "4")
        for (number, status) in statuses.enumerated() {
            #expect(try await bucket.get("\(number)").map { String(buffer: $0.value) } == status)
        }
        #expect(try await bucket.keys() == ["0", "1", "2", "3", "4"])
        #expect(try await bucket.history(of: "2").map { String(buffer: $0.value) } == ["503"])
        #expect(try await bucket.get("5") == nil)
        await connection.close()
    }

    @Test("a watcher sees the newest values and then every change", arguments: NATSServerProcess.binaries)
    func watch(binary: NATSServerBinary) async throws {
        let bucket = try await bucket(binary)
        try await bucket.put(value("1"), for: "a")
        try await bucket.put(value("2"), for: "a")
        try await bucket.put(value("3"), for: "b")
        var all = try bucket.watch().makeAsyncIterator()
        try await all.open()
        #expect(all.initiallyPending == 2)
        var changes = try bucket.watch(onlyChanges: true).makeAsyncIterator()
        try await changes.open()
        #expect(changes.initiallyPending == 0)
        var seen: [String] = []
        func read() async throws {
            guard let entry = try await all.next() else { return }
            seen.append("\(entry.operation) \(entry.key) \(String(buffer: entry.value))")
        }
        // Read before a deletion and a purge remove them.
        for _ in 0..<2 { try await read() }
        var changed: [String] = []
        func readChange() async throws {
            if let entry = try await changes.next() { changed.append("\(entry.operation) \(entry.key)") }
        }
        try await bucket.put(value("4"), for: "c")
        try await bucket.delete("a")
        // A purge has a server of 2.9 pass over what its consumers have not delivered by then.
        for _ in 0..<2 {
            try await read()
            try await readChange()
        }
        try await bucket.purge("b")
        try await read()
        try await readChange()
        #expect(seen == ["put a 2", "put b 3", "put c 4", "delete a ", "purge b "])
        #expect(changed == ["put c", "delete a", "purge b"])
        #expect(throws: NATSError.invalidSubject("a..b")) { try bucket.watch("a..b") }
        await bucket.jetStream.connection.close()
    }

    @Test("keys and names follow their grammar (ADR-8)")
    func grammar() async throws {
        for key in ["a", "A-Z_0/9=.x", "a.b.c", "_", "=", "/", "-"] { #expect(KeyValueBucket.isKey(key)) }
        for key in ["", ".", "a.", ".a", "a..b", "a b", "a*", "*", ">", "a.>", "ä", "a\n", "a\u{0}", "a:b", "a\\b"] {
            #expect(!KeyValueBucket.isKey(key))
        }
        let connection = try await SharedServers.connect(NATSServerProcess.anyBinary)
        let jetStream = JetStream(connection)
        for name in ["", "a.b", "a b", "*", "ä", "a/b", String(repeating: "a", count: 201)] {
            #expect(throws: NATSError.self) { try KeyValueBucket(name, jetStream) }
        }
        let bucket = try KeyValueBucket("any", jetStream)
        for key in ["a*", "", "a b"] {
            let error = await failure { () async throws(NATSError) in try await bucket.put(ByteBuffer(), for: key) }
            guard case .invalidArgument = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        await connection.close()
    }

    @Test("markers of newer servers are removals")
    func markers() {
        func operation(_ headers: NATSHeaders) -> KeyValueEntry.Operation {
            KeyValueEntry(
                StoredMessage(
                    subject: "$KV.b.key", sequence: 1, time: ServerTime(nanoseconds: 0), headers: headers,
                    payload: ByteBuffer())
            ).operation
        }
        #expect(operation([:]) == .put)
        #expect(operation(["KV-Operation": "DEL"]) == .delete)
        #expect(operation(["KV-Operation": "PURGE"]) == .purge)
        #expect(operation(["KV-Operation": "UNKNOWN"]) == .put)
        #expect(operation(["Nats-Marker-Reason": "MaxAge"]) == .purge)
        #expect(operation(["Nats-Marker-Reason": "Purge"]) == .purge)
        #expect(operation(["Nats-Marker-Reason": "Remove"]) == .delete)
    }
}
