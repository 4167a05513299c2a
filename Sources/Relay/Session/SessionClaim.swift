import Platform

/// Whether one user may be connected from several devices at the same time.
public enum SessionPolicy: Hashable, Sendable {
    /// Any number of connections, side by side.
    case shared
    /// One connection; the policy says which of two stays. Both clients must keep to it.
    case exclusive(KickPolicy)
}

/// Which of two devices of one user stays connected (RongCloud's and Nexconn's reconnect kick).
public enum KickPolicy: String, Hashable, Sendable, CaseIterable {
    /// The device that connects takes the session over; the other one learns by whom and stays out.
    case takeOver = "take-over"
    /// The device that connects, for the first time or again, stays out while another one holds the session.
    case yield
}

/// This client's claim to an exclusive session, as a pure value: it decides by what the network's bucket holds for the
/// user.
///
/// The bucket `relay_sessions` holds one entry per user: who holds the session. Its owner writes it again every
/// ``renewal``; an entry that is not renewed vanishes by the bucket's age limit, so a device that died does not block
/// others for long.
package struct SessionClaim: Hashable, Sendable {
    /// How often the owner writes its entry again; a third of the bucket's age limit.
    static let renewal = Duration.seconds(30)
    /// The bucket of all users' sessions.
    static let bucket = NetworkNames.sessions

    /// Who holds a session.
    struct Holder: Codable, Hashable, Sendable {
        /// One client's session, from its making on.
        var session: String
        /// The device's name for people.
        var device: String
    }

    /// This client.
    let me: Holder
    /// Which of two stays.
    let policy: KickPolicy
    /// The revision of this client's newest entry; nil while it holds none.
    private(set) var revision: UInt64?

    init(session: String, device: String, policy: KickPolicy) {
        me = Holder(session: session, device: device)
        self.policy = policy
    }

    /// A new session of the configured device; nil where sessions are shared.
    init?(_ configuration: RelayConfiguration) {
        guard case .exclusive(let policy) = configuration.sessions else { return nil }
        self.init(session: RandomText.uuid(), device: configuration.device, policy: policy)
    }

    /// The device that keeps this one out, of those that hold the session as a connection is made; nil if it may be
    /// taken.
    func deviceKeepingOut(_ holder: Holder?) -> String? {
        guard policy == .yield, let holder, holder.session != me.session else { return nil }
        return holder.device
    }

    /// This client holds the session, with this revision of its entry.
    mutating func wrote(_ revision: UInt64) { self.revision = revision }

    /// The user's entry has changed.
    ///
    /// - Returns: the device that holds the session now in place of this one.
    mutating func changed(to holder: Holder?, revision newest: UInt64) -> String? {
        guard let holder, newest >= revision ?? 0 else { return nil }
        if holder.session == me.session {
            // An entry whose acknowledgement was lost: the next one still builds on it.
            if holder == me { revision = newest }
            return nil
        }
        revision = nil
        return holder.device
    }

    /// Gives the session up.
    ///
    /// - Returns: the entry to be deleted; nil if this client holds none.
    mutating func release() -> SessionClaim? {
        guard revision != nil else { return nil }
        defer { revision = nil }
        return self
    }

    /// The entry's bytes.
    var value: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        return (try? Array(encoder.encode(me))) ?? []
    }

    /// The user's key in the bucket, whose grammar (ADR-8) has no `+`: what is outside it is written as `=` and two
    /// hexadecimal digits.
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
