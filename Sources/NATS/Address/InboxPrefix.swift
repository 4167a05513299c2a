enum InboxPrefix {
    static let standard = "_INBOX"

    /// The prefix that a user JWT permits; the standard one without a JWT or when the JWT cannot be read.
    static func permitted(by token: String?) -> String {
        guard let token, let claims = try? UserClaims.decode(token) else { return standard }
        return claims.inboxPrefix
    }
}
