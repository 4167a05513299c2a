import NATS
import Platform
import Relay

/// What a person needs to join a network: its servers, the authorities to trust, and credentials that can be exchanged
/// once for the person's own. Its text is a secret until it has been used.
public struct Invitation: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The user's name.
    public let user: String
    /// The servers' addresses.
    public let servers: [String]
    /// The authorities to trust, in PEM; nil for those of the system.
    public let authority: String?
    /// The names of the network's topics and stream, which a client uses while no service answers.
    public let names: Names
    /// When it expires, in seconds since 1970.
    public let expires: Int64

    /// The names of a network's topics.
    public struct Names: Codable, Hashable, Sendable {
        /// Names the stream `<namespace>_stream` and the bucket.
        public var namespace: String
        /// The first token of every topic's subject.
        public var hash: String
        /// The prefix of the subjects of JetStream's API.
        public var api: String

        /// Whether subjects can be built from them: a stranger's text may contain anything.
        var areUsable: Bool {
            func isToken(_ text: Substring) -> Bool {
                (1...64).contains(text.utf8.count) && text.isWord(besides: "_-$")
            }
            return isToken(namespace[...]) && isToken(hash[...])
                && api.split(separator: ".", omittingEmptySubsequences: false).allSatisfy(isToken)
        }
    }

    let credentials: Credentials

    /// The answer arrives here, where no other client of the user listens.
    static let inboxPrefix = "_INBOX_~join"

    static func permissions(_ user: UserName) -> Permissions {
        Permissions(
            pub: SubjectRules(allow: [NetworkNames.enrolment(of: user.text)]),
            sub: SubjectRules(allow: ["\(inboxPrefix).>"]))
    }
}

extension Invitation {
    private static let begin = "-----BEGIN PARLEY INVITATION-----"
    private static let end = "-----END PARLEY INVITATION-----"
    /// The longest text that is parsed, in bytes.
    public static let maximumLength = 256 << 10

    /// Whether a line is the last of an invitation.
    public static func isEnd(_ line: String) -> Bool { line.contains(end) }

    private struct Content: Codable {
        var version = 1
        var user: String
        var servers: [String]
        var authority: String?
        var names: Names
        var expires: Int64
        var token: String
        var seed: String
    }

    /// The text to hand over, as a file or in a message; store it where no one else can read it.
    public func text() -> String {
        let content = credentials.keyPair.withSeedText { seed in
            Content(
                user: user, servers: servers, authority: authority, names: names, expires: expires,
                token: credentials.jwt, seed: seed)
        }
        let lines = Data(Wire.json(content)).base64EncodedString(
            options: [.lineLength64Characters, .endLineWithLineFeed])
        return """
            An invitation for \(user) to \(servers.joined(separator: ", ")), \(NetworkUser.words(untilEnd: expires)).
            It serves once, and whoever has it can use it. To accept it: parley join FILE

            \(Self.begin)
            \(lines)
            \(Self.end)

            """
    }

    /// Parses an invitation, which may have other text around it.
    /// - Throws: `NetworkError.invitation(.damaged)`.
    public init(parsing text: String) throws(NetworkError) {
        guard text.utf8.count <= Self.maximumLength, let begin = text.firstRange(of: Self.begin),
            let end = text[begin.upperBound...].firstRange(of: Self.end),
            // A letter that quotes the lines has blanks and `>` before each.
            let bytes = Data(
                base64Encoded: text[begin.upperBound..<end.lowerBound].filter { String($0).isWord(besides: "+/=") }),
            let content = Wire.value(Content.self, from: bytes), content.version == 1,
            (try? UserName(content.user)) != nil, !content.servers.isEmpty,
            content.servers.allSatisfy({ (try? ServerAddress(parsing: $0)) != nil }), content.names.areUsable,
            let credentials = try? Credentials(jwt: content.token, seed: content.seed)
        else { throw .invitation(.damaged) }
        self.init(
            user: content.user, servers: content.servers, authority: content.authority, names: content.names,
            expires: content.expires, credentials: credentials)
    }

    /// Names the user and hides the secret.
    public var description: String { "Invitation(\(user), secret hidden)" }
    /// The user's name only: dumps and failed expectations must not show the secret.
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}

struct EnrolmentRequest: Codable, Hashable, Sendable {
    var invitation: String
    var key: String
    /// The invitation's signature of ``statement(user:key:)``, in base64 for URLs.
    var proof: String

    static func statement(user: String, key: String) -> [UInt8] { Array("parley join \(user) \(key)".utf8) }
}

struct EnrolmentReply: Codable, Hashable, Sendable {
    var token: String?
    /// Why there is no token: an ``InvitationFailure``, or another service's reason.
    var error: String?
}

extension Invitation {
    /// Exchanges the invitation for credentials that only this device has; it cannot be used again after that. Waits
    /// for a network whose services are still starting.
    /// - Parameter authorityFile: a file that contains ``authority``.
    /// - Throws: `NetworkError.invitation` if it cannot be used; `.connection` if no server can be reached.
    public func accept(
        authorityFile: String?, timeout: Duration = .seconds(20)
    ) async throws(NetworkError) -> Credentials {
        guard NetworkAdministrator.now < expires else { throw .invitation(.expired) }
        // The same key for each attempt, so that a lost answer can be requested again.
        let pair = NKeyPair.generate(.user)
        func mayPass(_ error: NetworkError) -> Bool {
            switch error {
            case .connection(let cause): cause.isRetryable
            case .invitation(let cause): cause == .unavailable
            default: false
            }
        }
        var turn = -1
        return try await persist(until: .now + timeout, every: .milliseconds(500), where: mayPass) {
            turn += 1
            return try await ask(servers[turn % servers.count], pair, authorityFile)
        }
    }

    private func ask(
        _ server: String, _ pair: NKeyPair, _ authorityFile: String?
    ) async throws(NetworkError) -> Credentials {
        let request = EnrolmentRequest(
            invitation: credentials.keyPair.publicKey.text, key: pair.publicKey.text,
            proof: Base64URL.encode(
                credentials.keyPair.sign(EnrolmentRequest.statement(user: user, key: pair.publicKey.text))))
        let connection: NATSConnection
        do throws(NATSError) {
            var address = try ServerAddress(parsing: server)
            address.authorityFile = authorityFile
            connection = try await NATSConnection.connect(
                to: address,
                options: ConnectOptions(
                    name: "parley join", authentication: .init(credentials), inboxPrefix: Self.inboxPrefix))
        } catch {
            if case .authorization = error { throw .invitation(.refused) }
            throw .connection(error)
        }
        defer { connection.closeNow() }
        let answer: NATSMessage
        do throws(NATSError) {
            answer = try await connection.request(
                .init(bytes: Wire.json(request)), to: NetworkNames.enrolment(of: user), timeout: .seconds(5))
        } catch {
            switch error {
            // Servers before 2.10 do not report missing responders.
            case .timeout, .noResponders: throw .invitation(.unavailable)
            default: throw .connection(error)
            }
        }
        guard let reply = Wire.value(EnrolmentReply.self, from: answer.bytes) else { throw .invitation(.unavailable) }
        guard let token = reply.token else {
            throw .invitation(reply.error.flatMap(InvitationFailure.init) ?? .unavailable)
        }
        return try translated { try Credentials(jwt: token, keyPair: pair) }
    }
}

/// An issued invitation, as the network remembers it; times are in seconds since 1970.
struct InvitationRecord: Codable, Hashable, Sendable {
    let key: String
    let created: Int64
    let expires: Int64
    /// The public key that received the credentials; nil until then.
    private(set) var usedBy: String?
    var isRevoked = false

    mutating func wasUsed(by key: String) { usedBy = usedBy ?? key }

    /// Uses it up for a key. A repeated request for the same key means that the answer was lost.
    mutating func use(for key: String, at now: Int64) throws(InvitationFailure) {
        if let usedBy { guard usedBy == key else { throw .usedUp } }
        guard !isRevoked else { throw .revoked }
        guard now < expires else { throw .expired }
        usedBy = key
    }
}

/// Why an invitation cannot be used.
public enum InvitationFailure: String, Error, Codable, Hashable, Sendable, CustomStringConvertible {
    /// The text is not an invitation.
    case damaged
    /// It has been used.
    case usedUp
    /// It was revoked, or replaced by another one.
    case revoked
    /// It has expired.
    case expired
    /// The server rejects it: it has expired, or its user is banned.
    case refused
    /// The network's services do not answer.
    case unavailable

    /// What happened, and what to do next.
    public var description: String {
        switch self {
        case .damaged: "This is no invitation, or a part of it is missing: pass on all lines from BEGIN to END."
        case .usedUp: "This invitation was used already; each works only once. Ask for another one."
        case .revoked: "This invitation was taken back: ask for another one."
        case .expired: "This invitation has expired: ask for another one."
        case .refused:
            "The network does not accept this invitation: it has expired, or its user may not use the network."
        case .unavailable: "The network accepts no invitations right now. This one stays valid; try again later."
        }
    }
}
