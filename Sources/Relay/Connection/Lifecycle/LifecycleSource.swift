/// What a client can be told of its application and of the machine under it.
public enum LifecycleEvent: Hashable, Sendable {
    /// The application is in the foreground: its person may be looking.
    case foreground
    /// The application is in the background. What follows is the ``LifecyclePolicy``'s matter.
    case background
    /// The process is about to be stopped, or the machine to sleep, and can keep no connection, whatever the policy: it
    /// is closed at once, while that can still be done. The next ``foreground`` brings it back.
    case stopping
    /// The machine slept for so long, or the process was stopped, and runs again. The connection may be dead without
    /// anybody having noticed.
    case woke(after: Duration)
    /// Something suggests that the connection is worth a look: one ping, whose answer is due soon.
    case probe
}

/// One signal of an application's or a machine's life: a terminal's focus, a sleep, a person who is idle.
///
/// A client makes its sources at its first `connect`, where ``RelayConfiguration/handleAppLifecycle`` says so, and ends
/// them when it goes. It holds them, and they hold it by nothing but their receiver, which is weak: no source keeps a
/// client alive.
public protocol LifecycleSource: AnyObject, Sendable {
    /// Begins to tell a client. Called once. A source that knows how things stand tells it now; otherwise the client
    /// takes its application for one in the foreground.
    func begin(_ receiver: LifecycleReceiver)

    /// Looks now for what can only be noticed by looking. Called when the client is awake anyway: with the timers of a
    /// connection, and at each return to the foreground.
    ///
    /// - Returns: what has happened since the last look, if anything has.
    func look() -> LifecycleEvent?

    /// Tells nothing any more.
    func end()
}

extension LifecycleSource {
    /// Nothing: this source tells by itself.
    public func look() -> LifecycleEvent? { nil }
}

/// Where a source's events go: a client, which it does not keep alive.
public struct LifecycleReceiver: Sendable {
    private let receive: @Sendable (LifecycleEvent) -> Void

    /// Hands each event to a function, on the thread that tells it.
    public init(_ receive: @escaping @Sendable (LifecycleEvent) -> Void) { self.receive = receive }

    /// Tells an event and returns at once. Events of one thread arrive in their order.
    public func tell(_ event: LifecycleEvent) { receive(event) }
}
