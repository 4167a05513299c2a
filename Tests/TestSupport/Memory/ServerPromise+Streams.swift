import NATS
import NIOCore
import Testing

// Streams and what they store.
extension PromiseScene {
    func streams() async throws {
        var configuration = StreamConfiguration(name: name, subjects: ["\(name).>"], storage: .memory)
        let first = configuration
        let made = try await jetStream.createStream(first)
        #expect(made.configuration.subjects == ["\(name).>"] && made.configuration.storage == .memory)
        #expect(made.state.messages == 0 && made.state.lastSequence == 0)
        #expect(try await jetStream.createStream(first).created == made.created)
        configuration.maximumMessages = 3
        let second = configuration
        let different = try await refusal { try await jetStream.createStream(second) }
        #expect(different?.errorCode == JetStreamFailure.streamNameInUse)
        let overlapping = StreamConfiguration(name: name + "x", subjects: ["\(name).a"], storage: .memory)
        let shared = try await refusal { try await jetStream.createStream(overlapping) }
        #expect(shared?.errorCode == 10_065)
        #expect(try await jetStream.updateStream(second).configuration.maximumMessages == 3)
        try await fill(1...5)
        let info = try await jetStream.streamInfo(name)
        #expect(info.state.messages == 3 && info.state.firstSequence == 3 && info.state.lastSequence == 5)
        // Servers before 2.10 do not say what time it is.
        #expect(info.time.map { $0 >= made.created } ?? true)
        #expect(info.created == made.created && info.state.subjects == nil && info.state.bytes > 0)
        let counted = try await jetStream.streamInfo(name, subjectsFilter: "\(name).*")
        #expect(counted.state.subjects == ["\(name).0": 1, "\(name).1": 1, "\(name).2": 1])
        #expect(try await jetStream.accountInfo().streams >= 1)
        try await jetStream.deleteStream(name)
        let gone = try await refusal { _ = try await jetStream.streamInfo(name) }
        #expect(gone?.errorCode == JetStreamFailure.streamNotFound)
        let twice = try await refusal { try await jetStream.deleteStream(name) }
        #expect(twice?.errorCode == JetStreamFailure.streamNotFound)
        // Made anew it is another stream.
        #expect(try await jetStream.createStream(first).created > made.created)
    }

    func storing() async throws {
        try await makeStream()
        let first = try await jetStream.publish(ByteBuffer(string: "1"), to: "\(name).a", messageID: "id-1")
        let second = try await jetStream.publish(ByteBuffer(string: "2"), to: "\(name).b", messageID: "id-2")
        let again = try await jetStream.publish(ByteBuffer(string: "1"), to: "\(name).a", messageID: "id-1")
        #expect(first == PublishAcknowledgement(stream: name, sequence: 1) && second.sequence == 2)
        #expect(again == PublishAcknowledgement(stream: name, sequence: 1, isDuplicate: true))
        let expectation = "Nats-Expected-Last-Subject-Sequence"
        let wrong = try await refusal {
            _ = try await jetStream.publish(ByteBuffer(), to: "\(name).a", headers: [expectation: "2"])
        }
        #expect(wrong == JetStreamFailure(code: 400, errorCode: 10_071, text: "wrong last sequence: 1"))
        let third = try await jetStream.publish(ByteBuffer(), to: "\(name).a", headers: [expectation: "1"])
        #expect(third.sequence == 3)
        let rollup = try await refusal {
            _ = try await jetStream.publish(ByteBuffer(), to: "\(name).a", headers: ["Nats-Rollup": "sub"])
        }
        #expect(rollup?.errorCode == JetStreamFailure.rollupRefused)
        #expect(try await jetStream.streamInfo(name).state.messages == 3)
        await #expect(throws: NATSError.noResponders(subject: name)) {
            try await jetStream.publish(ByteBuffer(), to: name)
        }
    }

    func limits() async throws {
        var configuration = StreamConfiguration(name: name, subjects: ["\(name).>"], storage: .memory)
        configuration.maximumMessagesPerSubject = 1
        configuration.maximumMessages = 2
        configuration.maximumMessageSize = 10
        try await jetStream.createStream(configuration)
        for subject in ["a", "a", "b", "c"] { _ = try await jetStream.publish(ByteBuffer(), to: "\(name).\(subject)") }
        let info = try await jetStream.streamInfo(name, subjectsFilter: ">")
        #expect(info.state.subjects == ["\(name).b": 1, "\(name).c": 1] && info.state.firstSequence == 3)
        let large = try await refusal {
            _ = try await jetStream.publish(ByteBuffer(repeating: 0, count: 11), to: "\(name).a")
        }
        #expect(large?.errorCode == 10_054)
        var strict = StreamConfiguration(name: name + "x", subjects: ["\(name)x.>"], storage: .memory)
        strict.maximumMessages = 1
        strict.discard = .new
        try await jetStream.createStream(strict)
        _ = try await jetStream.publish(ByteBuffer(), to: "\(name)x.a")
        let full = try await refusal { _ = try await jetStream.publish(ByteBuffer(), to: "\(name)x.a") }
        #expect(full == JetStreamFailure(code: 503, errorCode: 10_077, text: "maximum messages exceeded"))
    }

    func singleMessages() async throws {
        try await makeStream()
        var headers: NATSHeaders = ["A": "1"]
        headers.append("2", for: "A")
        _ = try await jetStream.publish(ByteBuffer(string: "one"), to: "\(name).a", headers: headers)
        _ = try await jetStream.publish(ByteBuffer(), to: "\(name).a")
        let read = try await jetStream.message(in: name, sequence: 1)
        #expect(read.subject == "\(name).a" && read.payloadText == "one" && read.headers == headers)
        let last = try await jetStream.lastMessage(in: name, subject: "\(name).a")
        #expect(last.sequence == 2 && last.payload.readableBytes == 0 && last.headers.isEmpty)
        let direct = try #require(try await jetStream.lastMessageDirect(in: name, subject: "\(name).a"))
        #expect(direct.sequence == 2 && direct.time == last.time && direct.time > read.time)
        #expect(try await jetStream.lastMessageDirect(in: name, subject: "\(name).b") == nil)
        try await jetStream.deleteMessage(in: name, sequence: 1)
        let missing = try await refusal { _ = try await jetStream.message(in: name, sequence: 1) }
        #expect(missing?.errorCode == JetStreamFailure.noMessageFound)
        let twice = try await refusal { try await jetStream.deleteMessage(in: name, sequence: 1) }
        #expect(twice?.meansMissingMessage == true)
        try await jetStream.deleteMessage(in: name, sequence: 2)
        let state = try await jetStream.streamInfo(name).state
        #expect(state.messages == 0 && state.firstSequence == 3 && state.lastSequence == 2)
    }

    func purging() async throws {
        try await makeStream()
        try await fill(1...9)
        #expect(try await jetStream.purgeStream(name, filter: "\(name).1") == 3)
        #expect(try await jetStream.purgeStream(name, filter: "\(name).none") == 0)
        let state = try await jetStream.streamInfo(name).state
        #expect(state.messages == 6 && state.firstSequence == 2 && state.lastSequence == 9)
        #expect(try await jetStream.purgeStream(name) == 6)
        let empty = try await jetStream.streamInfo(name).state
        #expect(empty.messages == 0 && empty.firstSequence == 10 && empty.lastSequence == 9)
        #expect(try await jetStream.publish(ByteBuffer(), to: "\(name).a").sequence == 10)
    }
}
