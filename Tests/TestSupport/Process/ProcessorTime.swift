import Platform

/// What a calculation takes of a processor, however many others want it.
public enum ProcessorTime {
    /// The time that this thread spent on a processor in `body`.
    public static func measure(_ body: () -> Void) -> Duration {
        let begin = ofThread
        body()
        return ofThread - begin
    }

    private static var ofThread: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}
