import NATS
import Platform

/// A message of the network's administrator to a user's clients that says why the connection is about to end.
///
/// It is sent on `relay.control.<user>` as a JSON map of `kind`, `reason`, `device`, `by`, `key` and `proof`. Any
/// member of the account could have a stream delivered to that subject, so the map itself proves nothing: `proof`
/// contains the same facts in a token that the network's account has signed for this user and a short time, and clients
/// trust only that.
public struct ControlMessage: Hashable, Sendable {
    /// What is about to happen.
    public enum Kind: Hashable, Sendable {
        /// The connection ends; a new one is allowed.
        case kicked
        /// The user may not connect until the ban is lifted.
        case banned
        /// The user's account was closed.
        case deactivated
        /// The credentials of the connection were revoked.
        case revoked
        /// The user's access to the network has expired.
        case accessExpired
        /// The user signed in elsewhere, and only one session is allowed.
        case signedInElsewhere
        /// The entire application is blocked.
        case applicationBlocked
        /// The user's permissions have changed; a new connection gets the new ones.
        case permissionsChanged
        /// Any other reason, as a status code of RongCloud or Nexconn.
        case code(Int)
    }

    /// What is about to happen.
    public var kind: Kind
    /// The administrator's words, if any.
    public var reason: String?
    /// The device that took over, for ``Kind/signedInElsewhere``.
    public var device: String?
    /// The administrator who acts.
    public var administrator: String?
    /// The public key of the credentials concerned; nil means all connections of the user.
    public var key: String?

    /// Creates a message.
    public init(
        kind: Kind, reason: String? = nil, device: String? = nil, administrator: String? = nil, key: String? = nil
    ) {
        self.kind = kind
        self.reason = reason
        self.device = device
        self.administrator = administrator
        self.key = key
    }

    /// The subject on which a user's clients listen to their administrator.
    public static func subject(for user: String) -> String { NetworkNames.control(of: user) }

    /// The meaning of the message for the connection.
    public var connectionReason: ConnectionReason {
        switch kind {
        case .kicked: .kicked(by: administrator, reason: reason)
        case .banned: .banned(reason)
        case .deactivated: .deactivated(reason)
        case .revoked: .credentialsRevoked(reason)
        case .accessExpired: .accessExpired(reason)
        case .signedInElsewhere: .kickedByOtherDevice(device)
        case .applicationBlocked: .appBlocked(reason)
        case .permissionsChanged: .permissionsChanged(reason)
        case .code(let code):
            if let status = NexconnConnectionStatus.known.first(where: { $0.rawValue == code }) {
                status.meaning.reason ?? .unknown(code)
            } else {
                RongCloudCode(rawValue: code).reason
            }
        }
    }
}

extension ControlMessage {
    /// The longest message accepted, in bytes.
    static let maximumLength = 16 << 10
    /// How far the clocks of the administrator and a client may differ, in seconds.
    static let clockTolerance: Int64 = 300

    /// The message in its wire form.
    ///
    /// - Parameters:
    ///   - user: The recipient.
    ///   - account: The key that issues the users' tokens: the account's, or one of its signing keys.
    ///   - now: Seconds since 1970.
    ///   - lifetime: For how many seconds clients may accept it.
    /// - Throws: ``RelayError/invalidArgument(_:)`` if the key is not an account's.
    public func encoded(
        for user: String, signedBy account: NKeyPair, at now: Int64, lifetime: Int64 = 120
    ) throws(RelayError) -> [UInt8] {
        var facts = Facts(self)
        facts.proof = try proof(for: user, signedBy: account, at: now, lifetime: lifetime)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return Array(try encoder.encode(facts)) } catch {
            throw .invalidArgument("The control message cannot be written as JSON")
        }
    }

    /// The token that proves the message and contains all of it, with the parameters and errors of
    /// ``encoded(for:signedBy:at:lifetime:)``.
    package func proof(
        for user: String, signedBy account: NKeyPair, at now: Int64, lifetime: Int64 = 120
    ) throws(RelayError) -> String {
        var claims = Claims(
            subject: account.publicKey, issuedAt: now, expires: now + lifetime,
            grant: ControlGrant(facts: Facts(self)))
        claims.audience = Self.subject(for: user)
        do throws(CredentialsError) { return try claims.encode(signedBy: account) } catch {
            throw .invalidArgument("A control message is signed with an account's key, and this key is of another kind")
        }
    }

    /// Decodes a message and verifies its proof.
    ///
    /// - Parameters:
    ///   - bytes: The message.
    ///   - user: The required recipient.
    ///   - issuers: The public keys trusted to sign it: those that issued the user's own token.
    ///   - now: Seconds since 1970, by this machine's clock.
    /// - Returns: The message and the identifier of its proof, which reveals a repetition.
    /// - Throws: ``RelayError/invalidMessage(_:)`` if it is malformed, not proved, for another user, or too old.
    public static func verified(
        _ bytes: some Collection<UInt8>, for user: String, trusting issuers: [String], at now: Int64
    ) throws(RelayError) -> (message: ControlMessage, proof: String) {
        guard bytes.count <= maximumLength, let facts = try? JSONDecoder().decode(Facts.self, from: Data(bytes)) else {
            throw .invalidMessage("it is no control message")
        }
        guard let proof = facts.proof else { throw .invalidMessage("the control message is not signed") }
        return try verified(proof: proof, for: user, trusting: issuers, at: now)
    }

    /// Verifies a proof alone, like ``verified(_:for:trusting:at:)``; without a time, however old it is.
    static func verified(
        proof: String, for user: String, trusting issuers: [String], at now: Int64? = nil
    ) throws(RelayError) -> (message: ControlMessage, proof: String) {
        guard proof.utf8.count <= maximumLength else { throw .invalidMessage("it is no control message") }
        let claims: Claims<ControlGrant>
        do throws(CredentialsError) { claims = try Claims<ControlGrant>.verify(proof) } catch {
            throw .invalidMessage("the control message's signature is not valid")
        }
        guard let issuer = claims.issuer, issuers.contains(issuer) else {
            throw .invalidMessage("the control message is signed by a stranger")
        }
        guard claims.audience == subject(for: user) else {
            throw .invalidMessage("the control message is for somebody else")
        }
        if let now {
            guard let issuedAt = claims.issuedAt, let expires = claims.expires, issuedAt <= now + clockTolerance,
                expires > now - clockTolerance, expires - issuedAt <= 3_600
            else { throw .invalidMessage("the control message is too old") }
        }
        guard let message = claims.grant.facts.message, let identifier = claims.id else {
            throw .invalidMessage("the control message's kind is not known")
        }
        return (message, identifier)
    }

    /// Decodes a message on a network without tokens, where only the server's permissions say who may send it.
    ///
    /// - Throws: ``RelayError/invalidMessage(_:)`` if it is malformed.
    public static func unproved(_ bytes: some Collection<UInt8>) throws(RelayError) -> ControlMessage {
        guard bytes.count <= maximumLength, let facts = try? JSONDecoder().decode(Facts.self, from: Data(bytes)),
            let message = facts.message
        else { throw .invalidMessage("it is no control message") }
        return message
    }

    /// The message in its wire form.
    struct Facts: Codable, Hashable, Sendable {
        var kind: String
        var reason: String?
        var device: String?
        var by: String?
        var code: Int?
        var key: String?
        /// Proves the rest; nil in the proof itself.
        var proof: String?

        init(_ message: ControlMessage) {
            kind = message.kind.name
            if case .code(let number) = message.kind { code = number }
            (reason, device) = (message.reason, message.device)
            (by, key) = (message.administrator, message.key)
        }

        var message: ControlMessage? {
            let known = kind == "code" ? code.map(Kind.code) : Kind.plain.first { $0.name == kind }
            return known.map {
                ControlMessage(kind: $0, reason: reason, device: device, administrator: by, key: key)
            }
        }
    }
}

extension ControlMessage.Kind {
    /// All but ``code(_:)``.
    fileprivate static let plain: [Self] = [
        .kicked, .banned, .deactivated, .revoked, .accessExpired, .signedInElsewhere, .applicationBlocked,
        .permissionsChanged,
    ]

    /// The name on the wire.
    fileprivate var name: String {
        switch self {
        case .kicked: "kicked"
        case .banned: "banned"
        case .deactivated: "deactivated"
        case .revoked: "revoked"
        case .accessExpired: "access_expired"
        case .signedInElsewhere: "signed_in_elsewhere"
        case .applicationBlocked: "application_blocked"
        case .permissionsChanged: "permissions_changed"
        case .code: "code"
        }
    }
}

/// The facts in a control message's token: a generic NATS token of the account about itself.
struct ControlGrant: ClaimsGrant {
    static let type = "generic"
    static let subject = NKey.Kind.account
    static let issuers: Set<NKey.Kind> = [.account]

    private(set) var type: String
    private(set) var version: Int
    var facts: ControlMessage.Facts

    init(facts: ControlMessage.Facts) {
        self.facts = facts
        type = Self.type
        version = 2
    }

    private enum CodingKeys: String, CodingKey {
        case type, version
        case facts = "relay_control"
    }
}
