// An exclusive session, and what the network's administrator says to this user.
extension RelayClient {
    /// The session to take before anything is restored; nil where sessions are shared.
    var sessionToTake: (claim: SessionClaim, user: String)? {
        guard let claim, let user else { return nil }
        return (claim, user)
    }

    /// This client holds the session, with this revision of its entry.
    func wroteSession(_ revision: UInt64) { claim?.wrote(revision) }

    /// The session's entry has changed.
    ///
    /// - Returns: the device that has taken it; nil while it is this client's.
    func sessionChanged(_ holder: SessionClaim.Holder?, revision: UInt64) -> String? {
        guard let claim, revision >= claim.revision ?? 0 else { return nil }
        switch claim.step(onChange: holder) {
        case .leave(let device): return device
        // An entry of this client whose acknowledgement was lost: the next one still builds on it.
        case .keep where holder == claim.me: wroteSession(revision)
        case .keep, .write: break
        }
        return nil
    }

    /// Another device has the session.
    func displaced(by device: String, generation: UInt64) {
        claim?.released()
        handle(.serverControl(generation: generation, reason: .kickedByOtherDevice(device)))
    }

    /// Gives the session back, where this client still holds it, and closes the connection.
    ///
    /// - Parameter isTelling: whether something was written before that has yet to leave.
    func releaseSession(_ link: LiveLink, isTelling: Bool) {
        guard let connection = link.connection else { return }
        guard let claim, claim.revision != nil, let user, let jetStream = link.jetStream else {
            guard isTelling else { return connection.closeNow() }
            sessionRelease = Task { await Self.closeBehind(connection) }
            return
        }
        self.claim?.released()
        sessionRelease = Task {
            await LiveLink.release(claim, of: user, over: jetStream)
            connection.closeNow()
        }
    }

    // MARK: The administrator

    private static let rememberedProofs = 64

    /// The administrator has said something.
    func heardControl(_ bytes: [UInt8], for user: String, generation: UInt64) {
        guard let control = believed(bytes, for: user) else { return }
        handle(.serverControl(generation: generation, reason: control.connectionReason))
    }

    /// The message, when it is the administrator's and has not been heard before.
    private func believed(_ bytes: [UInt8], for user: String) -> ControlMessage? {
        let issuers = signIn.credentials.issuers
        // Without tokens there is no account's key to trust; the server's permissions have to do.
        guard !issuers.isEmpty else { return try? ControlMessage.unproved(bytes) }
        guard
            let (control, proof) = try? ControlMessage.verified(
                bytes, for: user, trusting: issuers, at: surroundings.clock.secondsSince1970),
            !provedControls.contains(proof)
        else { return nil }
        provedControls.append(proof)
        if provedControls.count > Self.rememberedProofs { provedControls.removeFirst() }
        return control
    }
}
