import Platform

/// Whether a user may be connected from several devices at once.
public enum SessionPolicy: Hashable, Sendable {
    /// Any number of connections, side by side.
    case shared
    /// One connection; the policy says which of two stays. Both clients must follow it.
    case exclusive(KickPolicy)
}

/// Which of a user's two devices stays connected (RongCloud's and Nexconn's reconnect kick).
public enum KickPolicy: String, Hashable, Sendable, CaseIterable {
    /// A connecting device takes over the session; the other one is told by whom and stays out.
    case takeOver = "take-over"
    /// A connecting device, for the first time or again, stays out while another one holds the session.
    case yield
}

/// This client's claim to an exclusive session, as a pure value that decides by the user's entry in the network's
/// bucket.
///
/// The bucket `relay_sessions` has one entry per user with the holder of the session. The holder rewrites it every
/// ``renewal``; an entry that is not renewed expires by the bucket's age limit, so a dead device does not block others
/// for long.
package struct SessionClaim: Hashable, Sendable {
    /// How often the holder rewrites its entry; a third of the bucket's age limit.
    static let renewal = Duration.seconds(30)
    static let bucket = NetworkNames.sessions

    struct Holder: Codable, Hashable, Sendable {
        /// One client's session, for the life of the client.
        var session: String
        /// The device's name for people.
        var device: String
    }

    let me: Holder
    /// Which of two devices stays.
    let policy: KickPolicy
    /// The revision of this client's newest entry; nil while it holds none.
    private(set) var revision: UInt64?

    init(session: String, device: String, policy: KickPolicy) {
        me = Holder(session: session, device: device)
        self.policy = policy
    }

    /// A new session of the configured device; nil if sessions are shared.
    init?(_ configuration: RelayConfiguration) {
        guard case .exclusive(let policy) = configuration.sessions else { return nil }
        self.init(session: RandomText.uuid(), device: configuration.device, policy: policy)
    }

    /// The device that holds the session and keeps this one out; nil if the session may be claimed.
    func deviceKeepingOut(_ holder: Holder?) -> String? {
        guard policy == .yield, let holder, holder.session != me.session else { return nil }
        return holder.device
    }

    /// This client holds the session, with this revision of its entry.
    mutating func wrote(_ revision: UInt64) { self.revision = revision }

    /// The user's entry has changed.
    ///
    /// - Returns: The device that has taken over the session from this one.
    mutating func changed(to holder: Holder?, revision newest: UInt64) -> String? {
        guard let holder, newest >= revision ?? 0 else { return nil }
        if holder.session == me.session {
            // An entry whose acknowledgement was lost: the next one builds on it.
            if holder == me { revision = newest }
            return nil
        }
        revision = nil
        return holder.device
    }

    /// Gives up the session.
    ///
    /// - Returns: The entry to delete; nil if this client holds none.
    mutating func release() -> SessionClaim? {
        guard revision != nil else { return nil }
        defer { revision = nil }
        return self
    }

    var value: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return (try? Array(encoder.encode(me))) ?? []
    }

    /// The user's key in the bucket. Bytes outside the grammar of keys (ADR-8) are written as `=` and two hexadecimal
    /// digits.
    package static func key(for user: String) -> String {
        var key = ""
        for byte in user.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                key.append(Character(UnicodeScalar(byte)))
            default:
                key += byte < 16 ? "=0" : "="
                key += String(byte, radix: 16, uppercase: true)
            }
        }
        return key
    }
}
