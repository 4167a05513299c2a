/// The claims of a user: one that connects, signed by its account or by a signing key of the account.
public typealias UserClaims = Claims<UserGrant>

/// What a user's token grants.
public struct UserGrant: ClaimsGrant {
    /// `user`.
    public static let type = "user"
    /// Users.
    public static let subject = NKey.Kind.user
    /// Accounts and their signing keys.
    public static let issuers: Set<NKey.Kind> = [.account]

    /// The permissions and bounds, which an account's scoped signing key may hold instead.
    public struct Template: Codable, Hashable, Sendable {
        /// Where the user may publish; nil means everywhere.
        public var pub: SubjectRules?
        /// What the user may subscribe to; nil means everything.
        public var sub: SubjectRules?
        /// Whether the user may answer requests.
        public var resp: ResponseRules?
        /// Subscriptions; −1 means without bound, and so for the next two.
        public var subs: Int64?
        /// Bytes in all.
        public var data: Int64?
        /// Bytes of one message.
        public var payload: Int64?
        /// Whether the token is enough, without a signature.
        public var bearerToken: Bool?
        /// The ways it may connect, such as `STANDARD` and `WEBSOCKET`; nil means every way.
        public var allowedConnectionTypes: [String]?

        /// Makes a template; without arguments, everything is permitted and nothing is bounded.
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

    /// The permissions and bounds.
    public var template: Template
    /// The account, when one of its signing keys is the issuer.
    public var issuerAccount: String?
    /// Words that the issuer attached.
    public var tags: [String]?
    /// `user`.
    public private(set) var type: String = UserGrant.type
    /// 2.
    public private(set) var version: Int? = 2

    /// Makes a user's grant, which names the account when a signing key of it will sign the token.
    public init(permissions: Permissions = .init(), issuerAccount: NKey? = nil) {
        self.template = Template(permissions: permissions)
        self.issuerAccount = issuerAccount?.text
    }

    private enum CodingKeys: String, CodingKey {
        case issuerAccount = "issuer_account"
        case tags, type, version
    }

    /// Reads the template's and the grant's own fields from one object.
    public init(from decoder: any Decoder) throws {
        template = try Template(from: decoder)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        issuerAccount = try container.decodeIfPresent(String.self, forKey: .issuerAccount)
        tags = try container.decodeIfPresent([String].self, forKey: .tags)
        type = try container.decode(String.self, forKey: .type)
        version = try container.decodeIfPresent(Int.self, forKey: .version)
    }

    /// Writes the template's and the grant's own fields into one object.
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
    /// The prefix under which this user may receive answers: `_INBOX` where the permissions allow it or say nothing,
    /// else the first allowed `_INBOX_<x>.>` without its last token, else `_INBOX`.
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
