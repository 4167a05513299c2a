import Relay

/// What becomes of the connection while the person looks elsewhere. ^Z, a hang-up and the machine's sleep end it in any
/// case, and where its terminal is detached it is not kept by `/notify on` either: nobody would hear of anything.
struct Suspension: Hashable, Sendable {
    /// How long it is kept then; nil for as long as the person is away.
    var time: Duration? = .seconds(120)
    /// Whether the person wants it kept whatever that time is; nil where they have chosen nothing.
    var keeps: Bool?
    /// Whether tmux or screen, in which the client runs, has no terminal.
    var isDetached = false
    var isExplained = false

    var effectiveTime: Duration? { keeps == true && !isDetached ? nil : time }

    var policy: LifecyclePolicy { effectiveTime.map { .suspend(after: $0) } ?? .ignore }

    /// A time as `/suspend-after` takes it: `5m`, `90s`, seconds without a unit; nil within for never. Nil for no time.
    static func time(_ text: String) -> Duration?? {
        if ["0", "off", "never"].contains(text.lowercased()) { return .some(nil) }
        guard let seconds = PastTime.seconds(text.lowercased()), seconds < 1e9 else { return nil }
        let time: Duration? = seconds > 0 ? .seconds(seconds) : nil
        return .some(time)
    }
}
