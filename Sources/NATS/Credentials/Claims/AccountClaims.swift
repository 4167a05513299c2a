/// The claims of an account: a tenant of a NATS network, signed by the operator.
public typealias AccountClaims = Claims<AccountGrant>

/// The grant of an account's token.
public struct AccountGrant: ClaimsGrant {
    /// `account`.
    public static let type = "account"
    /// Accounts.
    public static let subject = NKey.Kind.account
    /// Operators.
    public static let issuers: Set<NKey.Kind> = [.operator]

    /// The account's limits.
    public var limits: AccountLimits
    /// Additional keys that may issue users of the account.
    public var signingKeys: [AccountSigningKey]?
    /// Users whose tokens are void if issued at or before the time (seconds since 1970); `*` means every user.
    public var revocations: [String: Int64]?
    /// The permissions of users whose token has none.
    public var defaultPermissions: Permissions?
    /// Subjects offered to other accounts.
    public var exports: [AccountExport]?
    /// Subjects of other accounts in use here.
    public var imports: [AccountImport]?
    /// Subjects whose messages are redirected to other subjects of the account.
    public var mappings: [String: [SubjectMapping]]?
    /// A description for people.
    public var description: String?
    /// `account`.
    public private(set) var type: String = AccountGrant.type
    /// 2.
    public private(set) var version: Int? = 2

    /// Creates an account's grant.
    public init(
        limits: AccountLimits = .unlimited, signingKeys: [AccountSigningKey] = [],
        revocations: [String: Int64] = [:], defaultPermissions: Permissions? = nil,
        exports: [AccountExport] = [], imports: [AccountImport] = [], mappings: [String: [SubjectMapping]] = [:]
    ) {
        self.limits = limits
        self.signingKeys = signingKeys.isEmpty ? nil : signingKeys
        self.revocations = revocations.isEmpty ? nil : revocations
        self.defaultPermissions = defaultPermissions
        self.exports = exports.isEmpty ? nil : exports
        self.imports = imports.isEmpty ? nil : imports
        self.mappings = mappings.isEmpty ? nil : mappings
    }

    /// Whether a token of the user, issued at this time, is revoked.
    public func isRevoked(user: String, issuedAt: Int64) -> Bool {
        [user, "*"].contains { revocations?[$0].map { $0 >= issuedAt } ?? false }
    }

    private enum CodingKeys: String, CodingKey {
        case limits
        case signingKeys = "signing_keys"
        case revocations
        case defaultPermissions = "default_permissions"
        case description, exports, imports, mappings, type, version
    }
}

/// The limits of an account; −1 means unlimited, and JetStream is off while both storages are 0.
public struct AccountLimits: Codable, Hashable, Sendable {
    /// Subscriptions.
    public var subs: Int64?
    /// Total bytes.
    public var data: Int64?
    /// Bytes of one message.
    public var payload: Int64?
    /// Imports.
    public var imports: Int64?
    /// Exports.
    public var exports: Int64?
    /// Whether exports may contain wildcards.
    public var wildcards: Bool?
    /// Simultaneous connections.
    public var conn: Int64?
    /// Simultaneous leaf node connections.
    public var leaf: Int64?
    /// Bytes of JetStream memory storage.
    public var memoryStorage: Int64?
    /// Bytes of JetStream file storage.
    public var diskStorage: Int64?
    /// Streams.
    public var streams: Int64?
    /// Consumers.
    public var consumer: Int64?

    /// No limits, JetStream on.
    public static let unlimited = AccountLimits(storage: -1)
    /// No limits, JetStream off: suits a system account.
    public static let withoutJetStream = AccountLimits(storage: 0)

    private init(storage: Int64) {
        (subs, data, payload, imports, exports, conn, leaf) = (-1, -1, -1, -1, -1, -1, -1)
        wildcards = true
        (memoryStorage, diskStorage, streams, consumer) = (storage, storage, storage, storage)
    }

    private enum CodingKeys: String, CodingKey {
        case subs, data, payload, imports, exports, wildcards, conn, leaf
        case memoryStorage = "mem_storage"
        case diskStorage = "disk_storage"
        case streams, consumer
    }
}

/// A key that may issue users of an account: a plain one, or one that gives all its users the permissions of its role.
public enum AccountSigningKey: Codable, Hashable, Sendable {
    /// A plain signing key, by its public key.
    case key(String)
    /// A scoped signing key; its users carry no permissions of their own.
    case scoped(key: String, role: String, template: UserGrant.Template)

    private struct Scope: Codable {
        var kind: String? = "user_scope"
        var key: String
        var role: String?
        var template: UserGrant.Template?
    }

    /// The public key.
    public var key: String {
        switch self {
        case .key(let key), .scoped(let key, _, _): key
        }
    }

    /// Decodes a string or a scope object.
    public init(from decoder: any Decoder) throws {
        if let key = try? decoder.singleValueContainer().decode(String.self) {
            self = .key(key)
        } else {
            let scope = try Scope(from: decoder)
            self = .scoped(key: scope.key, role: scope.role ?? "", template: scope.template ?? .init())
        }
    }

    /// Encodes a string or a scope object.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .key(let key): try key.encode(to: encoder)
        case .scoped(let key, let role, let template):
            try Scope(key: key, role: role, template: template).encode(to: encoder)
        }
    }
}

/// The claims of an operator: the root of trust of one NATS network, signed by itself.
public typealias OperatorClaims = Claims<OperatorGrant>

/// The grant of an operator's token.
public struct OperatorGrant: ClaimsGrant {
    /// `operator`.
    public static let type = "operator"
    /// Operators.
    public static let subject = NKey.Kind.operator
    /// Operators.
    public static let issuers: Set<NKey.Kind> = [.operator]

    /// The public key of the account that administers the servers.
    public var systemAccount: String?
    /// Additional operator keys that may issue accounts.
    public var signingKeys: [String]?
    /// `operator`.
    public private(set) var type: String = OperatorGrant.type
    /// 2.
    public private(set) var version: Int? = 2

    /// Creates an operator's grant.
    public init(systemAccount: NKey? = nil, signingKeys: [NKey] = []) {
        self.systemAccount = systemAccount?.text
        self.signingKeys = signingKeys.isEmpty ? nil : signingKeys.map(\.text)
    }

    private enum CodingKeys: String, CodingKey {
        case systemAccount = "system_account"
        case signingKeys = "signing_keys"
        case type, version
    }
}
