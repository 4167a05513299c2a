import Dispatch

/// Runs work for a limited time, and goes on without its result when it takes longer.
///
/// - Returns: the result; nil when the time was up. Work that heeds cancellation is then cancelled.
func within<Value: Sendable>(_ limit: Duration, _ work: @escaping @Sendable () async -> Value) async -> Value? {
    let (outcomes, continuation) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingOldest(1))
    let worker = Task.detached { _ = continuation.yield(await work()) }
    let timer = Task.detached {
        try? await Task.sleep(for: limit)
        continuation.yield(nil)
    }
    defer {
        worker.cancel()
        timer.cancel()
    }
    for await first in outcomes { return first }
    return nil
}

/// Runs a call that blocks its thread, such as a name's look-up, away from the tasks' threads.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
}
