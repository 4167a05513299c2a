import NIOCore
import Platform
import TestSupport
import Testing

@testable import NATS

@Suite("Permissions and limits of a user", .realProcesses)
struct PermissionTests {
    private static let rules = Permissions(
        pub: SubjectRules(allow: ["open.>", "_INBOX.>"]), sub: SubjectRules(allow: ["open.>", "both", "_INBOX.>"]))

    @Test("a request that may not be published fails at once, and others go on", arguments: NATSServerProcess.binaries)
    func publish(binary: NATSServerBinary) async throws {
        let root = try TestOperator()
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
        #expect(connection.isOpen)
        await connection.close()
    }

    @Test("a subscription that is not permitted throws, and it alone", arguments: NATSServerProcess.binaries)
    func subscribe(binary: NATSServerBinary) async throws {
        let root = try TestOperator()
        let server = try await root.start(binary)
        let connection = try await server.connect(
            ConnectOptions(authentication: Authentication(root.user(Self.rules))))
        let closed = try connection.subscribe(to: "closed.>")
        let queue = try connection.subscribe(to: "closed.>", queue: "q")
        let open = try connection.subscribe(to: "open.>")
        await #expect(throws: NATSError.subscribeNotPermitted(subject: "closed.>")) { try await closed.first(1) }
        await #expect(throws: NATSError.subscribeNotPermitted(subject: "closed.>")) { try await queue.first(1) }
        try connection.publish(Array("here".utf8), to: "open.a")
        #expect(try await open.nextText() == "here")
        await connection.close()
    }

    @Test("a refused queue group leaves the same subject without one alone", arguments: NATSServerProcess.binaries)
    func queueAlone(binary: NATSServerBinary) async throws {
        let root = try TestOperator()
        let server = try await root.start(binary)
        var rules = Self.rules
        rules.pub = nil
        rules.sub?.deny = ["both q"]
        let connection = try await server.connect(ConnectOptions(authentication: Authentication(root.user(rules))))
        let plain = try connection.subscribe(to: "both")
        let refused = try connection.subscribe(to: "both", queue: "q")
        await #expect(throws: NATSError.subscribeNotPermitted(subject: "both")) { try await refused.first(1) }
        try connection.publish(Array("here".utf8), to: "both")
        #expect(try await plain.nextText() == "here")
        await connection.close()
    }

    @Test("an account's payload limit is kept by the client", arguments: NATSServerProcess.binaries)
    func payload(binary: NATSServerBinary) async throws {
        let root = try TestOperator()
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

    @Test("a server that takes no further subscription says so", arguments: NATSServerProcess.binaries)
    func subscriptionLimit(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(
            binary, configuration: "max_subscriptions: 4", jetStream: false)
        let connection = try await server.connect()
        var events = connection.events.makeAsyncIterator()
        let subscriptions = try (0..<5).map { try connection.subscribe(to: "a.\($0)") }
        var seen = false
        while !seen, let event = await events.next() { seen = event == .notice(.subscriptionLimit) }
        #expect(seen && connection.isOpen)
        withExtendedLifetime(subscriptions) {}
        await connection.close()
    }

    @Test("a user whose token expires while connected learns why", arguments: NATSServerProcess.binaries)
    func expiry(binary: NATSServerBinary) async throws {
        let root = try TestOperator()
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

    @Test("a user who is revoked while connected learns why", arguments: NATSServerProcess.binaries)
    func revocation(binary: NATSServerBinary) async throws {
        let root = try TestOperator()
        let server = try await root.start(binary)
        let now = Int64(Date().timeIntervalSince1970)
        let (revoked, kept) = (try root.user(issuedAt: now - 10), try root.user(issuedAt: now - 10))
        let connection = try await server.connect(ConnectOptions(authentication: Authentication(revoked)))
        let other = try await server.connect(ConnectOptions(authentication: Authentication(kept)))
        try server.reload(configuration: root.configuration(revocations: [revoked.keyPair.publicKey.text: now]))
        #expect(await connection.waitUntilClosed() == .authorization(.userRevoked))
        try await other.flush()
        await #expect(throws: NATSError.authorization(.violation)) {
            try await server.connect(ConnectOptions(authentication: Authentication(revoked)))
        }
        await other.close()
    }
}
