/// Whether a user may use the network, as its administrator decided.
public struct UserStanding: Codable, Hashable, Sendable {
    /// One decision of the administrator.
    public struct Decision: Codable, Hashable, Sendable {
        /// When it was made, in seconds since 1970.
        public var since: Int64
        /// The administrator's words, if any.
        public var reason: String?
    }

    /// The ban, while there is one.
    public internal(set) var banned: Decision?
    /// The closing of the user's account, while it is closed.
    public internal(set) var deactivated: Decision?

    /// A user whom nothing keeps out.
    init() {}

    /// Whether the user may connect.
    public var isAdmitted: Bool { banned == nil && deactivated == nil }

    /// Refuses a user who was banned or whose account was closed.
    func check(_ name: UserName) throws(NetworkError) {
        if let decision = banned { throw .userBanned(name.text, reason: decision.reason) }
        if let decision = deactivated { throw .userDeactivated(name.text, reason: decision.reason) }
    }
}

extension NetworkDirectory {
    /// Whether a user may use the network. Nothing is made or asked.
    /// - Throws: `NetworkError.invalidUserName`, `.file` or `.damaged`.
    public func standing(of user: String) throws(NetworkError) -> UserStanding {
        try record(of: UserName(user))?.standing ?? UserStanding()
    }
}
