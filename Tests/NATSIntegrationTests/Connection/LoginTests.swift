import NATS
import NIOCore
import TestSupport
import Testing

@Suite("Login at a real server", .realProcesses)
struct LoginTests {
    /// Connects, and tells whether the server hears this client.
    private func speaks(_ server: NATSServerProcess, _ authentication: Authentication) async throws {
        let connection = try await server.connect(ConnectOptions(authentication: authentication))
        try await connection.flush()
        await connection.close()
    }

    private func refusal(_ server: NATSServerProcess, _ authentication: Authentication) async -> NATSError? {
        await failure { () async throws(NATSError) in
            _ = try await NATSConnection.connect(
                to: try ServerAddress(parsing: server.url),
                options: ConnectOptions(authentication: authentication, connectTimeout: .seconds(60)))
        }
    }

    @Test("by token, as an option and in the URL", arguments: NATSServerProcess.binaries)
    func token(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(
            binary, configuration: "authorization { token: \"s3cr:t\" }", jetStream: false)
        try await speaks(server, .token("s3cr:t"))
        // What the URL carries wins.
        let address = try ServerAddress(parsing: "nats://s3cr%3At@127.0.0.1:\(server.port)")
        let wrong = ConnectOptions(authentication: .token("wrong"), connectTimeout: .seconds(60))
        await (try NATSConnection.connect(to: address, options: wrong)).close()
        #expect(await refusal(server, .token("wrong")) == .authorization(.violation))
        #expect(await refusal(server, .none) == .authorization(.violation))
    }

    @Test("by user and password, and by nkey", arguments: NATSServerProcess.binaries)
    func userAndKey(binary: NATSServerBinary) async throws {
        let pair = NKeyPair.generate(.user)
        let server = try await NATSServerProcess.start(
            binary,
            configuration: """
                authorization { users: [ { user: "u", password: "p@:/w" }, { nkey: \(pair.publicKey) } ] }
                """, jetStream: false)
        try await speaks(server, .user("u", password: "p@:/w"))
        try await speaks(server, .nkey(pair))
        let address = try ServerAddress(parsing: "nats://u:p@:%2Fw@127.0.0.1:\(server.port)")
        let options = ConnectOptions(connectTimeout: .seconds(60))
        await (try NATSConnection.connect(to: address, options: options)).close()
        #expect(await refusal(server, .user("u", password: "wrong")) == .authorization(.violation))
        #expect(await refusal(server, .user("nobody", password: "p@:/w")) == .authorization(.violation))
        #expect(await refusal(server, .nkey(.generate(.user))) == .authorization(.violation))
        #expect(await refusal(server, .none) == .authorization(.violation))
    }

    @Test("by user JWT with its seed, by credentials file and by bearer JWT", arguments: NATSServerProcess.binaries)
    func tokens(binary: NATSServerBinary) async throws {
        let root = TestOperator()
        let server = try await root.start(binary)
        let user = try root.user()
        try await speaks(server, .jwt(user.jwt, user.keyPair))
        try await speaks(server, Authentication(Credentials(parsing: user.fileText())))
        try await speaks(server, .bearer(root.user(isBearer: true).jwt))

        let violation = NATSError.authorization(.violation)
        #expect(await refusal(server, .jwt(user.jwt, .generate(.user))) == violation, "a signature of another key")
        #expect(await refusal(server, .bearer(user.jwt)) == violation, "a token that needs a signature")
        #expect(await refusal(server, .none) == violation)
        #expect(await refusal(server, .token("t")) == violation)
        let past = try root.user(issuedAt: 1_600_000_000, expires: 1_600_000_100)
        #expect(await refusal(server, Authentication(past)) == violation, "an expired token")
        let foreign = try root.user(account: .generate(.account))
        #expect(await refusal(server, Authentication(foreign)) == violation, "an unknown account")
    }

    @Test("a full server is a reason to try again later", arguments: NATSServerProcess.binaries)
    func connectionLimit(binary: NATSServerBinary) async throws {
        let server = try await NATSServerProcess.start(binary, configuration: "max_connections: 1", jetStream: false)
        // The connection that saw the server start may not be gone yet.
        var first: NATSConnection?
        try await eventually("room for one connection") {
            first = try? await server.connect()
            return first != nil
        }
        let error = try #require(await refusal(server, .none))
        guard case .connectionLimit = error else {
            Issue.record("\(error)")
            return
        }
        #expect(error.isRetryable)
        await first?.close()
        try await eventually("room again") { await refusal(server, .none) == nil }
    }
}
