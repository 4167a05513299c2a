/// The claims of an operator: the root of trust of one NATS network, signed by itself.
public typealias OperatorClaims = Claims<OperatorGrant>

/// What an operator's token says.
public struct OperatorGrant: ClaimsGrant {
    /// `operator`.
    public static let type = "operator"
    /// Operators.
    public static let subject = NKey.Kind.operator
    /// Operators.
    public static let issuers: Set<NKey.Kind> = [.operator]

    /// The public key of the account that administers the servers.
    public var systemAccount: String?
    /// Further operator keys that may issue accounts.
    public var signingKeys: [String]?
    /// `operator`.
    public private(set) var type: String
    /// 2.
    public private(set) var version: Int?

    /// Makes an operator's grant.
    public init(systemAccount: NKey? = nil, signingKeys: [NKey] = []) {
        self.systemAccount = systemAccount?.text
        self.signingKeys = signingKeys.isEmpty ? nil : signingKeys.map(\.text)
        self.type = Self.type
        self.version = 2
    }

    private enum CodingKeys: String, CodingKey {
        case systemAccount = "system_account"
        case signingKeys = "signing_keys"
        case type, version
    }
}
