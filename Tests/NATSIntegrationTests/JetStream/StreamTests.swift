import NIOCore
import TestSupport
import Testing

@testable import NATS

/// What goes beyond ``ServerPromise``.
@Suite("Streams and their messages", .realProcesses, .sharedServers)
struct StreamTests {
    @Test("an account without JetStream says so", arguments: NATSServerProcess.binaries)
    func withoutJetStream(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary, jetStream: false)
        let connection = try await server.connect()
        await #expect(throws: NATSError.self) { try await JetStream(connection).accountInfo() }
        await connection.close()
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

    @Test("names that could change a request's subject are refused")
    func names() async throws {
        let jetStream = JetStream(
            try await SharedServers.connect(NATSServerProcess.anyBinary), timeout: .seconds(120))
        for name in ["", "a.b", "a b", "a*", ">", "a/b", "a\\b", "a\r\n", String(repeating: "a", count: 256)] {
            let error = await failure { () async throws(NATSError) in _ = try await jetStream.streamInfo(name) }
            #expect(error.isInvalidArgument, "\(error as Any)")
        }
        await jetStream.connection.close()
    }

    @Test(
        "the newest of a subject is read directly, headers and all, and erased", arguments: NATSServerProcess.binaries)
    func direct(binary: NATSServerBinary) async throws {
        let (jetStream, name) = try await JetStreamFixture.stream(binary)
        _ = try await jetStream.publish(ByteBuffer(string: "old"), to: "\(name).a")
        _ = try await jetStream.publish(ByteBuffer(string: "new"), to: "\(name).a", headers: ["A": "1"])
        let found = try #require(try await jetStream.lastMessageDirect(in: name, subject: "\(name).a"))
        #expect(found.sequence == 2 && found.subject == "\(name).a" && found.text == "new")
        #expect(found.headers["A"] == "1")
        try await jetStream.deleteMessage(in: name, sequence: 2, erases: true)
        await #expect(throws: NATSError.self) { try await jetStream.message(in: name, sequence: 2) }
        await jetStream.connection.close()
    }
}
