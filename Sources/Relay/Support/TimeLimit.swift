import NATS

/// Runs work for a limited time, and goes on without its result when it takes longer.
///
/// - Returns: the result; nil when the time was up, or when the task was cancelled. Work that heeds cancellation is
///   then cancelled.
package func within<Value: Sendable>(
    _ limit: Duration, _ clock: any Timekeeper = SystemTime(), _ work: @escaping @Sendable () async -> Value
) async -> Value? {
    let outcome = Completion<Value?>()
    let worker = Task.detached { _ = outcome.fulfil(await work()) }
    let alarm = Task.detached {
        try? await clock.sleep(for: limit)
        outcome.fulfil(nil)
    }
    defer {
        worker.cancel()
        alarm.cancel()
    }
    return await outcome.value(onCancel: nil)
}
