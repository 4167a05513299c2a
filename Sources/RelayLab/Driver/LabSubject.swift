import Relay

/// How a message ended, as the client under test says it.
public enum LabOutcome: Hashable, Sendable {
    /// The server has stored it.
    case acknowledged
    /// It was not sent, for this reason.
    case notSent(String)
    /// The client does not know.
    case uncertain
}

/// A message that a client under test has delivered.
public struct LabDelivery: Hashable, Sendable {
    /// Which one.
    public var number: LabNumber
    /// Whether it was missed and brought back.
    public var isRecovered: Bool

    /// Makes a delivery.
    public init(_ number: LabNumber, isRecovered: Bool = false) {
        self.number = number
        self.isRecovered = isRecovered
    }
}

/// What a client under test delivers.
public protocol LabReader: Sendable {
    /// The next message with a number, in the order of delivery; nil at the end, or when the task was cancelled.
    func next() async throws -> LabDelivery?
}

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
    /// Follows a topic from now on.
    func read(topic: String) async throws -> any LabReader
    /// Hands a message over, at once: before anything is waited for, so that several that are handed over keep their
    /// order.
    ///
    /// - Returns: what waits for its end.
    /// - Throws: where the client does not take it.
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

/// In the place of a client under test that is another program: nothing is known of it, and nothing can be asked of it.
public struct LabBystander: LabSubject {
    /// Why nothing can be asked of it.
    public struct Silence: Error, CustomStringConvertible {
        /// A sentence.
        public var description: String { "The client behind the proxy is another program, which the lab cannot ask." }
    }

    /// Stands by.
    public init() {}

    /// None.
    public var statuses: AsyncStream<ConnectionStatus> { AsyncStream { $0.finish() } }
    /// None that is known of.
    public var queuedCount: Int { 0 }
    /// Does nothing.
    public func connect() async {}
    /// Does nothing.
    public func close() async {}
    /// Does nothing.
    public func lifecycleChanged(_ event: LifecycleEvent) async {}
    /// Cannot be done.
    public func signIn(on device: String) async throws { throw Silence() }
    /// Nothing to read.
    public func read(topic: String) async throws -> any LabReader { Nothing() }
    /// Cannot be done.
    public func send(_ number: LabNumber, topic: String) throws -> @Sendable () async -> LabOutcome { throw Silence() }

    private struct Nothing: LabReader {
        func next() async throws -> LabDelivery? { nil }
    }
}
