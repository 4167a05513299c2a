import Dispatch

/// Lets one thread wait for another's work, with a limit: for the end of a program that is not a task itself.
struct Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() { semaphore.signal() }

    func wait() { semaphore.wait() }

    /// - Returns: whether it was opened in time.
    @discardableResult
    func wait(atMost limit: Duration) -> Bool {
        let (seconds, attoseconds) = limit.components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        return semaphore.wait(timeout: .now() + .nanoseconds(nanoseconds)) == .success
    }

    /// Waits until all are open, no longer than that altogether.
    ///
    /// - Returns: those that are not.
    static func closed(_ gates: [Gate], after limit: Duration) -> [Gate] {
        let end = ContinuousClock.now + limit
        return gates.filter { !$0.wait(atMost: max(.zero, ContinuousClock.now.duration(to: end))) }
    }
}
