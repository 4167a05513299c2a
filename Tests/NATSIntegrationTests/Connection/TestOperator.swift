import NATS
import TestSupport

/// An operator with one account.
final class TestOperator: Sendable {
    private let root = NKeyPair.generate(.operator)
    private let system = NKeyPair.generate(.account)
    private let application = NKeyPair.generate(.account)

    /// The configuration of a server that obeys this operator.
    private func configuration(limits: AccountLimits) throws -> String {
        let token = try OperatorClaims(
            subject: root.publicKey, name: "O", grant: OperatorGrant(systemAccount: system.publicKey)
        ).encode(signedBy: root)
        let systemToken = try AccountClaims(
            subject: system.publicKey, name: "SYS", grant: AccountGrant(limits: .withoutJetStream)
        ).encode(signedBy: root)
        let applicationToken = try AccountClaims(
            subject: application.publicKey, name: "APP", grant: AccountGrant(limits: limits)
        ).encode(signedBy: root)
        return """
            operator: "\(token)"
            system_account: \(system.publicKey)
            resolver: MEMORY
            resolver_preload: {
              \(system.publicKey): "\(systemToken)"
              \(application.publicKey): "\(applicationToken)"
            }

            """
    }

    /// Credentials of a new user.
    func user(
        _ permissions: Permissions = .init(), issuedAt: Int64? = nil, expires: Int64? = nil, isBearer: Bool = false,
        account: NKeyPair? = nil
    ) throws -> Credentials {
        let pair = NKeyPair.generate(.user)
        var grant = UserGrant(permissions: permissions)
        if isBearer { grant.template.bearerToken = true }
        let claims = UserClaims(
            subject: pair.publicKey, name: "someone", issuedAt: issuedAt, expires: expires, grant: grant)
        return try Credentials(jwt: claims.encode(signedBy: account ?? application), keyPair: pair)
    }

    /// Starts a server that obeys this operator.
    func start(_ binary: NATSServerBinary, limits: AccountLimits = .unlimited) async throws -> NATSServerProcess {
        try await NATSServerProcess.start(binary, configuration: configuration(limits: limits))
    }
}
