import Relay

// The fourth example of the article "Connecting", word for word.

func connectWithProvider(
    servers: [String], newToken: @escaping @Sendable () async throws -> String
) async throws -> RelayClient {
    let configuration = RelayConfiguration(
        servers: .fixed(try RelayConfiguration.addresses(servers)),
        credentials: try .accessTokens(from: newToken),
        reconnect: .parley,
        sessions: .exclusive(.takeOver))
    let client = RelayClient(configuration: configuration)
    Task { [statuses = client.statuses] in
        for await status in statuses { print(status.words) }
    }
    try await client.connect(timeLimit: 30)
    return client
}
