import NATS

/// Changes of the application account's token, which says whose credentials are void.
extension NetworkIdentity {
    /// The account's token with other revocations, signed by the operator now.
    func accountToken(
        in directory: NetworkDirectory, at now: Int64, changing change: (inout [String: Int64]) -> Void
    ) throws(NetworkError) -> String {
        try signedAccountToken(in: directory, at: now) { claims in
            var revocations = claims.grant.revocations ?? [:]
            change(&revocations)
            claims.grant.revocations = revocations.isEmpty ? nil : revocations
        }
    }

    /// The account's token with an end some seconds after the time: the server then closes every connection of the
    /// account, says that the account has expired, and lets nobody in, but keeps the account's data. Never written to the
    /// network's keys.
    func endingAccountToken(
        in directory: NetworkDirectory, at now: Int64, after lifetime: Int64 = 1
    ) throws(NetworkError) -> String {
        try signedAccountToken(in: directory, at: now) { $0.expires = now + lifetime }
    }

    private func signedAccountToken(
        in directory: NetworkDirectory, at now: Int64, _ change: (inout AccountClaims) -> Void
    ) throws(NetworkError) -> String {
        let root = try IdentityFiles(folder: directory.keys).operatorPair()
        do {
            var claims = try AccountClaims.verify(accountToken)
            claims.issuedAt = max(now, claims.issuedAt ?? 0)
            change(&claims)
            return try claims.encode(signedBy: root)
        } catch {
            throw .credentials(error)
        }
    }
}
