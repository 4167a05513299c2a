/// What a client keeps of its login beyond the connections: the exclusive session, and what the network's administrator
/// has said. A pure value: what happens comes in, and why the connection is about to end goes out.
struct SessionKeeping: Sendable {
    /// What can happen.
    enum Event: Sendable {
        /// This client holds the session, with this revision of its entry.
        case wrote(revision: UInt64)
        /// The user's entry has changed.
        case changed(SessionClaim.Holder?, revision: UInt64)
        /// Another device had the session when this one came to take it.
        case displaced(by: String)
        /// Something has come on the user's control subject. The issuers are the keys whose signature counts; where
        /// there are none the server's permissions have to do. The time is in seconds since 1970. The key is the public
        /// one that this client logged in by.
        case heard([UInt8], user: String, issuers: [String], at: Int64, key: String? = nil)
        /// The network has answered this client's own question with a signed refusal. It is as fresh as the question,
        /// so that neither clock counts, and it may be heard at each login.
        case refused(String, user: String, issuers: [String])
    }

    /// Proofs of control messages that are remembered at least, so that none counts twice.
    private static let rememberedProofs = 64

    /// The session to take and to hold; nil where sessions are shared.
    private(set) var claim: SessionClaim?
    /// The proofs that were believed.
    private var proofs = RecentSet<String>(capacity: Self.rememberedProofs)

    init(_ claim: SessionClaim?) { self.claim = claim }

    /// Takes in what happened.
    ///
    /// - Returns: why the connection is about to end; nil where it is not.
    mutating func handle(_ event: Event) -> ConnectionReason? {
        switch event {
        case .wrote(let revision): claim?.wrote(revision)
        case .changed(let holder, let revision): return changed(holder, revision)
        case .displaced(let device): return displaced(by: device)
        case .heard(let bytes, let user, let issuers, let now, let key):
            guard let control = believed(bytes, user, issuers, now), control.key == nil || control.key == key else {
                return nil
            }
            return control.connectionReason
        case .refused(let proof, let user, let issuers):
            return (try? ControlMessage.verified(proof: proof, for: user, trusting: issuers))?.message.connectionReason
        }
        return nil
    }

    /// What the administrator has said; nil for what nobody vouches for, and for what was heard before.
    private mutating func believed(
        _ bytes: [UInt8], _ user: String, _ issuers: [String], _ now: Int64
    ) -> ControlMessage? {
        // Without tokens there is no account's key to trust; the server's permissions have to do.
        guard !issuers.isEmpty else { return try? ControlMessage.unproved(bytes) }
        guard let (control, proof) = try? ControlMessage.verified(bytes, for: user, trusting: issuers, at: now),
            proofs.insert(proof)
        else { return nil }
        return control
    }

    private mutating func changed(_ holder: SessionClaim.Holder?, _ revision: UInt64) -> ConnectionReason? {
        guard let claim, revision >= claim.revision ?? 0 else { return nil }
        switch claim.step(onChange: holder) {
        case .leave(let device): return displaced(by: device)
        // An entry of this client whose acknowledgement was lost: the next one still builds on it.
        case .keep where holder == claim.me: self.claim?.wrote(revision)
        case .keep, .write: break
        }
        return nil
    }

    private mutating func displaced(by device: String) -> ConnectionReason {
        claim?.released()
        return .kickedByOtherDevice(device)
    }

    /// Gives the session back.
    ///
    /// - Returns: the entry to be deleted; nil where this client holds none.
    mutating func release() -> SessionClaim? {
        guard let claim, claim.revision != nil else { return nil }
        self.claim?.released()
        return claim
    }
}
