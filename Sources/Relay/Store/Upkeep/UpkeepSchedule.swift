/// When an open store is looked after, as a pure value: what its retention policy does not keep is deleted in small
/// steps, with pauses between them in which everybody else has the writer.
package struct UpkeepSchedule: Hashable, Sendable {
    /// How a step went.
    package enum Outcome: Hashable, Sendable {
        /// Something was done in this time, and there may be more.
        case more(took: Duration)
        /// Nothing was to be done.
        case done
        /// The store could not be used.
        case failed
    }

    /// The time from the opening to the first step: whoever has just started the program is shown what they wait for
    /// first.
    package var beginning: Duration
    /// The time between two looks at a store that is in order.
    package var interval: Duration
    /// The shortest pause between two steps.
    package var pause: Duration
    /// The longest time between two looks at a store that cannot be used.
    package var longest: Duration
    private var failures = 0

    /// Makes a schedule.
    package init(
        beginning: Duration = .seconds(10), interval: Duration = .seconds(60), pause: Duration = .milliseconds(50),
        longest: Duration = .seconds(3_600)
    ) {
        self.beginning = beginning
        self.interval = interval
        self.pause = pause
        self.longest = longest
    }

    /// How long to wait after a step. On a slow disk steps take longer, and the pauses with them: three quarters of the
    /// time are everybody else's.
    package mutating func wait(after outcome: Outcome) -> Duration {
        switch outcome {
        case .more(let took):
            failures = 0
            return max(pause, took * 3)
        case .done:
            failures = 0
            return interval
        case .failed:
            failures += 1
            return min(longest, interval * (1 << min(failures, 10)))
        }
    }
}
