/// An event of the application, or of the machine that it runs on.
public enum LifecycleEvent: Hashable, Sendable {
    /// The application is in the foreground: a person may be looking at it.
    case foreground
    /// The application is in the background. The ``LifecyclePolicy`` says what follows.
    case background
    /// The process is about to be stopped, or the machine to sleep: whatever the policy, the connection is closed while
    /// that is still possible. The next ``foreground`` brings it back.
    case stopping
    /// The machine slept, or the process was stopped, for this long, and runs again. The connection may be dead
    /// unnoticed.
    case woke(after: Duration)
    /// Something suggests checking the connection: one ping, with a short deadline.
    case probe
}

/// A source of lifecycle events: a terminal's focus, sleep, an idle person.
///
/// A client creates its sources at its first `connect` if ``RelayConfiguration/handleAppLifecycle`` is set, and ends
/// them when it is deallocated. It retains them, and they know it only through their receiver, which is weak: no source
/// keeps a client alive.
public protocol LifecycleSource: AnyObject, Sendable {
    /// Starts to report to a client. Called once. A source that knows the present state reports it now; otherwise the
    /// client assumes the foreground.
    func begin(_ receiver: LifecycleReceiver)

    /// Polls for an event that only polling reveals. Called when the client is awake anyway: with the timers of a
    /// connection, and at each return to the foreground.
    ///
    /// - Returns: The event since the last poll, if any.
    func look() -> LifecycleEvent?

    func end()
}

extension LifecycleSource {
    /// Nil: this source reports events itself.
    public func look() -> LifecycleEvent? { nil }
}

/// The receiver of a source's events: a client, which it does not keep alive.
public struct LifecycleReceiver: Sendable {
    private let receive: @Sendable (LifecycleEvent) -> Void

    /// Passes each event to a function, on the reporting thread.
    public init(_ receive: @escaping @Sendable (LifecycleEvent) -> Void) { self.receive = receive }

    /// Reports an event and returns at once. Events of one thread arrive in order.
    public func tell(_ event: LifecycleEvent) { receive(event) }
}
