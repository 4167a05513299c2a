import Relay

/// Reads the followed topics over its own connection, without the lab's faults, to find messages that the chat missed.
struct LabWitness: Sendable {
    private let configuration: RelayConfiguration

    /// The most topics to read, and messages of each.
    private static let (topicLimit, messageLimit) = (50, 10_000)

    /// - Parameter route: the route without the lab.
    init(_ configuration: RelayConfiguration, _ route: RelayRoute) {
        var own = configuration.besideLab(route)
        own.sessions = .shared
        self.configuration = own
    }

    /// The stream sequence after each topic's newest message. Topics that cannot be read are left out.
    func ends(of topics: [String]) async -> [String: UInt64] {
        await reading { client in
            var ends: [String: UInt64] = [:]
            for topic in topics.sorted().prefix(Self.topicLimit) {
                guard let page = try? await client.history(topic: topic, before: nil, limit: 1) else { continue }
                ends[topic] = (page.messages.last?.sequence ?? 0) &+ 1
            }
            return ends
        } ?? [:]
    }

    /// The messages of each topic from a stream sequence onwards.
    func messages(since places: [String: UInt64]) async -> [TopicMessage] {
        await reading { client in
            var messages: [TopicMessage] = []
            for (topic, place) in places {
                let history = try? await client.history(topic: topic, from: place, limit: Self.messageLimit)
                messages += history?.messages ?? []
            }
            return messages
        } ?? []
    }

    /// Runs the body with a connected client; nil if there is no connection.
    private func reading<Value: Sendable>(_ body: @Sendable (RelayClient) async -> Value) async -> Value? {
        let client = RelayClient(configuration: configuration)
        let isConnected = (try? await client.connect(timeLimit: 10)) != nil
        let value = isConnected ? await body(client) : nil
        await client.close()
        return value
    }
}
