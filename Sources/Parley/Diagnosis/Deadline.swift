import Dispatch

/// How long a check of `parley doctor` may take. What has much else to do takes seconds for what it does in no time
/// otherwise, and is not to be told as what does not answer at all.
enum CheckLimit {
    /// A file, a program, a name's look-up, a TCP connection or a round trip.
    static let step = Duration.seconds(10)
    /// A connection with its login, or what is asked over one.
    static let connection = Duration.seconds(15)
}

/// Runs a call that blocks its thread, such as a name's look-up, away from the tasks' threads.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        // Dispatch makes further threads while some are blocked; the tasks' pool has one for each processor and no
        // more.
        DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
}
