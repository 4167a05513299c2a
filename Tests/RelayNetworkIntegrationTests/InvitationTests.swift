import NATS
import TestSupport
import Testing

@testable import RelayNetwork

@Suite("Network: invitations", .realProcesses, .certificates)
struct InvitedTests {
    /// Runs the body on a network that listens with a certificate, and has the file of its authority.
    private func run(
        _ server: String, _ body: @Sendable (TestNetwork, _ authority: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let authority = try TestCertificates.path("authority.pem")
        try folder.network.prepare()
        try folder.network.keep(
            NetworkListener(
                listen: "127.0.0.1:\(LoopbackPort.choose(preferred: nil))",
                tls: .init(
                    certificateFile: TestCertificates.path("server.pem"), keyFile: TestCertificates.path("server.key"),
                    authorityFile: authority)))
        try await TestNetwork.run(server: server, in: folder) { network in try await body(network, authority) }
    }

    private func failure(_ invitation: Invitation, _ authority: String?) async -> NetworkError? {
        do throws(NetworkError) {
            _ = try await invitation.accept(authorityFile: authority, timeout: .seconds(60))
            return nil
        } catch {
            return error
        }
    }

    /// The credentials in it are for the exchange alone.
    private func expectWalls(of invitation: Invitation, on network: TestNetwork) async throws {
        let stranger = try await network.connect(invitation.credentials, inboxPrefix: Invitation.inboxPrefix)
        for subject in [
            "\(network.description.hash).chat.a", "relay.postbox.alice.list", "net.API.STREAM.INFO.PB_alice",
            "relay.enrol.bob", "accounts.user.get_namespace",
        ] {
            await #expect(throws: NATSError.publishNotPermitted(subject: subject), "\(subject)") {
                _ = try await stranger.ask(to: subject)
            }
        }
        for subject in ["_INBOX.>", "_INBOX_alice.>", "relay.control.alice", "\(network.description.hash).>"] {
            let subscription = try stranger.subscribe(to: subject)
            await #expect(throws: NATSError.subscribeNotPermitted(subject: subject), "\(subject)") {
                for try await _ in subscription {}
            }
        }
        await stranger.close()
    }

    @Test(
        "Who has one gets credentials that nobody else has, once and for that alone; who has a void one is told why",
        arguments: TestServers.all)
    func accepted(server: String) async throws {
        try await run(server) { network, authority in
            let administrator = NetworkAdministrator(directory: network.directory)
            let end = NetworkAdministrator.now + 3_600
            let invitation = try await administrator.invite(
                user: "alice", rights: RightsChange(topics: ["chat.>"]), expires: end)
            #expect(invitation.servers == [network.description.url] && invitation.authority != nil)
            try await expectWalls(of: invitation, on: network)
            // As it is handed over.
            let received = try Invitation(parsing: invitation.text())
            let credentials = try await received.accept(authorityFile: authority, timeout: .seconds(60))
            let alice = try await network.connect(credentials)
            _ = try await alice.ask(to: "relay.postbox.alice.list")
            await alice.close()
            #expect(await failure(received, authority) == .invitation(.usedUp))

            let second = try await administrator.invite(user: "alice", expires: end)
            #expect(try await administrator.revokeInvitation(of: "alice") == .revoked)
            #expect(await failure(second, authority) == .invitation(.revoked))
            let third = try await administrator.invite(user: "alice", expires: end)
            // Whoever knows no authority, or another one, is not led astray.
            for file in [nil, try TestCertificates.path("stranger.pem")] {
                guard case .connection(.tls) = await failure(third, file) else {
                    Issue.record("a certificate that nobody vouches for was taken")
                    continue
                }
            }
            try await administrator.ban(user: "alice")
            #expect(await failure(third, authority) == .invitation(.refused))
        }
    }
}
