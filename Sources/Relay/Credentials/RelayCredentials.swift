import NATS

/// The credentials of a client. Created before any network access; never printed.
public struct RelayCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    let authentication: Authentication
    /// The user's name, if the credentials contain it. Nil, too, if another network's token has a name that no user can
    /// have here; ``RelayConfiguration/user`` then names the user.
    public let user: String?
    /// The user JWT, which is RelayX's API key; nil without one.
    let token: String?
    /// The source of new ones when these are missing, expired or refused.
    let provider: Provider?

    /// Asks the application for credentials, such as a token from its own server.
    ///
    /// It is called when there are none yet, and once whenever the present ones expire or are refused, as often as
    /// ``TokenRenewalPolicy`` allows. It is not called again before it has returned, except a newly given one. When its
    /// time is up its task is cancelled. If it throws, or names another user, the session ends and the old credentials
    /// stay. A late answer counts unless the application has given other credentials with ``RelayClient/use(_:)``.
    public typealias Provider = @Sendable () async throws -> RelayCredentials

    private init(_ authentication: Authentication, user: String?, token: String? = nil, provider: Provider? = nil) {
        self.authentication = authentication
        self.user = user
        self.token = token
        self.provider = provider
    }

    /// For servers without authentication.
    public static let none = RelayCredentials(.none, user: nil)

    /// RelayX's pair: the API key is a user JWT, the secret its nkey seed. Blanks around either are ignored.
    ///
    /// - Throws: ``RelayError/invalidCredentials(_:)`` if either is empty or malformed; the text never repeats them.
    public static func apiKey(_ apiKey: String, secret: String) throws(RelayError) -> RelayCredentials {
        let (apiKey, secret) = (apiKey.trimmingBlanks(), secret.trimmingBlanks())
        if apiKey.isEmpty, secret.isEmpty { throw .invalidCredentials("the API key and the secret are empty") }
        if apiKey.isEmpty { throw .invalidCredentials("the API key is empty") }
        if secret.isEmpty { throw .invalidCredentials("the secret is empty") }
        let pair: NKeyPair
        do throws(CredentialsError) { pair = try NKeyPair(seed: secret) } catch {
            throw .invalidCredentials("the secret is not an nkey seed")
        }
        return RelayCredentials(.jwt(apiKey, pair), user: try user(of: apiKey), token: apiKey)
    }

    /// An access token: a bearer JWT, as Nexconn's and RongCloud's clients use. Blanks around it are ignored.
    ///
    /// - Throws: ``RelayError/invalidCredentials(_:)`` if it is empty or no JWT.
    public static func accessToken(_ token: String) throws(RelayError) -> RelayCredentials {
        let token = token.trimmingBlanks()
        guard !token.isEmpty else { throw .invalidCredentials("the access token is empty") }
        return RelayCredentials(.bearer(token), user: try user(of: token), token: token)
    }

    /// Credentials that the application provides on demand (the token providers of Nexconn and RongCloud).
    ///
    /// - Parameters:
    ///   - first: The initial credentials; nil asks the provider before the first connection.
    ///   - provider: See ``Provider``.
    public static func provided(
        startingWith first: RelayCredentials? = nil, by provider: @escaping Provider
    ) -> RelayCredentials {
        let first = first ?? .none
        return RelayCredentials(first.authentication, user: first.user, token: first.token, provider: provider)
    }

    /// Access tokens that the application provides on demand.
    ///
    /// - Parameters:
    ///   - first: The initial token; nil asks the provider before the first connection.
    ///   - provider: See ``Provider``; it returns a bearer JWT.
    /// - Throws: ``RelayError/invalidCredentials(_:)`` if the first token is empty or no JWT.
    public static func accessTokens(
        startingWith first: String? = nil, from provider: @escaping @Sendable () async throws -> String
    ) throws(RelayError) -> RelayCredentials {
        let first = try first.map { text throws(RelayError) in try accessToken(text) }
        return provided(startingWith: first) { try accessToken(try await provider()) }
    }

    /// The token's lifetime, as it states it; nil without one.
    public var times: TokenTimes? {
        claims.map { TokenTimes(issued: $0.issuedAt, expires: $0.expires, notBefore: $0.notBefore) }
    }

    /// The account that issued this user's token, if the credentials name it.
    public var account: String? { claims.flatMap { $0.grant.issuerAccount ?? $0.issuer } }

    /// The user's name in the token, valid or not; nil without a token.
    var statedName: String? { claims?.name }

    /// The token's claims, unverified; nil without a token.
    private var claims: UserClaims? { token.flatMap { try? UserClaims.decode($0) } }

    /// These credentials, with a provider if they have none.
    func keepingProvider(_ provider: Provider?) -> RelayCredentials {
        RelayCredentials(authentication, user: user, token: token, provider: self.provider ?? provider)
    }

    /// Whether a provider must be asked before anything can be presented.
    var isMissing: Bool {
        if case .none = authentication { return provider != nil }
        return false
    }

    /// The public keys that issued this user's token, and so may sign the administrator's messages.
    var issuers: [String] { claims.map { [$0.issuer, $0.grant.issuerAccount].compactMap(\.self) } ?? [] }

    /// The public key of these credentials; nil for a password or none.
    var key: String? { claims?.subject }

    /// A credentials file in the standard NATS form.
    ///
    /// - Throws: ``RelayError/invalidCredentials(_:)`` if it cannot be read, is malformed, or is readable by group or
    ///   others; the text then names the `chmod` that fixes it.
    public static func file(_ path: String) throws(RelayError) -> RelayCredentials {
        let credentials: Credentials
        do throws(CredentialsError) { credentials = try Credentials.load(path: path) } catch {
            throw .invalidCredentials("\(error)")
        }
        if let claims = try? UserClaims.decode(credentials.jwt) {
            do throws(RelayError) { _ = try user(of: claims) } catch {
                guard case .invalidCredentials(let words) = error else { throw error }
                throw .invalidCredentials("\(path): \(words)")
            }
        }
        return RelayCredentials(credentials)
    }

    /// Credentials that are in memory already.
    public init(_ credentials: Credentials) {
        self.init(Authentication(credentials), user: try? Self.user(of: credentials.jwt), token: credentials.jwt)
    }

    /// The user named in a JWT, if a subject can contain the name.
    private static func user(of token: String) throws(RelayError) -> String? {
        let claims: UserClaims
        do throws(CredentialsError) { claims = try UserClaims.decode(token) } catch {
            throw .invalidCredentials("the API key or token is not a user JWT")
        }
        return try user(of: claims)
    }

    private static func user(of claims: UserClaims) throws(RelayError) -> String? {
        let prefix = claims.inboxPrefix
        // The inbox that the network granted names the user even if the token's name is free text.
        let name = prefix.hasPrefix("_INBOX_") ? String(prefix.dropFirst(7)) : claims.name
        guard let name, !name.isSubjectToken else { return name }
        // Other networks may allow any name; on one of Parley's, all subjects contain it.
        guard claims.messageKey == nil else {
            throw .invalidCredentials(
                "they are for the user \(String(name.prefix(64)).debugDescription), and no user can have that name")
        }
        return nil
    }

    /// The key for hashing this user's message identifiers; nil if the token has none.
    var messageKey: MessageKey? { claims?.messageKey.flatMap { MessageKey(text: $0) } }

    /// Whether an earlier version's private network issued the token: its users shared one account, with each user's
    /// permissions in the token.
    var areOfSharedAccount: Bool {
        guard let user, let claims else { return false }
        return claims.grant.template.pub?.allow?.contains(NetworkNames.postboxes(of: user, "*")) == true
    }

    /// Whether a token that is no bearer token is presented alone.
    var lackSignature: Bool {
        guard case .bearer = authentication, let claims else { return false }
        return claims.grant.template.bearerToken != true
    }

    /// Whether the token has expired, by this machine's clock (seconds since 1970).
    func isExpired(at now: Int64) -> Bool { claims?.expires.map { $0 <= now } ?? false }

    /// The kind and user, never the secret.
    public var description: String {
        let kind = isMissing ? "provided credentials" : "\(authentication)"
        return "\(kind) for \(user ?? "an unnamed user")"
    }

    /// No children, so that no dump shows a secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A token's lifetime as it states it, in seconds since 1970; unverified.
public struct TokenTimes: Hashable, Sendable {
    /// When it was issued.
    public var issued: Int64?
    /// When it expires; nil means never.
    public var expires: Int64?
    /// When it becomes valid.
    public var notBefore: Int64?

    /// Creates times; all are unknown by default.
    public init(issued: Int64? = nil, expires: Int64? = nil, notBefore: Int64? = nil) {
        self.issued = issued
        self.expires = expires
        self.notBefore = notBefore
    }
}
