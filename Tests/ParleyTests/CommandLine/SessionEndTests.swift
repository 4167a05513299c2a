import NATS
import NIOConcurrencyHelpers
import Relay
import TestSupport
import Testing

@testable import Parley

@Suite("Commands: the end of a session", .realProcesses)
struct SessionEndTests {
    /// Time that passes with the attempts to connect alone, so that none of them comes too late.
    private final class TimeByAttempts: Timekeeper {
        private let start = ContinuousClock.now
        private let attempts = NIOLockedValueBox(0)

        var now: ContinuousClock.Instant { start + .milliseconds(300) * attempts.withLockedValue { $0 } }
        var secondsSince1970: Int64 { 1_900_000_000 }

        func attempted() { attempts.withLockedValue { $0 += 1 } }

        func sleep(until moment: ContinuousClock.Instant) async throws {
            // A pause between two attempts takes no time.
            guard moment - now > .milliseconds(100) else { return try Task.checkCancellation() }
            while now < moment { try await Task.sleep(for: .milliseconds(5)) }
        }
    }

    private func client(
        of server: MemoryServer, _ reconnect: ReconnectPolicy = .parley, clock: any Timekeeper = SystemTime(),
        onAttempt: @escaping @Sendable () -> Void = {}
    ) -> RelayClient {
        var configuration = RelayConfiguration(
            servers: .fixed([ServerAddress(host: "memory")]), user: "alice",
            namespace: RelayConfiguration.Namespace(name: "test", hash: "h4sh"), sessions: .exclusive(.yield),
            followsNetwork: false, dialTimeout: .seconds(60))
        configuration.reconnect = reconnect
        return RelayClient(
            configuration: configuration,
            surroundings: Surroundings(
                dial: { (address, options) async throws(NATSError) in
                    onAttempt()
                    return try await server.connect(address, options)
                }, clock: clock))
    }

    private func server() throws -> MemoryServer {
        let server = MemoryServer()
        try server.createStream("test_stream", subjects: ["h4sh.>"])
        try server.createBucket("relay_sessions")
        return server
    }

    @Test("What a command throws closes its client, so that an exclusive session is free at once")
    func failure() async throws {
        let server = try server()
        let client = client(of: server)
        try await client.connect()
        #expect(server.messages(in: "KV_relay_sessions").last?.payload.isEmpty == false)
        let failure = RelayError.notAuthorized("reading chat.secret")
        await #expect(throws: failure) { try await client.whileInSession { throw failure } }
        #expect(client.status.state == .disconnected)
        #expect(server.messages(in: "KV_relay_sessions").last?.payload.isEmpty == true)
    }

    @Test("A session whose time to reconnect has passed says what its last attempt failed with")
    func passedWindow() async throws {
        let server = try server()
        let policy = ReconnectPolicy(schedule: [.milliseconds(5)], window: .seconds(1))
        let time = TimeByAttempts()
        let client = client(of: server, policy, clock: time) { time.attempted() }
        try await client.connect()
        server.refuseDials(with: .tls("unknown authority"))
        server.disconnectAll()
        await #expect {
            try await client.whileInSession { try await Task.sleep(for: .seconds(600)) }
        } throws: { error in
            guard let failure = error as? CommandFailure else { return false }
            return failure.code == 69 && failure.text.contains("did not succeed in time")
                && failure.text.contains("unknown authority")
        }
    }

    @Test("A call without a connection says why there is none")
    func explained() async throws {
        let server = try server()
        let client = client(of: server, ReconnectPolicy(schedule: [.milliseconds(5)]))
        #expect(client.explained(.notConnected).text == "There is no connection.")
        try await client.connect()
        #expect(client.explained(.timeout("A call")) == CommandFailure(.timeout("A call")))
        server.refuseDials(with: .connectionRefused("memory"))
        server.disconnectAll()
        try await eventually("the failed attempt") { client.status.reason?.words.contains("othing answers") == true }
        for error in [RelayError.notConnected, .timeout("A call"), .needsConnection("A call")] {
            let failure = client.explained(error)
            #expect(failure.text.contains("othing answers at memory") && failure.code == CommandFailure(error).code)
        }
        #expect(client.explained(.busy("A call")) == CommandFailure(.busy("A call")))
        await client.close()
    }
}
