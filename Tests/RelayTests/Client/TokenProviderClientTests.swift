import NATS
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Relay

/// Credentials that come while others are being asked for.
@Suite("Client: token providers", .realProcesses)
struct TokenProviderClientTests {
    private let network: MemoryNetwork

    init() throws { network = try MemoryNetwork() }

    /// A provider whose answers come when the test gives them, whether or not anybody still waits.
    private final class Desk: Sendable {
        private let requests = NIOLockedValueBox<[Completion<RelayCredentials?>]>([])

        var count: Int { requests.withLockedValue(\.count) }

        func ask() async throws -> RelayCredentials {
            let tokenRequest = Completion<RelayCredentials?>()
            requests.withLockedValue { $0.append(tokenRequest) }
            guard let credentials = await tokenRequest.value() else { throw RelayError.cancelled }
            return credentials
        }

        func answer(_ credentials: RelayCredentials?, to index: Int = 0) {
            requests.withLockedValue { $0[index] }.fulfil(credentials)
        }

        func isAsked(_ times: Int = 1) async throws {
            try await eventually("request number \(times)") { count == times }
        }
    }

    @Test("B5 B7 a provider's late answer replaces no newer credentials", arguments: [true, false])
    func lateAnswer(isFirst: Bool) async throws {
        let desk = Desk()
        let start = isFirst ? nil : try UserToken.credentials(expires: 1)
        let client = network.client(with: .provided(startingWith: start) { try await desk.ask() })
        await client.beginConnecting()
        try await desk.isAsked()
        let request = try #require(await client.run { $0.login.request })
        await client.disconnect()
        try await client.use(UserToken.credentials(for: "bob"))
        desk.answer(try UserToken.credentials())
        _ = await request.value
        #expect(client.user == "bob")
        try await client.connect()
        #expect(client.user == "bob")
        await client.close()
    }

    @Test("B5 a provider is asked once, however many sessions wait for its answer")
    func singleFlight() async throws {
        let desk = Desk()
        let client = network.client(with: .provided { try await desk.ask() })
        let first = Task { try await client.connect() }
        try await desk.isAsked()
        // It takes longer than it may, and does not heed its cancellation.
        let limit = client.configuration.tokenRenewal.timeout
        try await eventually("the provider's limit") { network.time.waits.contains(limit) }
        network.time.advance(by: limit)
        let gaveNone = RelayError.connection(.invalidCredentials("the token provider gave none"))
        await #expect(throws: gaveNone) { try await first.value }
        await client.beginConnecting()
        await client.disconnect()
        let connecting = Task { try await client.connect() }
        try await client.state(is: .connecting)
        desk.answer(try UserToken.credentials())
        try await connecting.value
        #expect(desk.count == 1 && client.user == "alice")
        await client.close()
    }

    @Test("B5 a provider that comes during a session is asked in it")
    func givenDuringSession() async throws {
        let desk = Desk()
        let client = try network.client(with: UserToken.credentials())
        try await client.connect()
        let expired = try UserToken.credentials(expires: 1)
        try await client.use(.provided(startingWith: expired) { try await desk.ask() })
        await client.setReachable(false)
        await client.setReachable(true)
        try await desk.isAsked()
        desk.answer(try UserToken.credentials())
        try await client.state(is: .connected)
        await client.close()
    }

    @Test("B7 a renewal that names another user ends the session and changes nothing")
    func otherUser() async throws {
        let desk = Desk()
        let expired = try UserToken.credentials(expires: 1)
        let client = network.client(with: .provided(startingWith: expired) { try await desk.ask() })
        let connecting = Task { try await client.connect() }
        try await desk.isAsked()
        desk.answer(try UserToken.credentials(for: "bob"))
        await #expect(throws: RelayError.connection(.tokenExpired)) { try await connecting.value }
        #expect(client.user == "alice" && client.configuration.credentials.user == "alice")
    }

    @Test("The credentials say who this is; the configuration does where they don't")
    func names() throws {
        let configuration = RelayConfiguration(
            servers: .fixed([]), credentials: try UserToken.credentials(), user: "somebody")
        #expect(configuration.user == "alice")
        #expect(RelayConfiguration(servers: .fixed([]), user: "somebody").user == "somebody")
        // A name for people is no part of a subject.
        for name in ["Alice Liddell", "a.b", "alice>", ""] { #expect(try UserToken.credentials(for: name).user == nil) }
    }

    @Test("B5 credentials that come from elsewhere end the wait for the provider")
    func givenMeanwhile() async throws {
        let desk = Desk()
        let expired = try UserToken.credentials(expires: 1)
        let client = network.client(with: .provided(startingWith: expired) { try await desk.ask() })
        await client.beginConnecting()
        try await desk.isAsked()
        try await client.use(UserToken.credentials())
        try await client.state(is: .connected)
        desk.answer(nil)
        await client.close()
    }

    @Test("B5 the server, not the clock here, judges a token that was just made")
    func clockAhead() async throws {
        let desk = Desk()
        let expired = try UserToken.credentials(expires: 1)
        let client = network.client(with: .provided(startingWith: expired) { try await desk.ask() })
        await client.beginConnecting()
        try await desk.isAsked()
        // By a clock that is some minutes ahead, every new token looks like this.
        desk.answer(expired)
        try await client.state(is: .connected)
        #expect(desk.count == 1 && network.server.lastLogin?.jwt == expired.token)
        await client.close()
    }

    @Test("B5 B11 expired credentials end in DISCONNECTED and the status says so")
    func expired() async throws {
        let expired = try UserToken.credentials(expires: 1)
        let client = network.client(with: .provided(startingWith: expired) { throw RelayError.cancelled })
        await #expect(throws: RelayError.connection(.tokenExpired)) { try await client.connect() }
        #expect(client.status.state == .disconnected && client.status.reason == .tokenExpired)
        #expect(network.server.dials == 0)
    }
}
