import Relay
import RelayFaults

/// How a message ended, as the client under test says it.
public enum LabOutcome: Hashable, Sendable {
    /// The server has stored it.
    case acknowledged
    /// It was not sent, for this reason.
    case notSent(String)
    /// The client does not know.
    case uncertain
}

/// The next message with a number that a client under test delivers, and whether it was missed and brought back; nil at
/// the end, or when the task was cancelled.
public typealias LabReader = @Sendable () async throws -> (number: LabNumber, isRecovered: Bool)?

/// A client under test: `RelayClient` by ``RelaySubject``, or anything that can be asked the same.
public protocol LabSubject: Sendable {
    /// The status now, and every change of it.
    var statuses: AsyncStream<ConnectionStatus> { get }
    /// How many messages wait or are under way.
    var queuedCount: Int { get }
    /// Asks for a connection; returns when it is there, or is not to be had.
    func connect() async
    /// Ends the session.
    func close() async
    /// Tells what happens to the application.
    func lifecycleChanged(_ event: LifecycleEvent) async
    /// Signs the same user in on another device, until ``close()``.
    func signIn(on device: String) async throws
    /// Follows a topic from now on; nil where somebody else reads it.
    func read(topic: String) async throws -> LabReader?
    /// Hands a message over, at once: before anything is waited for, so that several that are handed over keep their
    /// order. Returns what waits for its end; throws where the client does not take it.
    nonisolated(nonsending) func send(
        _ number: LabNumber, topic: String
    ) async throws -> @Sendable () async -> LabOutcome
}

/// The link between a client under test and its server.
public protocol LabLink: Sendable {
    /// Sets what goes wrong from now on, in the place of everything before.
    func set(_ conditions: [LabAct]) async throws
    /// Does something to the connections that are there, or to their next message.
    func strike(_ act: LabAct) async throws
}

/// The server's side of a network that Parley started.
public protocol LabServerSide: Sendable {
    /// Does one of the acts that need a network.
    func perform(_ act: LabAct) async throws
}

/// A link whose faults a proxy makes.
public struct ProxyLink: LabLink {
    private let proxy: FaultProxy

    /// The link through a proxy.
    public init(_ proxy: FaultProxy) { self.proxy = proxy }

    /// Sets what goes wrong. Of several conditions that refuse or silence, each does what it does.
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

    /// Does something to the connections that are there, or to their next message; throws `LabActError.encrypted` where
    /// no message can be told.
    public func strike(_ act: LabAct) async throws {
        try check(act)
        switch act.name.row.deed {
        case .strike(let body): await body(proxy, act)
        case .message(let fault): await proxy.strike(fault, act.direction)
        case .condition, .restore, .server, .administrator, .client, .send, .reading:
            throw LabActError.notHere(act.name)
        }
    }

    /// Throws where the act spoils messages and the link is encrypted, of which the proxy can tell none.
    private func check(_ act: LabAct) throws {
        if act.name.isOfMessage, proxy.target.usesTLS { throw LabActError.encrypted(act.name) }
    }
}
