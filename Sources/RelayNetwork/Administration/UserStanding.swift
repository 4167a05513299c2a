/// Whether a user may use the network, as its administrator decided: kept beside the user's credentials.
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
}

extension NetworkDirectory {
    /// Whether a user may use the network. Nothing is made or asked.
    /// - Throws: `NetworkError.invalidUserName`, `.file` or `.damaged`.
    public func standing(of user: String) throws(NetworkError) -> UserStanding {
        try standing(of: UserName(user))
    }

    func standing(of name: UserName) throws(NetworkError) -> UserStanding {
        try PrivateFile.readJSON(UserStanding.self, from: standingPath(of: name)) ?? UserStanding()
    }

    /// Writes a user's standing; nothing is kept of a user whom nothing keeps out.
    func setStanding(_ standing: UserStanding, of name: UserName) throws(NetworkError) {
        guard !standing.isAdmitted else { return PrivateFile.remove(standingPath(of: name)) }
        try PrivateFile.writeJSON(standing, to: standingPath(of: name))
    }

    /// Refuses a user who was banned or whose account was closed.
    func checkStanding(of name: UserName) throws(NetworkError) {
        let standing = try standing(of: name)
        if let decision = standing.banned { throw .userBanned(name.text, reason: decision.reason) }
        if let decision = standing.deactivated { throw .userDeactivated(name.text, reason: decision.reason) }
    }

    // A user's name has no dot, so this is no user's credentials file.
    private func standingPath(of name: UserName) -> String { "\(users)/\(name).standing.json" }
}
