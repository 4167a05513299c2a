import Dispatch

/// Lets one thread wait for another's work, with a limit: for the end of a program that is not a task itself.
struct Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() { semaphore.signal() }

    func wait() { semaphore.wait() }

    /// - Returns: whether it was opened in time.
    func wait(atMost limit: Duration) -> Bool {
        semaphore.wait(timeout: .now() + limit / .seconds(1)) == .success
    }

    /// Waits until all are open, no longer than that altogether.
    ///
    /// - Returns: those that are not.
    @discardableResult
    static func closed(_ gates: [Gate], after limit: Duration) -> [Gate] {
        let end = ContinuousClock.now + limit
        return gates.filter { !$0.wait(atMost: max(.zero, ContinuousClock.now.duration(to: end))) }
    }
}
