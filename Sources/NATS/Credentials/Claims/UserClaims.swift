/// The claims of a user, who connects with them; signed by the user's account or one of its signing keys.
public typealias UserClaims = Claims<UserGrant>

/// The grant of a user's token.
public struct UserGrant: ClaimsGrant {
    /// `user`.
    public static let type = "user"
    /// Users.
    public static let subject = NKey.Kind.user
    /// Accounts and their signing keys.
    public static let issuers: Set<NKey.Kind> = [.account]

    /// The permissions and limits, which an account's scoped signing key may hold instead.
    public struct Template: Codable, Hashable, Sendable {
        /// The subjects to publish to; nil means all.
        public var pub: SubjectRules?
        /// The subjects to subscribe to; nil means all.
        public var sub: SubjectRules?
        /// Permission to answer requests on other subjects too.
        public var resp: ResponseRules?
        /// Subscriptions; −1 means unlimited, as in the next two.
        public var subs: Int64?
        /// Total bytes.
        public var data: Int64?
        /// Bytes of one message.
        public var payload: Int64?
        /// Whether the token suffices without a signature.
        public var bearerToken: Bool?
        /// The allowed kinds of connection, such as `STANDARD` and `WEBSOCKET`; nil means all.
        public var allowedConnectionTypes: [String]?

        /// Creates a template; without arguments, everything is permitted and unlimited.
        public init(permissions: Permissions = .init()) {
            pub = permissions.pub
            sub = permissions.sub
            resp = permissions.resp
            (subs, data, payload) = (-1, -1, -1)
        }

        enum CodingKeys: String, CodingKey {
            case pub, sub, resp, subs, data, payload
            case bearerToken = "bearer_token"
            case allowedConnectionTypes = "allowed_connection_types"
        }
    }

    /// The permissions and limits.
    public var template: Template
    /// The account, if one of its signing keys is the issuer.
    public var issuerAccount: String?
    /// Tags that the issuer attached.
    public var tags: [String]?
    /// `user`.
    public private(set) var type: String = UserGrant.type
    /// 2.
    public private(set) var version: Int? = 2

    /// Creates a user's grant, which names the account if one of its signing keys will sign the token.
    public init(permissions: Permissions = .init(), issuerAccount: NKey? = nil) {
        self.template = Template(permissions: permissions)
        self.issuerAccount = issuerAccount?.text
    }

    private enum CodingKeys: String, CodingKey {
        case issuerAccount = "issuer_account"
        case tags, type, version
    }

    /// Decodes the template's and the grant's own fields from one object.
    public init(from decoder: any Decoder) throws {
        template = try Template(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        issuerAccount = try container.decodeIfPresent(String.self, forKey: .issuerAccount)
        tags = try container.decodeIfPresent([String].self, forKey: .tags)
        type = try container.decode(String.self, forKey: .type)
        version = try container.decodeIfPresent(Int.self, forKey: .version)
    }

    /// Encodes the template's and the grant's own fields into one object.
    public func encode(to encoder: any Encoder) throws {
        try template.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(issuerAccount, forKey: .issuerAccount)
        try container.encodeIfPresent(tags, forKey: .tags)
        try container.encode(type, forKey: .type)
        try container.encodeIfPresent(version, forKey: .version)
    }
}

extension Claims where Grant == UserGrant {
    /// The prefix under which this user may receive answers: `_INBOX` unless the permissions forbid it, else the first
    /// allowed `_INBOX_<x>.>` without its last token, else `_INBOX`.
    public var inboxPrefix: String {
        let common = "_INBOX"
        guard let rules = grant.template.sub, !rules.permits("\(common).>") else { return common }
        let own = (rules.allow ?? []).first { pattern in
            guard pattern.hasPrefix("\(common)_"), pattern.hasSuffix(".>") else { return false }
            let prefix = pattern.dropLast(2)
            let plain = prefix.utf8.allSatisfy { byte in
                byte > 32 && byte != UInt8(ascii: "*") && byte != UInt8(ascii: ">") && byte != UInt8(ascii: ".")
            }
            return plain && prefix.utf8.count > common.utf8.count + 1 && rules.permits(pattern)
        }
        return own.map { String($0.dropLast(2)) } ?? common
    }
}
