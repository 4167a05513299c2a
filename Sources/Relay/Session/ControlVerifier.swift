/// Decides which words of the network's administrator count, as a pure value.
struct ControlVerifier: Sendable {
    /// The proofs that were believed, so that none counts twice.
    private var proofs = RecentSet<String>(capacity: 64)

    /// Reads a message on the user's control subject.
    ///
    /// - Parameters:
    ///   - issuers: the keys whose signature counts; where there are none the server's permissions have to do.
    ///   - now: seconds since 1970.
    ///   - key: the public key that this client logged in by.
    /// - Returns: why the connection is about to end; nil for what nobody vouches for, what was heard before, and what
    ///   concerns another key.
    mutating func reason(
        in bytes: [UInt8], for user: String, issuers: [String], at now: Int64, key: String? = nil
    ) -> ConnectionReason? {
        let message: ControlMessage
        if issuers.isEmpty {
            guard let unproved = try? ControlMessage.unproved(bytes) else { return nil }
            message = unproved
        } else {
            guard let (proved, proof) = try? ControlMessage.verified(bytes, for: user, trusting: issuers, at: now),
                proofs.insert(proof)
            else { return nil }
            message = proved
        }
        return message.key == nil || message.key == key ? message.connectionReason : nil
    }

    /// Reads the signed refusal that the network answers this client's own question with. It is as fresh as the
    /// question, so that neither clock counts, and it may be heard at each login.
    static func reason(ofRefusal proof: String, for user: String, issuers: [String]) -> ConnectionReason? {
        (try? ControlMessage.verified(proof: proof, for: user, trusting: issuers))?.message.connectionReason
    }
}
