import NATS
import NIOCore
import TestSupport
import Testing

@Suite("Publish and subscribe", .realProcesses, .sharedServers)
struct MessagingTests {
    @Test("wildcards take what matches, in order", arguments: NATSServerProcess.binaries)
    func wildcards(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let root = SharedServers.unique()
        let exact = try connection.subscribe(to: "\(root).a.b")
        let one = try connection.subscribe(to: "\(root).*.b")
        let rest = try connection.subscribe(to: "\(root).>")
        for (index, subject) in ["a.b", "x.b", "a.b.c", "a", "a.b"].enumerated() {
            try connection.publish(Array("\(index)".utf8), to: "\(root).\(subject)", reply: "r.\(index)")
        }
        #expect(try await exact.first(2).map(\.text) == ["0", "4"])
        #expect(try await one.first(3).map(\.text) == ["0", "1", "4"])
        let all = try await rest.first(5)
        #expect(all.map(\.text) == ["0", "1", "2", "3", "4"])
        #expect(all.map(\.subject) == ["a.b", "x.b", "a.b.c", "a", "a.b"].map { "\(root).\($0)" })
        #expect(all.map(\.reply) == (0..<5).map { "r.\($0)" })
        await connection.close()
    }

    @Test("members of a queue group share, others get everything", arguments: NATSServerProcess.binaries)
    func queueGroups(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let other = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let members = [
            try connection.subscribe(to: subject, queue: "q"), try connection.subscribe(to: subject, queue: "q"),
            try other.subscribe(to: subject, queue: "q"),
        ]
        let single = try connection.subscribe(to: subject, queue: "alone")
        let plain = try connection.subscribe(to: subject)
        try await connection.flush()
        try await other.flush()
        for index in 0..<300 { try other.publish(Array("\(index)".utf8), to: subject) }
        let everything = (0..<300).map(String.init)
        #expect(try await plain.first(300).map(\.text) == everything)
        #expect(try await single.first(300).map(\.text) == everything)
        // The server has handed the last one to the group once the publisher's flush is confirmed, and not before.
        try await other.flush()
        try await connection.flush()
        var shared: [Int] = []
        for member in members {
            member.unsubscribe()
            for try await message in member { shared.append(try #require(Int(message.text))) }
        }
        #expect(shared.sorted() == Array(0..<300))
        await other.close()
        await connection.close()
    }

    @Test("headers arrive as they were sent", arguments: NATSServerProcess.binaries)
    func headers(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: subject)
        var headers: NATSHeaders = ["Name": "value: with colon, ü", "name": "", "B": "2"]
        headers.append("second", for: "Name")
        try connection.publish(Array("body".utf8), to: subject, reply: "r", headers: headers)
        try connection.publish([], to: subject, headers: ["Only": "headers"])
        try connection.publish([], to: subject, headers: [:])
        let messages = try await subscription.first(3)
        #expect(messages[0].headers == headers)
        #expect(messages[0].text == "body" && messages[0].reply == "r")
        #expect(messages[1].headers["Only"] == "headers" && messages[1].bytes == [])
        #expect(!messages[2].hasHeaders)
        await connection.close()
    }

    @Test("headers cannot inject protocol: refused before anything is sent", arguments: NATSServerProcess.binaries)
    func injection(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: "\(subject).>")
        let bad: [(String, String)] = [
            ("A", "x\r\nB: y"), ("A\r\nB", "x"), ("A", "x\r\n\r\nPUB \(subject).x 0\r\n\r\n"),
        ]
        for (name, value) in bad {
            let error = await failure { () async throws(NATSError) in
                try connection.publish([], to: "\(subject).a", headers: [name: value])
            }
            guard case .invalidArgument = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        for wrong in ["\(subject).a b", "\(subject).*", "\(subject).>", "", "\(subject)..a", "\(subject).a\r\nPING"] {
            #expect(throws: NATSError.invalidSubject(wrong)) { try connection.publish([], to: wrong) }
            #expect(throws: NATSError.invalidSubject(wrong)) { try connection.publish([], to: subject, reply: wrong) }
        }
        for wrong in ["a b", "", "a..b", "a.>.b", "a\r\nSUB >"] {
            #expect(throws: NATSError.invalidSubject(wrong)) { try connection.subscribe(to: wrong) }
        }
        #expect(throws: NATSError.self) { try connection.subscribe(to: "a", queue: "q q") }
        try connection.publish(Array("end".utf8), to: "\(subject).end")
        #expect(try await subscription.nextText() == "end")
        await connection.close()
    }

    @Test("echo off keeps a connection's own messages away", arguments: NATSServerProcess.binaries)
    func echo(binary: NATSServerBinary) async throws {
        let mute = try await SharedServers.connect(binary, ConnectOptions(echo: false))
        let other = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let own = try mute.subscribe(to: subject)
        let others = try other.subscribe(to: subject)
        try await mute.flush()
        try await other.flush()
        try mute.publish(Array("mine".utf8), to: subject)
        #expect(try await others.nextText() == "mine")
        try other.publish(Array("theirs".utf8), to: subject)
        #expect(try await own.nextText() == "theirs")
        await mute.close()
        await other.close()
    }

    @Test("payloads from nothing to 1 MiB arrive whole", arguments: NATSServerProcess.binaries)
    func sizes(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: subject)
        let sizes = [0, 1, 4_095, 65_536, 300_000, 1 << 20]
        for (index, size) in sizes.enumerated() {
            try connection.publish(
                (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ index) }, to: subject)
        }
        for (index, message) in try await subscription.first(sizes.count).enumerated() {
            #expect(message.bytes.count == sizes[index])
            #expect(
                message.payload.readableBytesView.enumerated().allSatisfy {
                    $0.element == UInt8(truncatingIfNeeded: $0.offset &* 7 &+ index)
                })
        }
        let limit = connection.info.maximumPayload
        #expect(throws: NATSError.payloadTooLarge(bytes: limit + 1, limit: limit)) {
            try connection.publish(ByteBuffer(repeating: 0, count: limit + 1), to: subject)
        }
        #expect(throws: NATSError.self) {
            try connection.publish(ByteBuffer(repeating: 0, count: limit), to: subject, headers: ["A": "1"])
        }
        try await connection.flush()
        #expect(connection.isOpen)
        await connection.close()
    }

    @Test("20,000 messages of many threads all arrive, each sender's in order", arguments: NATSServerProcess.binaries)
    func manySenders(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: "\(subject).*")
        try await connection.flush()
        async let received = subscription.first(20_000)
        try await withThrowingTaskGroup { group in
            for sender in 0..<4 {
                group.addTask {
                    for index in 0..<5_000 {
                        let isFree = try connection.publish(Array("\(index)".utf8), to: "\(subject).\(sender)")
                        if !isFree { try await connection.drained() }
                    }
                }
            }
            try await group.waitForAll()
        }
        var next: [String: Int] = [:]
        for message in try await received {
            #expect(Int(message.text) == next[message.subject, default: 0])
            next[message.subject, default: 0] += 1
        }
        #expect(next.values.allSatisfy { $0 == 5_000 } && next.count == 4)
        await connection.close()
    }

    @Test("a subscription ends after the number of messages it asked for", arguments: NATSServerProcess.binaries)
    func unsubscribeAfter(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: subject)
        subscription.unsubscribe(after: 3)
        for index in 0..<10 { try connection.publish(Array("\(index)".utf8), to: subject) }
        var texts: [String] = []
        for try await message in subscription { texts.append(message.text) }
        #expect(texts == ["0", "1", "2"])

        let late = try connection.subscribe(to: subject)
        for index in 0..<5 { try connection.publish(Array("\(index)".utf8), to: subject) }
        try await connection.flush()
        // As many have come already: it ends at once, and what came is still there.
        late.unsubscribe(after: 5)
        try connection.publish(Array("late".utf8), to: subject)
        texts = []
        for try await message in late { texts.append(message.text) }
        #expect(texts == ["0", "1", "2", "3", "4"])
        await connection.close()
    }

    @Test("what arrived before an unsubscription is read to its end", arguments: NATSServerProcess.binaries)
    func bufferedSurvive(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: subject)
        for index in 0..<100 { try connection.publish(Array("\(index)".utf8), to: subject) }
        try await connection.flush()
        subscription.unsubscribe()
        var count = 0
        for try await _ in subscription { count += 1 }
        #expect(count == 100)
        await connection.close()
    }

    @Test("a reader whose task is cancelled, before or while it waits, gets nil", arguments: NATSServerProcess.binaries)
    func cancelledReaders(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: subject)
        let before = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            var iterator = subscription.makeAsyncIterator()
            return try await iterator.next() == nil
        }
        #expect(try await before.value)
        for round in 0..<200 {
            let task = Task {
                var iterator = subscription.makeAsyncIterator()
                return try await iterator.next() == nil
            }
            for _ in 0..<round % 5 { await Task.yield() }
            task.cancel()
            #expect(try await task.value)
        }
        // The subscription itself is as good as before.
        try connection.publish(Array("still".utf8), to: subject)
        #expect(try await subscription.nextText() == "still")
        await connection.close()
    }
}
