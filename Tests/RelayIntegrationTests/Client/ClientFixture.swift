import NATS
import NIOCore
import TestSupport

@testable import Relay

/// A real server with one namespace and one postbox stream, as the network's host would have made them.
struct ClientFixture: Sendable {
    let server: NATSServerProcess
    static let namespace = RelayConfiguration.Namespace(name: "test", hash: "h4sh")
    static let user = "alice"
    /// With the sender behind them, as a network's server puts it there, and without.
    static let postboxes = ["personal", "work"].flatMap { ["postbox.alice.\($0)", "postbox.alice.\($0).*"] }

    static func start(
        _ binary: NATSServerBinary = NATSServerProcess.anyBinary, maximumConsumers: Int? = nil
    ) async throws -> ClientFixture {
        let fixture = ClientFixture(server: try await NATSServerProcess.start(binary))
        try await fixture.withJetStream { jetStream in
            var topics = StreamConfiguration(name: "test_stream", subjects: ["h4sh.>"])
            topics.maximumConsumers = maximumConsumers
            try await jetStream.createStream(topics)
            try await jetStream.createStream(
                StreamConfiguration(name: "PB_alice", subjects: Self.postboxes))
        }
        return fixture
    }

    func withJetStream<Value: Sendable>(_ body: (JetStream) async throws -> Value) async throws -> Value {
        let connection = try await NATSConnection.connect(
            to: try ServerAddress(parsing: server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        let value = try await body(JetStream(connection, timeout: .seconds(60)))
        await connection.close()
        return value
    }

    /// Stores a letter as any client of the network would.
    @discardableResult
    func post(_ text: String, postbox: String = "personal") async throws -> UInt64 {
        try await withJetStream { jetStream in
            let letter = PostboxLetter(id: RelayClient.newID(), createdAt: 0, message: text)
            return try await jetStream.publish(
                ByteBuffer(bytes: letter.encoded()), to: "postbox.alice.\(postbox).bob"
            ).sequence
        }
    }

    func configuration(
        reconnect: ReconnectPolicy = .parley, lifecycle: LifecyclePolicy = .ignore, outbox: OutboxPolicy = .parley,
        user: String? = ClientFixture.user
    ) throws -> RelayConfiguration {
        RelayConfiguration(
            servers: .fixed(try RelayConfiguration.addresses([server.url])), user: user,
            namespace: Self.namespace, reconnect: reconnect, lifecycle: lifecycle, outbox: outbox,
            dialTimeout: .seconds(60))
    }

    func client(
        reconnect: ReconnectPolicy = .parley, lifecycle: LifecyclePolicy = .ignore, outbox: OutboxPolicy = .parley
    ) async throws -> RelayClient {
        let client = RelayClient(
            configuration: try configuration(reconnect: reconnect, lifecycle: lifecycle, outbox: outbox))
        await client.setLimits(publish: .seconds(60))
        try await client.connect(timeLimit: 60)
        return client
    }
}

/// Collects what a sequence brings, so that a test can wait for it with a deadline.
actor Collector<Element: Sendable> {
    private(set) var elements: [Element] = []
    private(set) var failure: (any Error)?
    private(set) var isFinished = false

    func start<Source: AsyncSequence & Sendable>(_ source: Source) where Source.Element == Element {
        Task { [weak self] in
            do {
                for try await element in source { await self?.add(element) }
                await self?.finish(nil)
            } catch {
                await self?.finish(error)
            }
        }
    }

    private func add(_ element: Element) { elements.append(element) }

    private func finish(_ error: (any Error)?) {
        failure = error
        isFinished = true
    }

    /// Waits until `condition` holds of what has come.
    func wait(
        for what: String, deadline: Duration = .seconds(60), _ condition: @Sendable ([Element]) -> Bool
    ) async throws {
        try await eventually(what, deadline: deadline) { condition(elements) }
    }
}

extension Collector where Element == TopicEvent {
    var texts: [String] {
        elements.compactMap { if case .message(let message) = $0 { message.text } else { nil } }
    }
}

extension RelayClient {
    func state(is state: ConnectionStatus.State, deadline: Duration = .seconds(60)) async throws {
        try await eventually("the state \(state)", deadline: deadline) { status.state == state }
    }
}

extension RelayClient {
    /// Gives calls that wait for the server the time of a slow machine.
    func setLimits(publish: Duration? = nil, discovery: Duration? = nil) {
        settings.withLockedValue { settings in
            if let publish { settings.limits.publish = publish }
            if let discovery { settings.limits.discovery = discovery }
        }
    }

    /// Takes the connection away, as the background does, or lets it come back.
    func setReachable(_ isReachable: Bool) {
        connection.handle(isReachable ? .resumeRequested : .suspendRequested, for: self)
    }
}
