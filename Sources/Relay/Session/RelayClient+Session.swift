import NATS

// An exclusive session, and what the network's administrator says to this user.
extension RelayClient {
    /// The session to take before anything is restored; nil where sessions are shared.
    var sessionToTake: (claim: SessionClaim, user: String)? {
        guard let sessionClaim, let user else { return nil }
        return (sessionClaim, user)
    }

    /// The administrator has said something.
    func heardControl(_ bytes: [UInt8], for user: String) {
        let credentials = configuration.credentials
        handleSession(
            .heard(
                bytes, user: user, issuers: credentials.issuers, at: surroundings.clock.secondsSince1970,
                key: credentials.key))
    }

    /// The network's service keeps this user out, and has signed why.
    ///
    /// - Returns: whether that was believed, and has ended the session.
    func heardRefusal(_ proof: String) -> Bool {
        let credentials = configuration.credentials
        guard let user = credentials.user else { return false }
        handleSession(.refused(proof, user: user, issuers: credentials.issuers))
        return !hasSession
    }

    /// Closes the connection of a session that has ended, at once where nothing has to leave over it before.
    ///
    /// - Parameters:
    ///   - claim: the exclusive session to give back; nil where this client holds none.
    ///   - isTelling: whether something was written before that has yet to leave.
    /// - Returns: what has to leave, until it has; nil where nothing does.
    func endSession(over link: LiveLink, giving claim: SessionClaim?, isTelling: Bool) -> Task<Void, Never>? {
        guard let connection = link.connection else { return nil }
        guard let claim, let user, let jetStream = link.jetStream else {
            guard isTelling else {
                connection.closeNow()
                return nil
            }
            return Task { await Self.closeBehind(connection) }
        }
        return Task {
            await LiveLink.release(claim, of: user, over: jetStream)
            connection.closeNow()
        }
    }

    /// Closes a connection once everything written has left.
    static func closeBehind(_ connection: NATSConnection) async {
        try? await connection.flush(timeout: .seconds(1))
        await connection.closed(within: .milliseconds(500))
    }
}
