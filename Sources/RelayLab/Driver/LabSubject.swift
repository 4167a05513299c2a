import Relay
import RelayFaults

/// The outcome of a message, as reported by the client under test.
public enum LabOutcome: Hashable, Sendable {
    /// The server stored it.
    case acknowledged
    /// It was not sent, for this reason.
    case notSent(String)
    /// It is unknown whether it was stored.
    case uncertain
}

/// Returns the next numbered message that a client under test delivers, and whether it was recovered; nil at the end.
public typealias LabReader = @Sendable () async throws -> (number: LabNumber, isRecovered: Bool)?

/// A client under test: `RelayClient` as ``RelaySubject``, or another with the same functions.
public protocol LabSubject: Sendable {
    /// The current status and every change of it.
    var statuses: AsyncStream<ConnectionStatus> { get }
    /// The number of messages waiting or in flight.
    var queuedCount: Int { get }
    /// Connects; returns once connected, or when that is impossible.
    func connect() async
    /// Ends the session.
    func close() async
    /// Reports an event of the application.
    func lifecycleChanged(_ event: LifecycleEvent) async
    /// Signs the same user in on another device, until ``close()``.
    func signIn(on device: String) async throws
    /// Follows a topic from now on; nil if someone else reads it.
    func read(topic: String) async throws -> LabReader?
    /// Gives the client a message, before any suspension, so that several keep their order. Returns a function that
    /// waits for its outcome; throws if the client does not accept it.
    nonisolated(nonsending) func send(
        _ number: LabNumber, topic: String
    ) async throws -> @Sendable () async -> LabOutcome
}

/// The link between a client under test and its server.
public protocol LabLink: Sendable {
    /// Sets the faults from now on, replacing all earlier ones.
    func set(_ conditions: [LabAct]) async throws
    /// Affects the open connections once, or their next message.
    func strike(_ act: LabAct) async throws
}

/// The server's side of a network that Parley started.
public protocol LabServerSide: Sendable {
    /// Carries out an act that needs a network.
    func perform(_ act: LabAct) async throws
}

/// A link through a fault proxy.
public struct ProxyLink: LabLink {
    private let proxy: FaultProxy

    /// Makes the link of a proxy.
    public init(_ proxy: FaultProxy) { self.proxy = proxy }

    /// Sets the faults; those of different kinds are combined.
    public func set(_ conditions: [LabAct]) async throws {
        for act in conditions { try check(act) }
        try await proxy.set(
            conditions.compactMap { act in
                switch act.name.row.deed {
                case .condition(let fault): fault(act)
                case .restore, .strike, .message, .server, .administrator, .client, .send, .reading: nil
                }
            })
    }

    /// Affects the open connections once, or their next message; throws `LabActError.encrypted` if it cannot see those.
    public func strike(_ act: LabAct) async throws {
        try check(act)
        switch act.name.row.deed {
        case .strike(let body): await body(proxy, act)
        case .message(let fault): await proxy.strike(fault, act.direction)
        case .condition, .restore, .server, .administrator, .client, .send, .reading:
            throw LabActError.notHere(act.name)
        }
    }

    /// Throws if the act affects single messages, which the proxy cannot see on an encrypted link.
    private func check(_ act: LabAct) throws {
        if act.name.isOfMessage, proxy.target.usesTLS { throw LabActError.encrypted(act.name) }
    }
}
