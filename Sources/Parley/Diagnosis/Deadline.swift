import Dispatch

/// Runs a call that blocks its thread, such as a name's look-up, away from the tasks' threads.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        // Dispatch makes further threads while some are blocked; the tasks' pool has one for each processor and no
        // more.
        DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
}
