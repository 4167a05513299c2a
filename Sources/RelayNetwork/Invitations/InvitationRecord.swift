/// An invitation that was given out, as the network remembers it: a pure value.
struct InvitationRecord: Codable, Hashable, Sendable {
    /// The public key that it was issued to.
    let key: String
    /// When it was made, in seconds since 1970.
    let created: Int64
    /// Until when it can be used, in seconds since 1970.
    let expires: Int64
    /// The public key that credentials were issued to for it; nil until then.
    private(set) var usedBy: String?
    /// Whether it is being taken back.
    private(set) var isRevoked = false

    /// An invitation that nobody has used.
    init(key: String, created: Int64, expires: Int64) {
        (self.key, self.created, self.expires) = (key, created, expires)
    }

    /// The same, being taken back.
    func revoked() -> InvitationRecord {
        var revoked = self
        revoked.isRevoked = true
        return revoked
    }

    /// Others have issued credentials for it.
    mutating func wasUsed(by key: String) { usedBy = usedBy ?? key }

    /// Somebody who has the invitation asks for credentials. Whoever asks again for the same key has missed the answer.
    /// - Parameters:
    ///   - key: for which key.
    ///   - now: seconds since 1970.
    mutating func use(for key: String, at now: Int64) throws(InvitationFailure) {
        if let usedBy { guard usedBy == key else { throw .usedUp } }
        guard !isRevoked else { throw .revoked }
        guard now < expires else { throw .expired }
        usedBy = key
    }
}

/// Why an invitation cannot be used.
public enum InvitationFailure: String, Error, Codable, Hashable, Sendable {
    /// The text is none.
    case damaged
    /// Somebody has used it.
    case usedUp
    /// It was taken back, or another one has taken its place.
    case revoked
    /// Its time has passed.
    case expired
    /// The server does not let it in: it has expired, or its user is kept out.
    case refused
    /// The network's services do not answer.
    case unavailable
}

extension InvitationFailure: CustomStringConvertible {
    /// What happened, and what to do next.
    public var description: String {
        switch self {
        case .damaged: "This is no invitation, or a part of it is missing: pass on all lines from BEGIN to END."
        case .usedUp: "This invitation was used already, and each serves once: ask for another one."
        case .revoked: "This invitation was taken back: ask for another one."
        case .expired: "This invitation has expired: ask for another one."
        case .refused:
            "The network does not accept this invitation: it has expired, or its user may not use the network."
        case .unavailable: "The network answers no invitations now. This one stays good: try again later."
        }
    }
}
