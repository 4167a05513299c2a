import NATS

/// Exchanges invitations for credentials (`relay.enrol.<user>`). The secret key stays with whoever asks.
struct EnrolmentService: Sendable {
    let users: any UserRegister
    let issuer: UserTokenIssuer

    /// The answer to somebody who has an invitation for the user.
    func reply(to payload: [UInt8], of user: UserName) async -> [UInt8] {
        do throws(NetworkError) {
            return Wire.json(EnrolmentReply(token: try await token(payload, user)))
        } catch {
            let failure: InvitationFailure = if case .invitation(let failure) = error { failure } else { .unavailable }
            return Wire.json(EnrolmentReply(error: failure.rawValue))
        }
    }

    private func token(_ payload: [UInt8], _ user: UserName) async throws(NetworkError) -> String {
        guard let request = Wire.value(EnrolmentRequest.self, from: payload),
            let invitation = try? NKey(request.invitation), invitation.kind == .user,
            let key = try? NKey(request.key), key.kind == .user,
            let proof = Base64URL.decode(request.proof.utf8),
            invitation.isValidSignature(
                proof, for: EnrolmentRequest.statement(user: user.text, key: request.key))
        else { throw .invitation(.damaged) }
        let record = try await users.redeem(
            request.invitation, for: request.key, of: user, at: NetworkAdministrator.now)
        return try issuer.token(for: key, name: user.text, account: record.accountKey(), expires: record.expires)
    }
}
