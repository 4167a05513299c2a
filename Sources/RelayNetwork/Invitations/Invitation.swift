import NATS
import Platform
import Relay

/// What somebody needs to join a network: its servers, whom to trust for them, and credentials that can do one thing
/// once, which is to ask for the person's own. Its text is a secret until it was used.
public struct Invitation: Hashable, Sendable {
    /// The user's name.
    public let user: String
    /// The servers' addresses.
    public let servers: [String]
    /// The authorities to trust, in PEM; nil for those of the system.
    public let authority: String?
    /// What the subjects of the network's topics begin with, and what its stream is called; a client goes by it while
    /// nobody tells.
    public let names: Names
    /// Until when it can be used, in seconds since 1970.
    public let expires: Int64

    /// The names of a network's topics.
    public struct Names: Codable, Hashable, Sendable {
        /// Names the stream `<namespace>_stream` and the bucket.
        public var namespace: String
        /// The first token of every topic's subject.
        public var hash: String
        /// What the subjects of JetStream's calls begin with.
        public var api: String

        /// Whether subjects can be made of them: a stranger's text may hold anything.
        var areUsable: Bool {
            func isToken(_ text: Substring) -> Bool {
                (1...64).contains(text.utf8.count) && text.isWord(besides: "_-$")
            }
            return isToken(namespace[...]) && isToken(hash[...])
                && api.split(separator: ".", omittingEmptySubsequences: false).allSatisfy(isToken)
        }
    }

    /// The credentials, which may ask for others and nothing else.
    let credentials: Credentials

    /// Where the answer arrives: where no other client of the user's listens.
    static let inboxPrefix = "_INBOX_~join"

    /// What an invitation may do.
    static func permissions(_ user: UserName) -> Permissions {
        Permissions(
            pub: SubjectRules(allow: [NetworkNames.enrolment(of: user.text)]),
            sub: SubjectRules(allow: ["\(inboxPrefix).>"]))
    }

    init(
        user: UserName, servers: [String], authority: String?, names: Names, expires: Int64, credentials: Credentials
    ) {
        self.user = user.text
        self.names = names
        self.servers = servers
        self.authority = authority
        self.expires = expires
        self.credentials = credentials
    }
}

// MARK: Its text

extension Invitation {
    private static let begin = "-----BEGIN PARLEY INVITATION-----"
    private static let end = "-----END PARLEY INVITATION-----"
    /// The longest text that is looked at, in bytes.
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

    /// The text to hand over, as a file or in a message: write it where nobody else reads it.
    public func text() -> String {
        let content = credentials.keyPair.withSeedText { seed in
            Content(
                user: user, servers: servers, authority: authority, names: names, expires: expires,
                token: credentials.jwt, seed: seed)
        }
        let code = Array(Data(Wire.json(content)).base64EncodedString())
        let lines = stride(from: 0, to: code.count, by: 64).map { String(code[$0..<min($0 + 64, code.count)]) }
        return """
            An invitation for \(user) to \(servers.joined(separator: ", ")), \(NetworkUser.words(untilEnd: expires)).
            It serves once, and whoever has it can use it. To accept it: parley join FILE

            \(Self.begin)
            \(lines.joined(separator: "\n"))
            \(Self.end)

            """
    }

    /// Reads a text in which an invitation is; what is around it does not matter.
    /// - Throws: `NetworkError.invitation(.damaged)`.
    public init(parsing text: String) throws(NetworkError) {
        guard text.utf8.count <= Self.maximumLength, let begin = text.place(of: Self.begin),
            let end = text.place(of: Self.end, in: begin.upperBound..<text.endIndex),
            let bytes = Self.decode(text[begin.upperBound..<end.lowerBound]),
            let content = try? JSONDecoder().decode(Content.self, from: Data(bytes)), content.version == 1,
            let user = try? UserName(content.user), !content.servers.isEmpty,
            content.servers.allSatisfy({ (try? ServerAddress(parsing: $0)) != nil }),
            content.names.areUsable,
            let credentials = try? Credentials(jwt: content.token, seed: content.seed)
        else { throw .invitation(.damaged) }
        self.init(
            user: user, servers: content.servers, authority: content.authority, names: content.names,
            expires: content.expires, credentials: credentials)
    }

    /// The bytes of the lines between the marks: a letter that quotes them has blanks and `>` before each.
    private static func decode(_ text: Substring) -> [UInt8]? {
        let code = text.filter { String($0).isWord(besides: "+/=") }.utf8
        return Data(base64Encoded: Data(code)).map { Array($0) }
    }
}

extension String {
    /// Where a text is.
    fileprivate func place(of text: String, in range: Range<Index>? = nil) -> Range<Index>? {
        (range.map { self[$0] } ?? self[...]).firstRange(of: text)
    }
}

extension Invitation: CustomStringConvertible, CustomReflectable {
    /// For whom it is; the secret stays hidden.
    public var description: String { "Invitation(\(user), secret hidden)" }
    /// For whom it is alone: dumps and failed expectations must not show the secret.
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}

// MARK: Its use

/// What is asked of the network with an invitation.
struct EnrolmentRequest: Codable, Hashable, Sendable {
    /// The public key of the invitation.
    var invitation: String
    /// The public key to issue credentials to.
    var key: String
    /// The invitation's signature of ``statement(user:key:)``, in base64 for URLs.
    var proof: String

    /// What the invitation signs.
    static func statement(user: String, key: String) -> [UInt8] { Array("parley join \(user) \(key)".utf8) }
}

/// The answer to it.
struct EnrolmentReply: Codable, Hashable, Sendable {
    /// The user's token.
    var token: String?
    /// Why there is none: an ``InvitationFailure``, or what another service says.
    var error: String?
}

extension Invitation {
    /// Exchanges the invitation for credentials that this device alone has. It cannot be used again then.
    /// - Parameters:
    ///   - authorityFile: a file that holds ``authority``.
    ///   - timeout: how long it may take; a network whose services start only now is waited for.
    /// - Throws: `NetworkError.invitation` with why it cannot be used; `.connection` where no server can be reached.
    public func accept(
        authorityFile: String?, timeout: Duration = .seconds(20)
    ) async throws(NetworkError) -> Credentials {
        guard NetworkAdministrator.now < expires else { throw .invitation(.expired) }
        // The same key each time: an answer that was lost can be asked for again.
        let pair = NKeyPair.generate(.user)
        let deadline = ContinuousClock.now + timeout
        var turn = 0
        while true {
            let failure: NetworkError
            do throws(NetworkError) {
                return try await ask(servers[turn % servers.count], pair, authorityFile)
            } catch {
                failure = error
            }
            let isPassing =
                switch failure {
                case .connection(let cause): cause.isRetryable
                case .invitation(let cause): cause == .unavailable
                default: false
                }
            guard isPassing, ContinuousClock.now < deadline else { throw failure }
            turn += 1
            try await Pause.sleep(.milliseconds(500))
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
            // Servers before 2.10 do not say that nobody answers.
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
