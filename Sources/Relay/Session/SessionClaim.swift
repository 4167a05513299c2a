import Platform

/// The decisions about an exclusive session, as a pure value: what the network's bucket holds for this user in, what to
/// do out.
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

    /// What to do next.
    enum Step: Hashable, Sendable {
        /// Write this client's entry, building on this revision; 0 where there is none.
        case write(revision: UInt64)
        /// Stay out, or leave: this device holds the session.
        case leave(device: String)
        /// Nothing.
        case keep
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

    /// What a connection that has just been made does about the entry that it finds.
    func step(onConnecting entry: (holder: Holder?, revision: UInt64)?) -> Step {
        guard let entry else { return .write(revision: 0) }
        guard let holder = entry.holder, holder.session != me.session, policy == .yield else {
            return .write(revision: entry.revision)
        }
        return .leave(device: holder.device)
    }

    /// What to do about an entry that came while this client holds the session.
    func step(onChange holder: Holder?) -> Step {
        guard let holder, holder.session != me.session else { return .keep }
        return .leave(device: holder.device)
    }

    mutating func wrote(_ revision: UInt64) { self.revision = revision }

    mutating func released() { revision = nil }

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
