import NATS
import Relay

/// The bucket of who is here: an entry for each user, device and topic, gone 90 s after its owner last wrote it. It is
/// in memory, for it is worth nothing after a restart.
///
/// An entry's key is `<user>.<device>.<topic>`, since subjects are all that an import can tell apart: a user's account
/// writes below the own name alone, and reads of the others what ends in a topic that it was granted. One key for each
/// user, with a list of topics as its value, would tell those who may read it of every topic in the list. So that a
/// user of thousands of topics does not write thousands of entries each half minute, clients enter a bounded number of
/// topics, the latest that their person looked at.
enum PresenceBucket {
    /// The bucket's name.
    static let name = NetworkNames.presence
    /// The stream that holds it.
    static let stream = NetworkNames.stream(ofBucket: name)
    /// How long an entry lives, in nanoseconds.
    static let lifetime: Int64 = 90 * 1_000_000_000
    /// What all entries may take. Old ones give way, so that nobody keeps others out by filling it; who is here writes
    /// the own again within 30 s, and the host empties it of whoever does.
    static let maximumBytes: Int64 = 64 << 20
    /// The largest entry with its subject and headers: a short text about where somebody is.
    static let maximumEntryBytes: Int32 = 2_048

    /// In memory, with lifetime and bounds.
    static var configuration: StreamConfiguration {
        var stream = NetworkPlan.bucket(name)
        stream.storage = .memory
        stream.discard = .old
        stream.maximumAge = lifetime
        stream.duplicateWindow = lifetime
        stream.maximumBytes = maximumBytes
        stream.maximumMessageSize = maximumEntryBytes
        return stream
    }

    /// The entries that a user may write, for a topic or pattern.
    static func own(_ user: UserName, in topic: String) -> String {
        NetworkNames.key("\(user.key).*.\(topic)", in: name)
    }

    /// Everybody's entries in a topic or pattern.
    static func everybody(in topic: String) -> String { NetworkNames.key("*.*.\(topic)", in: name) }
}

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
