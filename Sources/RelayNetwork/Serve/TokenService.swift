import Relay

/// The HTTP requests of an app's own server for its users: `POST /tokens` issues a bearer token, `DELETE /tokens/ID`
/// revokes it. The secret authorizes both.
public struct TokenService: Sendable {
    /// The default lifetime of a token, in seconds.
    public static let standardLifetime: Int64 = 3_600
    /// The maximum lifetime, in seconds.
    static let longestLifetime: Int64 = 366 * 86_400

    private let administrator: NetworkAdministrator
    private let secret: SharedSecret

    /// Serves the network of an administrator, which logs failures that the client is not told.
    public init(_ administrator: NetworkAdministrator, secret: SharedSecret) {
        (self.administrator, self.secret) = (administrator, secret)
    }

    func answer(_ question: HTTPQuestion) async -> HTTPAnswer? {
        let parts = question.path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 2, parts[0].isEmpty, parts[1] == "tokens" else { return nil }
        guard secret.isPresented(by: question.authorization) else {
            administrator.logger.debug("refused a request without the secret")
            return Self.failure(401, "Present the secret: Authorization: Bearer SECRET.")
        }
        do throws(NetworkError) {
            switch (question.method, parts.count) {
            case ("POST", 2): return try await issue(question.body)
            case ("DELETE", 3): return try await revoke(parts[2])
            case (_, 2), (_, 3): return Self.failure(405, "POST /tokens, or DELETE /tokens/ID.")
            default: return Self.failure(404, "POST /tokens, or DELETE /tokens/ID.")
            }
        } catch {
            return failure(error)
        }
    }

    private struct Order: Decodable {
        var user: String
        /// In seconds.
        var lifetime: Int64?
        /// Rights, as on the command line; the user's if none are named.
        var topics: [String]?
        var publish: [String]?
        var subscribe: [String]?
        var kv: AccessRights.KeyValueAccess?
        var letters: Bool?

        var rights: RightsChange {
            var rights = RightsChange(topics: topics)
            if topics == nil { (rights.publish, rights.subscribe) = (publish, subscribe) }
            (rights.keyValue, rights.letters) = (kv, letters)
            return rights
        }
    }

    private func issue(_ body: [UInt8]) async throws(NetworkError) -> HTTPAnswer {
        guard let order = Wire.value(Order.self, from: body) else {
            return Self.failure(400, #"The body is a JSON object: {"user": "NAME", "lifetime": SECONDS}."#)
        }
        let lifetime = order.lifetime ?? Self.standardLifetime
        guard (1...Self.longestLifetime).contains(lifetime) else {
            return Self.failure(400, "lifetime is from 1 to \(Self.longestLifetime) seconds.")
        }
        let made = try await administrator.makeToken(
            of: order.user, rights: order.rights, expires: NetworkAdministrator.now + lifetime, makesUser: true)
        let expires = made.key.expires.map { Timestamp(seconds: $0).iso8601 } ?? ""
        return Self.object(201, ["user": order.user, "key": made.key.id, "token": made.token, "expires": expires])
    }

    private func revoke(_ id: String) async throws(NetworkError) -> HTTPAnswer {
        let (user, key) = try await administrator.revokeToken(id)
        return Self.object(200, ["user": user.text, "key": key.id, "action": "revoked"])
    }

    private func failure(_ error: NetworkError) -> HTTPAnswer {
        switch error {
        case .invalidUserName, .invalidGrant: return Self.failure(400, "\(error)")
        case .userBanned, .userDeactivated, .userExpired: return Self.failure(403, "\(error)")
        case .unknownKey: return Self.failure(404, "There is no such token.")
        case .tooManyKeys, .userNameTaken: return Self.failure(409, "\(error)")
        default:
            administrator.logger.error("no token could be handed out or revoked", metadata: ["error": "\(error)"])
            return Self.failure(503, "The network cannot do this now. Its log says why.")
        }
    }

    private static func failure(_ status: Int, _ words: String) -> HTTPAnswer { object(status, ["error": words]) }

    private static func object(_ status: Int, _ fields: [String: String]) -> HTTPAnswer {
        HTTPAnswer(
            status: status, type: "application/json", body: String(decoding: Wire.json(fields), as: UTF8.self) + "\n")
    }
}

/// A secret that two programs share; never printed.
public struct SharedSecret: Sendable, CustomStringConvertible, CustomReflectable {
    /// The minimum length in bytes, since it can be guessed over the network.
    public static let minimumLength = 32
    private let bytes: [UInt8]

    /// Takes a secret, ignoring surrounding blanks.
    /// - Throws: `NetworkError.invalidListener`, naming its origin, if it is too short or not printable ASCII.
    public init(_ text: String, from place: String) throws(NetworkError) {
        let bytes = Array(text.utf8.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed())
        guard bytes.count >= Self.minimumLength, bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalidListener(
                "\(place) must contain one secret of at least \(Self.minimumLength) printable characters, without blanks."
            )
        }
        self.bytes = bytes
    }

    /// Reads a file that only its owner may be able to read.
    /// - Throws: as ``init(_:from:)``.
    public init(file path: String) throws(NetworkError) {
        try self.init(PrivateFile.text(in: path, isSecret: true), from: path)
    }

    /// Compares in constant time.
    func isPresented(by authorization: String?) -> Bool {
        let words = (authorization ?? "").split(separator: " ")
        let given = words.count == 2 && words[0].lowercased() == "bearer" ? Array(words[1].utf8) : []
        var difference: UInt8 = given.count == bytes.count ? 0 : 1
        for (index, byte) in bytes.enumerated() { difference |= byte ^ (index < given.count ? given[index] : 0) }
        return difference == 0
    }

    /// Hides it.
    public var description: String { "SharedSecret(hidden)" }
    /// No children, so that no dump shows it.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
