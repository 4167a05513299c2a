import Relay

/// The time of an event, by both clocks.
struct Moment: Hashable, Sendable {
    /// The monotonic clock, for deadlines and countdowns.
    var instant: ContinuousClock.Instant
    /// The wall clock, for the time shown next to a line.
    var wall: Timestamp
}
