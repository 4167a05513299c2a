extension ConnectRequest {
    /// The login that `authentication` calls for, signed with the server's nonce where it takes a signature.
    init(
        options: ConnectOptions, authentication: Authentication, nonce: String?, tls: Bool, headers: Bool
    ) throws(NATSError) {
        self.init()
        name = options.name
        echo = options.echo
        tlsRequired = tls
        self.headers = headers
        noResponders = headers
        switch authentication {
        case .none: break
        case .token(let token): self.token = token
        case .user(let user, let password):
            self.user = user
            self.password = password
        case .bearer(let jwt): self.jwt = jwt
        case .nkey(let pair):
            nkey = pair.publicKey.description
            signature = Self.signature(of: nonce, by: pair)
        case .jwt(let jwt, let pair):
            self.jwt = jwt
            signature = Self.signature(of: nonce, by: pair)
        }
    }

    private static func signature(of nonce: String?, by pair: NKeyPair) -> String? {
        nonce.map { Base64URL.encode(pair.sign($0.utf8)) }
    }
}
