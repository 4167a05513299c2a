/// Verifies messages of the network's administrator, as a pure value.
struct ControlVerifier: Sendable {
    /// The accepted proofs, so that none counts twice.
    private var proofs = RecentSet<String>(capacity: 64)

    /// Verifies a message on the user's control subject.
    ///
    /// - Parameters:
    ///   - issuers: The keys trusted to sign it; without any, the server's permissions must suffice.
    ///   - now: Seconds since 1970.
    ///   - key: The public key of this client's login.
    /// - Returns: Why the connection is about to end; nil for an unproved message, a repetition, or another key.
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

    /// Verifies the network's signed refusal of this client's own question. It is as fresh as the question, so that no
    /// clock matters, and it may be repeated at each login.
    static func reason(ofRefusal proof: String, for user: String, issuers: [String]) -> ConnectionReason? {
        (try? ControlMessage.verified(proof: proof, for: user, trusting: issuers))?.message.connectionReason
    }
}
