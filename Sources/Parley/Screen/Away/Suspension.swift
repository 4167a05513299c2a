import Relay

/// What happens to the connection while the person looks elsewhere. ^Z, a hang-up and the machine's sleep always end
/// it. While the terminal is detached, `/notify on` does not keep it either: no one would notice a notification.
struct Suspension: Hashable, Sendable {
    /// How long it is kept; nil to keep it for as long as the person is away.
    var time: Duration? = .seconds(120)
    /// Whether the person wants it kept regardless of `time`; nil if they have not chosen.
    var keeps: Bool?
    /// Whether the tmux or screen that the client runs in has no terminal attached.
    var isDetached = false
    var isExplained = false

    var effectiveTime: Duration? { keeps == true && !isDetached ? nil : time }

    var policy: LifecyclePolicy { effectiveTime.map { .suspend(after: $0) } ?? .ignore }

    /// Parses an argument of `/suspend-after`: `5m`, `90s`, seconds without a unit; `.some(nil)` for never, nil if
    /// invalid.
    static func time(_ text: String) -> Duration?? {
        if ["0", "off", "never"].contains(text.lowercased()) { return .some(nil) }
        guard let seconds = PastTime.seconds(text.lowercased()), seconds < 1e9 else { return nil }
        let time: Duration? = seconds > 0 ? .seconds(seconds) : nil
        return .some(time)
    }
}
