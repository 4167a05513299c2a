import NATS

/// Runs work for a limited time, and continues without its result if it takes longer.
///
/// - Returns: The result; nil if the time was up or the task was cancelled. The work is then cancelled.
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
