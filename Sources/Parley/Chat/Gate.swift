import Dispatch

/// Lets one thread wait for another's work, with a time limit: for the end of the program, which is no task itself.
struct Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func open() { semaphore.signal() }

    func wait() { semaphore.wait() }

    /// - Returns: whether it was opened in time.
    func wait(atMost limit: Duration) -> Bool {
        semaphore.wait(timeout: .now() + limit / .seconds(1)) == .success
    }

    /// Waits until all are open, for at most `limit` altogether.
    ///
    /// - Returns: those still closed.
    @discardableResult
    static func closed(_ gates: [Gate], after limit: Duration) -> [Gate] {
        let end = ContinuousClock.now + limit
        return gates.filter { !$0.wait(atMost: max(.zero, ContinuousClock.now.duration(to: end))) }
    }
}
