import NATS
import NIOCore
import TestSupport
import Testing

@Suite("Publish and subscribe", .realProcesses, .sharedServers)
struct MessagingTests {
    @Test("headers cannot inject protocol: refused before anything is sent")
    func injection() async throws {
        let connection = try await SharedServers.connect(NATSServerProcess.anyBinary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: "\(subject).>")
        let bad: [(String, String)] = [
            ("A", "x\r\nB: y"), ("A\r\nB", "x"), ("A", "x\r\n\r\nPUB \(subject).x 0\r\n\r\n"),
        ]
        for (name, value) in bad {
            let error = await failure { () async throws(NATSError) in
                try connection.publish([], to: "\(subject).a", headers: [name: value])
            }
            #expect(error.isInvalidArgument, "\(error as Any)")
        }
        for wrong in ["\(subject).a b", "\(subject).*", "\(subject).>", "", "\(subject)..a", "\(subject).a\r\nPING"] {
            #expect(throws: NATSError.invalidSubject(wrong)) { try connection.publish([], to: wrong) }
            #expect(throws: NATSError.invalidSubject(wrong)) { try connection.publish([], to: subject, reply: wrong) }
        }
        for wrong in ["a b", "", "a..b", "a.>.b", "a\r\nSUB >"] {
            #expect(throws: NATSError.invalidSubject(wrong)) { try connection.subscribe(to: wrong) }
        }
        #expect(throws: NATSError.self) { try connection.subscribe(to: "a", queue: "q q") }
        // Headers are sent without a body, and none at all are no headers.
        try connection.publish([], to: "\(subject).end", headers: ["Only": "headers"])
        try connection.publish([], to: "\(subject).end", headers: [:])
        let messages = try await subscription.first(2)
        #expect(messages[0].headers["Only"] == "headers" && messages[0].bytes == [] && !messages[1].hasHeaders)
        await connection.close()
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

    @Test(
        "a subscription to which enough has come ends at once, and what came is read",
        arguments: NATSServerProcess.binaries)
    func unsubscribeAfter(binary: NATSServerBinary) async throws {
        let connection = try await SharedServers.connect(binary)
        let subject = SharedServers.unique()
        let subscription = try connection.subscribe(to: subject)
        for index in 0..<5 { try connection.publish(Array("\(index)".utf8), to: subject) }
        try await connection.flush()
        subscription.unsubscribe(after: 5)
        try connection.publish(Array("late".utf8), to: subject)
        var texts: [String] = []
        for try await message in subscription { texts.append(message.text) }
        #expect(texts == ["0", "1", "2", "3", "4"])
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
