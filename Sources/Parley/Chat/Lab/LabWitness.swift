import Relay

/// Reads the followed topics over a connection of its own, without the lab's faults, to find messages that the chat did
/// not receive.
struct LabWitness: Sendable {
    private let configuration: RelayConfiguration

    /// Topics that are read at most, and messages of each.
    private static let (topicLimit, messageLimit) = (50, 10_000)

    /// - Parameter route: the way without the lab.
    init(_ configuration: RelayConfiguration, _ route: RelayRoute) {
        var own = configuration.besideLab(route)
        own.sessions = .shared
        self.configuration = own
    }

    /// The stream sequence after the newest message of each topic. Topics that cannot be read are left out.
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

    /// The messages of each topic from a stream sequence on.
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

    /// Nil where there is no connection.
    private func reading<Value: Sendable>(_ body: @Sendable (RelayClient) async -> Value) async -> Value? {
        let client = RelayClient(configuration: configuration)
        let isConnected = (try? await client.connect(timeLimit: 10)) != nil
        let value = isConnected ? await body(client) : nil
        await client.close()
        return value
    }
}
