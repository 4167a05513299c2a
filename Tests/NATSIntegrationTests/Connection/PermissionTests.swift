import NIOCore
import Platform
import TestSupport
import Testing

@testable import NATS

@Suite("Permissions and limits of a user", .realProcesses)
struct PermissionTests {
    private static let rules = Permissions(
        pub: SubjectRules(allow: ["open.>", "_INBOX.>"]), sub: SubjectRules(allow: ["open.>", "both", "_INBOX.>"]))

    @Test("what is not permitted fails at once, and it alone", arguments: NATSServerProcess.binaries)
    func refused(binary: NATSServerBinary) async throws {
        let root = TestOperator()
        let server = try await root.start(binary)
        let connection = try await server.connect(
            ConnectOptions(authentication: Authentication(root.user(Self.rules))))
        var events = connection.events.makeAsyncIterator()
        let own = try connection.subscribe(to: "open.a")
        await #expect(throws: NATSError.publishNotPermitted(subject: "closed.a")) {
            try await connection.request(ByteBuffer(), to: "closed.a", timeout: .seconds(60))
        }
        // A plain publish can only report to the events.
        try connection.publish([], to: "closed.b")
        try connection.publish(Array("here".utf8), to: "open.a")
        #expect(try await own.nextText() == "here")
        var notices: [NATSError] = []
        while notices.count < 2, let event = await events.next() {
            if case .notice(let error) = event { notices.append(error) }
        }
        #expect(notices == [.publishNotPermitted(subject: "closed.a"), .publishNotPermitted(subject: "closed.b")])

        for closed in [
            try connection.subscribe(to: "closed.>"), try connection.subscribe(to: "closed.>", queue: "q"),
        ] {
            await #expect(throws: NATSError.subscribeNotPermitted(subject: "closed.>")) { try await closed.first(1) }
        }
        try connection.publish(Array("there".utf8), to: "open.a")
        #expect(try await own.nextText() == "there")
        #expect(connection.isOpen)
        await connection.close()

        // A refused queue group leaves the same subject without one alone.
        var rules = Self.rules
        rules.pub = nil
        rules.sub?.deny = ["both q"]
        let other = try await server.connect(ConnectOptions(authentication: Authentication(root.user(rules))))
        let plain = try other.subscribe(to: "both")
        let group = try other.subscribe(to: "both", queue: "q")
        await #expect(throws: NATSError.subscribeNotPermitted(subject: "both")) { try await group.first(1) }
        try other.publish(Array("here".utf8), to: "both")
        #expect(try await plain.nextText() == "here")
        await other.close()
    }

    @Test("an account's payload limit is kept by the client", arguments: NATSServerProcess.binaries)
    func payload(binary: NATSServerBinary) async throws {
        let root = TestOperator()
        var limits = AccountLimits.unlimited
        limits.payload = 16
        let server = try await root.start(binary, limits: limits)
        let connection = try await server.connect(ConnectOptions(authentication: Authentication(root.user())))
        // The limit comes with an INFO behind the login's confirmation.
        try await eventually("the account's limit") { connection.info.maximumPayload == 16 }
        #expect(throws: NATSError.payloadTooLarge(bytes: 17, limit: 16)) {
            try connection.publish([UInt8](repeating: 0, count: 17), to: "a")
        }
        #expect(throws: NATSError.self) { try connection.publish([], to: "a", headers: ["Name": "value"]) }
        try connection.publish([UInt8](repeating: 0, count: 16), to: "a")
        try await connection.flush()
        #expect(connection.isOpen)
        await connection.close()
    }

    @Test("a user whose token expires while connected learns why", arguments: NATSServerProcess.binaries)
    func expiry(binary: NATSServerBinary) async throws {
        let root = TestOperator()
        let server = try await root.start(binary)
        let now = Int64(Date().timeIntervalSince1970)
        let connection = try await server.connect(
            ConnectOptions(authentication: Authentication(root.user(expires: now + 30))))
        let subscription = try connection.subscribe(to: "a")
        let expired = NATSError.authorization(.userExpired)
        #expect(await connection.waitUntilClosed() == expired)
        await #expect(throws: expired) { try await subscription.first(1) }
        #expect(throws: expired) { try connection.publish([], to: "a") }
        #expect(!expired.isRetryable)
    }

    @Test("requests fail at once where the server refuses the inbox that answers come to")
    func refusedInbox() async throws {
        let user = #"{ user: a, password: b, permissions: { subscribe: ["mine.>"] } }"#
        let server = try await NATSServerProcess.start(
            configuration: "authorization { users: [ \(user) ] }\n", jetStream: false)
        let connection = try await server.connect(ConnectOptions(authentication: .user("a", password: "b")))
        try await connection.flush()
        await #expect {
            try await connection.request(ByteBuffer(), to: "anything", timeout: .seconds(30))
        } throws: { error in
            if case .subscribeNotPermitted = error as? NATSError { true } else { false }
        }
        await connection.close()
    }
}
