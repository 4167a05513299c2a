import NIOConcurrencyHelpers
import Relay

/// A `RelayClient` as a client under test.
public final class RelaySubject: LabSubject {
    /// The client.
    public let client: RelayClient
    /// The configuration of the user's other devices, whose links have no faults.
    private let other: RelayConfiguration
    private let devices = NIOLockedValueBox<[RelayClient]>([])
    /// The longest wait for a message.
    private static let patience = Duration.seconds(24 * 3_600)
    private let connectLimit: Duration

    /// - Parameters:
    ///   - configuration: how it connects, usually to a link with faults.
    ///   - other: how another device connects.
    ///   - connectLimit: how long to wait for a connection.
    public init(_ configuration: RelayConfiguration, other: RelayConfiguration, connectLimit: Duration = .seconds(30)) {
        client = RelayClient(configuration: configuration)
        (self.other, self.connectLimit) = (other, connectLimit)
    }

    /// The current status and every change of it.
    public var statuses: AsyncStream<ConnectionStatus> { client.statuses }

    /// The number of messages waiting or in flight.
    public var queuedCount: Int { client.queuedCount }

    /// Connects.
    public func connect() async {
        // If it cannot connect, its status says why.
        try? await client.connect(within: connectLimit)
    }

    /// Ends the session here and on the other devices.
    public func close() async {
        await client.close()
        for device in devices.withLockedValue({ exchange(&$0, with: []) }) { await device.close() }
    }

    /// Reports an event of the application.
    public func lifecycleChanged(_ event: LifecycleEvent) async { await client.lifecycleChanged(event) }

    /// Signs in on another device.
    public func signIn(on device: String) async throws {
        var configuration = other
        configuration.device = device
        let second = RelayClient(configuration: configuration)
        devices.withLockedValue { $0.append(second) }
        try await second.connect(within: connectLimit)
    }

    /// Follows a topic from now on.
    public func read(topic: String) async throws -> LabReader? {
        let events = try await client.messages(topic: topic)
        return {
            // The events themselves keep what was read and not returned.
            for try await case .message(let message) in events {
                if let number = LabNumber(message: message.message) { return (number, message.isRecovered) }
            }
            return nil
        }
    }

    /// Gives the client a message.
    public nonisolated(nonsending) func send(
        _ number: LabNumber, topic: String
    ) async throws -> @Sendable () async -> LabOutcome {
        let pending = try await client.enqueue(topic: topic, message: .string(number.text))
        return {
            do throws(RelayError) {
                _ = try await pending.receipt(within: Self.patience)
                return .acknowledged
            } catch {
                if case .uncertain = error { return .uncertain }
                return .notSent(error.words)
            }
        }
    }
}
