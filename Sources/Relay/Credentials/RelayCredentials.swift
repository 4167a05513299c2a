import NATS

/// How a client proves who it is. Made before any network access; never printed.
public struct RelayCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// What is presented to the server.
    let authentication: Authentication
    /// The user's name, if the credentials have it; nil, too, where that of another network's token can be no user's
    /// here. Then ``RelayConfiguration/user`` says who it is.
    public let user: String?
    /// The user JWT, which is RelayX's API key; nil without one.
    let token: String?
    /// Where new ones come from when these are missing, expired or refused.
    let provider: Provider?

    /// Asks the application for credentials: its own server hands out tokens, say.
    ///
    /// It is called when there are none yet, and once each time the present ones have expired or are refused, as often
    /// as the ``TokenRenewalPolicy`` says, and not again before it has returned, unless it is given anew. When its time
    /// is up its task is cancelled. When it throws, or names another user, the session ends and the old credentials
    /// stay. What it returns late counts, unless the application gave other credentials with ``RelayClient/use(_:)``.
    public typealias Provider = @Sendable () async throws -> RelayCredentials

    private init(
        _ authentication: Authentication, user: String?, token: String? = nil, provider: Provider? = nil
    ) {
        self.authentication = authentication
        self.user = user
        self.token = token
        self.provider = provider
    }

    /// For servers that ask for nothing.
    public static let none = RelayCredentials(.none, user: nil)

    /// RelayX's pair: the API key is a user JWT, the secret its nkey seed. Blanks around either do not count.
    ///
    /// - Throws: ``RelayError/invalidCredentials(_:)`` when either is empty or malformed; the text never repeats them.
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

    /// An access token: a bearer JWT, as Nexconn's and RongCloud's clients hold one. Blanks around it do not count.
    ///
    /// - Throws: ``RelayError/invalidCredentials(_:)`` when it is empty or no JWT.
    public static func accessToken(_ token: String) throws(RelayError) -> RelayCredentials {
        let token = token.trimmingBlanks()
        guard !token.isEmpty else { throw .invalidCredentials("the access token is empty") }
        return RelayCredentials(.bearer(token), user: try user(of: token), token: token)
    }

    /// Credentials that the application provides when they are needed (the token providers of Nexconn and RongCloud).
    ///
    /// - Parameters:
    ///   - first: what to begin with; nil asks the provider before the first connection.
    ///   - provider: see ``Provider``.
    public static func provided(
        startingWith first: RelayCredentials? = nil, by provider: @escaping Provider
    ) -> RelayCredentials {
        let first = first ?? .none
        return RelayCredentials(first.authentication, user: first.user, token: first.token, provider: provider)
    }

    /// Access tokens that the application provides when they are needed.
    ///
    /// - Parameters:
    ///   - first: the token to begin with; nil asks the provider before the first connection.
    ///   - provider: see ``Provider``; what it returns is a bearer JWT.
    /// - Throws: ``RelayError/invalidCredentials(_:)`` when the first token is empty or no JWT.
    public static func accessTokens(
        startingWith first: String? = nil, from provider: @escaping @Sendable () async throws -> String
    ) throws(RelayError) -> RelayCredentials {
        let first = try first.map { text throws(RelayError) in try accessToken(text) }
        return provided(startingWith: first) { try accessToken(try await provider()) }
    }

    /// What the token says of its own time; nil without one.
    public var times: TokenTimes? {
        claims.map { TokenTimes(issued: $0.issuedAt, expires: $0.expires, notBefore: $0.notBefore) }
    }

    /// The account that vouches for this user, if the credentials name it.
    public var account: String? { claims.flatMap { $0.grant.issuerAccount ?? $0.issuer } }

    /// The user's name as the token has it, whether or not it can be one; nil without a token.
    var statedName: String? { claims?.name }

    /// The token's claims, which are the server's to verify; nil without a token.
    private var claims: UserClaims? { token.flatMap { try? UserClaims.decode($0) } }

    /// These credentials in place of others that came from the same provider.
    func keepingProvider(_ provider: Provider?) -> RelayCredentials {
        RelayCredentials(authentication, user: user, token: token, provider: self.provider ?? provider)
    }

    /// Whether a provider has to be asked before anything can be presented.
    var isMissing: Bool {
        if case .none = authentication { return provider != nil }
        return false
    }

    /// The public keys that vouch for this user, and so for what its administrator says.
    var issuers: [String] {
        claims.map { [$0.issuer, $0.grant.issuerAccount].compactMap(\.self) } ?? []
    }

    /// The public key that these credentials are for; nil where a password or nothing is presented.
    var key: String? { claims?.subject }

    /// A credentials file in the standard NATS form.
    ///
    /// - Throws: ``RelayError/invalidCredentials(_:)`` when it cannot be read, is malformed, or can be read by group or
    ///   others; the text then names the `chmod` that mends it.
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
        self.init(
            Authentication(credentials), user: try? Self.user(of: credentials.jwt), token: credentials.jwt)
    }

    /// The user whom a JWT names: its name, if a subject can hold that.
    private static func user(of token: String) throws(RelayError) -> String? {
        let claims: UserClaims
        do throws(CredentialsError) { claims = try UserClaims.decode(token) } catch {
            throw .invalidCredentials("the API key or token is not a user JWT")
        }
        return try user(of: claims)
    }

    private static func user(of claims: UserClaims) throws(RelayError) -> String? {
        let prefix = claims.inboxPrefix
        // The inbox that the network granted names the user even where the token's name is free text.
        let name = prefix.hasPrefix("_INBOX_") ? String(prefix.dropFirst(7)) : claims.name
        guard let name, !name.isSubjectToken else { return name }
        // Other networks may call a user anything; one of Parley's names the user that all of its subjects name.
        guard claims.messageKey == nil else {
            throw .invalidCredentials(
                "they are for the user \(String(name.prefix(64)).debugDescription), and no user can have that name")
        }
        return nil
    }

    /// What the identifiers of this user's messages are hashed with; nil where the token does not say.
    var messageKey: MessageKey? {
        claims?.messageKey.flatMap { MessageKey(text: $0) }
    }

    /// Whether an earlier version's private network made the token: its users shared one account, and the token said
    /// what each may do.
    var areOfSharedAccount: Bool {
        guard let user, let claims else { return false }
        return claims.grant.template.pub?.allow?.contains(NetworkNames.postboxes(of: user, "*")) == true
    }

    /// Whether a token is presented alone that is no bearer token.
    var lackSignature: Bool {
        guard case .bearer = authentication, let claims else { return false }
        return claims.grant.template.bearerToken != true
    }

    /// Whether the token's own expiry has passed, by this machine's clock (seconds since 1970).
    func isExpired(at now: Int64) -> Bool {
        claims?.expires.map { $0 <= now } ?? false
    }

    /// The kind and user, never the secret.
    public var description: String {
        let kind = isMissing ? "provided credentials" : "\(authentication)"
        return "\(kind) for \(user ?? "an unnamed user")"
    }

    /// No children, so that no dump shows a secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// What a token says of its own time, in seconds since 1970; not verified, which is the server's to do.
public struct TokenTimes: Hashable, Sendable {
    /// When it was issued.
    public var issued: Int64?
    /// Its end; nil is without end.
    public var expires: Int64?
    /// Its begin.
    public var notBefore: Int64?

    /// Makes times; without arguments, they say nothing.
    public init(issued: Int64? = nil, expires: Int64? = nil, notBefore: Int64? = nil) {
        self.issued = issued
        self.expires = expires
        self.notBefore = notBefore
    }
}
