import NATS

/// The callers that wait for a connection: all of them share one outcome.
struct ConnectWaiters: Sendable {
    private var waiters: [UInt64: Completion<RelayError?>] = [:]
    private var added: UInt64 = 0

    /// Adds a caller.
    mutating func add() -> (waiter: Completion<RelayError?>, key: UInt64) {
        added += 1
        let waiter = Completion<RelayError?>()
        waiters[added] = waiter
        return (waiter, added)
    }

    /// Forgets a caller that waits no more.
    mutating func remove(_ key: UInt64) { waiters[key] = nil }

    /// Gives all of them their outcome: nil for success.
    mutating func complete(_ error: RelayError?) {
        for waiter in waiters.values { waiter.fulfil(error) }
        waiters = [:]
    }
}
