import Dispatch

/// How long a check of `parley doctor` may take: long enough that a busy machine is not reported as unresponsive.
enum CheckLimit {
    /// A file, a program, a DNS lookup, a TCP connection or a round trip.
    static let step = Duration.seconds(10)
    /// A connection with its login, or a request over one.
    static let connection = Duration.seconds(15)
}

/// Runs a blocking call, such as a DNS lookup, outside the cooperative pool.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        // Dispatch adds threads while some are blocked; the pool has only one per processor.
        DispatchQueue.global().async { continuation.resume(returning: body()) }
    }
}
