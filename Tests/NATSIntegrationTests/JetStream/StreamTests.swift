import NIOCore
import TestSupport
import Testing

@testable import NATS

@Suite("Streams and their messages", .realProcesses, .sharedServers)
struct StreamTests {
    private func isRefused(_ error: NATSError?, _ code: Int) -> Bool {
        if case .jetStream(let failure) = error { failure.errorCode == code } else { false }
    }

    @Test("an account tells what it uses", arguments: NATSServerProcess.binaries)
    func account(binary: NATSServerBinary) async throws {
        let (jetStream, _) = try await JetStreamFixture.stream(binary)
        let info = try await jetStream.accountInfo()
        #expect(info.streams >= 1)
        #expect(info.level == 0 || jetStream.connection.info.version.hasPrefix("2.1"))
        await jetStream.connection.close()
        let plain = try await NATSServerProcess.start(binary, jetStream: false)
        let connection = try await plain.connect()
        await #expect(throws: NATSError.self) { try await JetStream(connection).accountInfo() }
        await connection.close()
    }

    @Test("a stream is made once, described, changed and deleted", arguments: NATSServerProcess.binaries)
    func life(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        var configuration = StreamConfiguration(name: name, subjects: ["\(name).>"], storage: .memory)
        configuration.allowsDirectAccess = true
        // Again with the same configuration is no failure.
        let made = try await jetStream.createStream(configuration)
        #expect(made.configuration.subjects == ["\(name).>"] && made.configuration.storage == .memory)
        configuration.maximumMessages = 3
        let different = await failure { () async throws(NATSError) in try await jetStream.createStream(configuration) }
        #expect(isRefused(different, JetStreamFailure.streamNameInUse))
        #expect(try await jetStream.updateStream(configuration).configuration.maximumMessages == 3)
        for index in 1...5 {
            _ = try await jetStream.publish(ByteBuffer(string: "\(index)"), to: "\(name).a.\(index % 2)")
        }
        let info = try await jetStream.streamInfo(name)
        #expect(info.state.messages == 3 && info.state.firstSequence == 3 && info.state.lastSequence == 5)
        #expect(info.state.subjects == nil && info.created == made.created && info.state.bytes > 0)
        let counted = try await jetStream.streamInfo(name, subjectsFilter: "\(name).a.*")
        #expect(counted.state.subjects == ["\(name).a.0": 1, "\(name).a.1": 2])
        let none = try await jetStream.streamInfo(name, subjectsFilter: "\(name).b.>")
        #expect(none.state.subjects ?? [:] == [:])
        #expect(try await jetStream.purgeStream(name, filter: "\(name).a.1") == 2)
        #expect(try await jetStream.purgeStream(name) == 1)
        #expect(try await jetStream.streamInfo(name).state.messages == 0)
        try await jetStream.deleteStream(name)
        let gone = await failure { () async throws(NATSError) in _ = try await jetStream.streamInfo(name) }
        #expect(isRefused(gone, JetStreamFailure.streamNotFound))
        let twice = await failure { () async throws(NATSError) in try await jetStream.deleteStream(name) }
        #expect(isRefused(twice, JetStreamFailure.streamNotFound))
        await jetStream.connection.close()
    }

    @Test(
        "an update keeps what it leaves open, and settings that are unknown here", arguments: NATSServerProcess.binaries
    )
    func update(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        try await jetStream.deleteStream(name)
        let made = """
            {"name":"\(name)","subjects":["\(name).>"],"storage":"memory","no_ack":true,"max_age":3600000000000,\
            "description":"kept"}
            """
        _ = try await jetStream.connection.request(
            ByteBuffer(string: made), to: "$JS.API.STREAM.CREATE.\(name)", timeout: .seconds(120))
        var change = StreamConfiguration(name: name, storage: .memory)
        change.maximumMessages = 7
        let changed = try await jetStream.updateStream(change).configuration
        #expect(changed.maximumMessages == 7 && changed.subjects == ["\(name).>"])
        #expect(changed.maximumAge == 3_600_000_000_000 && changed.description == "kept")
        let info = try await jetStream.connection.request(
            ByteBuffer(), to: "$JS.API.STREAM.INFO.\(name)", timeout: .seconds(120))
        #expect(info.text.replacing(" ", with: "").contains(#""no_ack":true"#), "\(info.text)")
        await jetStream.connection.close()
    }

    @Test("names that could change a request's subject are refused", arguments: NATSServerProcess.binaries)
    func names(binary: NATSServerBinary) async throws {
        let jetStream = JetStream(try await SharedServers.connect(binary), timeout: .seconds(120))
        for name in ["", "a.b", "a b", "a*", ">", "a/b", "a\\b", "a\r\n", String(repeating: "a", count: 256)] {
            let error = await failure { () async throws(NATSError) in _ = try await jetStream.streamInfo(name) }
            guard case .invalidArgument = error else {
                Issue.record("\(name): \(String(describing: error))")
                continue
            }
        }
        await jetStream.connection.close()
    }

    @Test("single messages are read and deleted", arguments: NATSServerProcess.binaries)
    func messages(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        var headers: NATSHeaders = ["A": "1"]
        headers.append("2", for: "A")
        let first = try await jetStream.publish(ByteBuffer(string: "one"), to: "\(name).a", headers: headers)
        let second = try await jetStream.publish(ByteBuffer(), to: "\(name).a")
        #expect(first == PublishAcknowledgement(stream: name, sequence: 1) && second.sequence == 2)
        let read = try await jetStream.message(in: name, sequence: 1)
        #expect(read.subject == "\(name).a" && read.sequence == 1 && String(buffer: read.payload) == "one")
        #expect(read.headers == headers)
        #expect(read.time.nanoseconds > 1_600_000_000_000_000_000)
        let last = try await jetStream.lastMessage(in: name, subject: "\(name).a")
        #expect(last.sequence == 2 && last.payload.readableBytes == 0 && last.headers.isEmpty)
        try await jetStream.deleteMessage(in: name, sequence: 1)
        try await jetStream.deleteMessage(in: name, sequence: 2, erases: true)
        let missing = await failure { () async throws(NATSError) in
            _ = try await jetStream.message(in: name, sequence: 1)
        }
        #expect(isRefused(missing, JetStreamFailure.noMessageFound))
        let twice = await failure { () async throws(NATSError) in
            try await jetStream.deleteMessage(in: name, sequence: 1)
        }
        #expect(isRefused(twice, JetStreamFailure.sequenceNotFound))
        let nothing = await failure { () async throws(NATSError) in
            _ = try await jetStream.lastMessage(in: name, subject: "\(name).b")
        }
        #expect(isRefused(nothing, JetStreamFailure.noMessageFound))
        await jetStream.connection.close()
    }

    @Test("the newest of a subject is read directly, headers and all", arguments: NATSServerProcess.binaries)
    func direct(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        _ = try await jetStream.publish(ByteBuffer(string: "old"), to: "\(name).a")
        _ = try await jetStream.publish(ByteBuffer(string: "new"), to: "\(name).a", headers: ["A": "1"])
        let found = try #require(try await jetStream.lastMessageDirect(in: name, subject: "\(name).a"))
        #expect(found.sequence == 2 && found.subject == "\(name).a" && String(buffer: found.payload) == "new")
        #expect(found.headers["A"] == "1")
        let stored = try await jetStream.message(in: name, sequence: 2)
        #expect(found.time == stored.time)
        #expect(try await jetStream.lastMessageDirect(in: name, subject: "\(name).b") == nil)
        await jetStream.connection.close()
    }

    @Test("a message with a known id is stored once", arguments: NATSServerProcess.binaries)
    func duplicates(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        let first = try await jetStream.publish(ByteBuffer(string: "1"), to: "\(name).a", messageID: "id-1")
        _ = try await jetStream.publish(ByteBuffer(string: "2"), to: "\(name).a", messageID: "id-2")
        let again = try await jetStream.publish(ByteBuffer(string: "1"), to: "\(name).a", messageID: "id-1")
        #expect(!first.isDuplicate && again.isDuplicate && again.sequence == first.sequence && again.stream == name)
        #expect(try await jetStream.streamInfo(name).state.messages == 2)
        #expect(try await jetStream.message(in: name, sequence: 1).headers["Nats-Msg-Id"] == "id-1")
        await jetStream.connection.close()
    }

    @Test("a subject that no stream stores has no responders", arguments: NATSServerProcess.binaries)
    func noStream(binary: NATSServerBinary) async throws {
        let jetStream = JetStream(try await SharedServers.connect(binary), timeout: .seconds(120))
        let subject = SharedServers.unique()
        await #expect(throws: NATSError.noResponders(subject: subject)) {
            try await jetStream.publish(ByteBuffer(), to: subject)
        }
        await jetStream.connection.close()
    }

    @Test("an expectation that does not hold is a refusal", arguments: NATSServerProcess.binaries)
    func expectation(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        _ = try await jetStream.publish(ByteBuffer(), to: "\(name).a")
        let error = await failure { () async throws(NATSError) in
            _ = try await jetStream.publish(
                ByteBuffer(), to: "\(name).a", headers: ["Nats-Expected-Last-Subject-Sequence": "9"])
        }
        #expect(isRefused(error, JetStreamFailure.wrongLastSequence))
        await jetStream.connection.close()
    }
}
