import Relay
import TestSupport

@testable import RelayNetwork

extension PrivateNetworkFixture {
    /// Has alice send letters to a user's first postbox, as fast as they go and in order: `letter 1` and so on.
    func fill(_ user: String, letters count: Int) async throws {
        let file = folder.path("alice.creds")
        _ = try await objects("network", "user", "add", "alice", "--out", file, "--json")
        guard let url = description?.url else { throw TestFailure("the network does not run") }
        var configuration = RelayConfiguration(
            servers: .fixed(try RelayConfiguration.addresses([url])), credentials: try .file(file))
        configuration.followsNetwork = false
        let client = RelayClient(configuration: configuration)
        try await client.connect(timeLimit: 60)
        // What goes to one postbox keeps its order, so the last one is stored behind all of them.
        for number in 1..<count {
            try await client.enqueueLetter(to: user, postbox: "personal", text: "letter \(number)")
        }
        _ = try await client.post(to: user, postbox: "personal", text: "letter \(count)", timeout: .seconds(120))
        await client.close()
    }

    /// Sets what the network may use, before it is started for the first time.
    func setBounds(_ settings: String) throws {
        let directory = NetworkDirectory.standard(environment: environment)
        try directory.prepare()
        try PrivateFile.write(Array(settings.utf8), to: directory.settingsFile)
    }
}
