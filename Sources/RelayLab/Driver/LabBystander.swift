import Relay

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
    public func send(_ number: LabNumber, topic: String) async throws -> @Sendable () async -> LabOutcome {
        throw Silence()
    }

    private struct Nothing: LabReader {
        func next() async throws -> LabDelivery? { nil }
    }
}
