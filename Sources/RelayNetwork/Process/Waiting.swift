/// Sleeping with this module's error.
enum Pause {
    /// Sleeps; throws `cancelled` when the task is cancelled.
    static func sleep(_ duration: Duration) async throws(NetworkError) {
        do {
            try await Task.sleep(for: duration)
        } catch {
            throw .cancelled
        }
    }

    /// Waits for the task's cancellation.
    static func untilCancelled() async throws(NetworkError) {
        while true { try await sleep(.seconds(3_600)) }
    }
}

/// Does something again as long as it fails for a reason that may pass.
/// - Parameters:
///   - end: when it is given up.
///   - pause: how long is waited before each further time.
///   - mayPass: whether an error is such a reason.
func persist<R>(
    until end: ContinuousClock.Instant, every pause: Duration, where mayPass: (NetworkError) -> Bool = { _ in true },
    _ body: () async throws -> R
) async throws(NetworkError) -> R {
    while true {
        do throws(NetworkError) { return try await reached(body) } catch {
            if Task.isCancelled { throw .cancelled }
            guard mayPass(error), ContinuousClock.now < end else { throw error }
        }
        try await Pause.sleep(pause)
    }
}

/// Runs all of these until one of them ends, and cancels the others then. All have ended when this returns.
/// - Returns: what the first one returned.
/// - Throws: what the first one threw.
func untilOneEnds<R: Sendable>(_ works: (@Sendable () async throws -> R)...) async throws(NetworkError) -> R {
    try await untilOneEnds(among: works)
}

/// The same for any number of them.
func untilOneEnds<R: Sendable>(among works: [@Sendable () async throws -> R]) async throws(NetworkError) -> R {
    let first = await withTaskGroup(of: Result<R, NetworkError>.self) { group in
        for work in works {
            group.addTask {
                do { return .success(try await work()) } catch { return .failure(NetworkError(error)) }
            }
        }
        let first = await group.next()
        group.cancelAll()
        await group.waitForAll()
        return first
    }
    return try (first ?? .failure(.cancelled)).get()
}
