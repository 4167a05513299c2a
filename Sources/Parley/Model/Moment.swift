import Relay

/// What both clocks said when an event was taken in: one that only runs on, one that people read.
struct Moment: Hashable, Sendable {
    /// The monotonic clock: deadlines and countdowns.
    var instant: ContinuousClock.Instant
    /// The wall clock: what is written next to a line.
    var wall: Timestamp
}
