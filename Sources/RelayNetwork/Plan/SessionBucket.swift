import NATS
import Relay

/// The bucket of exclusive sessions: a key for each user, gone 90 s after its owner last wrote it, so that a session
/// whose owner died without releasing it does not keep other devices out for long. Owners write theirs every 30 s.
enum SessionBucket {
    /// The bucket's name.
    static let name = NetworkNames.sessions
    /// How long a key lives, in nanoseconds.
    static let lifetime: Int64 = 90 * 1_000_000_000

    /// A bucket with a lifetime.
    static var configuration: StreamConfiguration {
        var stream = NetworkPlan.bucket(name)
        stream.maximumAge = lifetime
        stream.duplicateWindow = lifetime
        stream.maximumBytes = 16 << 20
        return stream
    }
}
