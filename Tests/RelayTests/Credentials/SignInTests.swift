import NATS
import TestSupport
import Testing

@testable import Relay

@Suite("SignIn: as whom the next dial goes")
struct SignInTests {
    private func provided(startingWith first: RelayCredentials?) -> RelayCredentials {
        .provided(startingWith: first) { throw RelayError.cancelled }
    }

    private func signIn(_ credentials: RelayCredentials) -> SignIn {
        SignIn(RelayConfiguration(servers: .fixed([]), credentials: credentials))
    }

    /// What is to be done as the application gives credentials, as words.
    private func given(_ signIn: inout SignIn, _ credentials: RelayCredentials, hasSession: Bool) -> [String] {
        words(signIn.given(credentials, hasSession: hasSession), signIn)
    }

    /// What is to be done as the provider answers, as words.
    private func answered(_ signIn: inout SignIn, _ credentials: RelayCredentials?, epoch: UInt64) -> [String] {
        words(signIn.answered(credentials, epoch: epoch), signIn)
    }

    private func words(_ change: SignIn.Change?, _ signIn: SignIn) -> [String] {
        guard let change else { return [] }
        let words = [
            change.cancelsRequest ? "cancel" : nil, change.isOtherUser ? "forget the names" : nil,
            change.discardsOutbox ? "discard" : nil, "adopt \(signIn.user ?? "nobody")",
            change.isOtherUser ? signIn.user.map { "sign as \($0)" } : nil,
        ]
        return words.compactMap(\.self)
    }

    /// Where other credentials come from, as words.
    private func supply(_ signIn: inout SignIn) -> String {
        if signIn.isAsking { return "wait" }
        return signIn.ask().map { "ask \($0.epoch)" } ?? "none"
    }

    private func needsToken(
        _ signIn: inout SignIn, after reason: ConnectionReason, at now: ContinuousClock.Instant = .now
    ) -> Bool {
        signIn.needsToken(after: reason, at: now)
    }

    @Test("B5 the first token names the user, for whom the lines have waited that have no name yet")
    func firstUser() throws {
        var signIn = signIn(provided(startingWith: nil))
        #expect(signIn.credentials.isMissing && supply(&signIn) == "ask 0")
        #expect(supply(&signIn) == "wait")
        #expect(
            try answered(&signIn, UserToken.credentials(), epoch: 0)
                == ["forget the names", "adopt alice", "sign as alice"])
        #expect(signIn.user == "alice" && !signIn.credentials.isMissing && supply(&signIn) == "ask 0")
    }

    @Test("B5 a provider's answer is taken until the application has given other credentials")
    func answers() throws {
        var signIn = try signIn(provided(startingWith: UserToken.credentials()))
        #expect(supply(&signIn) == "ask 0")
        // A renewal names no other user.
        #expect(try answered(&signIn, UserToken.credentials(for: "bob"), epoch: 0) == [])
        #expect(signIn.user == "alice" && supply(&signIn) == "ask 0")
        #expect(answered(&signIn, nil, epoch: 0) == [])
        #expect(supply(&signIn) == "ask 0")
        #expect(try given(&signIn, UserToken.credentials(), hasSession: true) == ["cancel", "adopt alice"])
        #expect(supply(&signIn) == "none")
        // What comes late replaces nothing.
        #expect(try answered(&signIn, UserToken.credentials(for: "mallory"), epoch: 0) == ["adopt alice"])
        #expect(signIn.user == "alice")
    }

    @Test("B5 a token that was just made is the server's to judge, until it has refused one")
    func expiry() throws {
        var signIn = try signIn(provided(startingWith: UserToken.credentials(expires: 100)))
        #expect(signIn.isExpired(at: 100) && !signIn.isExpired(at: 99))
        #expect(try answered(&signIn, UserToken.credentials(expires: 100), epoch: 0) == ["adopt alice"])
        #expect(!signIn.isExpired(at: 100))
        #expect(!needsToken(&signIn, after: .connectionLost("by chance")))
        #expect(!signIn.isExpired(at: 100))
        #expect(needsToken(&signIn, after: .tokenExpired))
        #expect(signIn.isExpired(at: 100))
        // Without a provider nobody could give another one, so the server says it.
        #expect(try !self.signIn(UserToken.credentials(expires: 100)).isExpired(at: 100))
    }

    @Test("B5 an expired, refused or revoked token is renewed at most as often in a row as the policy says")
    func renewals() throws {
        for reason in [ConnectionReason.tokenExpired, .authenticationFailed("x"), .credentialsRevoked(nil)] {
            for attempts in 0...3 {
                var configuration = RelayConfiguration(servers: .fixed([]), credentials: provided(startingWith: nil))
                configuration.tokenRenewal.attempts = attempts
                var signIn = SignIn(configuration)
                for _ in 0..<attempts { #expect(needsToken(&signIn, after: reason)) }
                #expect(!needsToken(&signIn, after: reason))
            }
        }
        var plain = try signIn(UserToken.credentials())
        #expect(!needsToken(&plain, after: .tokenExpired), "There is no provider")
        var provided = signIn(provided(startingWith: nil))
        for reason in [ConnectionReason.banned(nil), .connectionLost(""), .accessExpired(nil)] {
            #expect(!needsToken(&provided, after: reason), "Another token is of no use")
        }
    }

    @Test("B5 tokens that are refused right after each login are not renewed for ever; a connection that lasts is")
    func renewalRow() {
        var signIn = signIn(provided(startingWith: nil))
        var now = ContinuousClock.now
        /// Connects, and loses the connection for want of a token.
        func connection(of length: Duration) -> Bool {
            signIn.connectionChanged(isConnected: true, at: now)
            now += length
            defer { signIn.connectionChanged(isConnected: false, at: now) }
            return needsToken(&signIn, after: .tokenExpired, at: now)
        }
        #expect([Duration.seconds(1), .seconds(4), .milliseconds(4_999)].map(connection) == [true, true, false])
        #expect([Duration.seconds(5), .seconds(1), .zero].map(connection) == [true, true, false])
        // Not lost for want of a token, but one that lasted.
        signIn.connectionChanged(isConnected: true, at: now)
        now += .seconds(60)
        signIn.connectionChanged(isConnected: false, at: now)
        #expect(needsToken(&signIn, after: .tokenExpired, at: now))
        #expect(needsToken(&signIn, after: .tokenExpired, at: now + .seconds(60)))
        #expect(!needsToken(&signIn, after: .tokenExpired, at: now + .seconds(120)))
        signIn.sessionEnded()
        #expect(needsToken(&signIn, after: .tokenExpired, at: now))
    }

    @Test("B5 a network's token for a name that no user can have is refused; other networks' names are free text")
    func impossibleNames() throws {
        let pair = NKeyPair.generate(.user)
        for name in ["a b", "a.b", "*", "a\u{1B}[2J", String(repeating: "x", count: 65)] {
            var claims = UserClaims(subject: pair.publicKey, name: name, grant: UserGrant())
            #expect(try RelayCredentials.accessToken(claims.encode(signedBy: .generate(.account))).user == nil)
            claims.messageKey = "key"
            let token = try claims.encode(signedBy: .generate(.account))
            let folder = try TemporaryDirectory()
            let path = try folder.write(
                Credentials(jwt: token, keyPair: pair).fileText(), to: "x.creds", permissions: 0o600)
            let seed = pair.withSeedText { $0 }
            let readings: [() throws -> RelayCredentials] = [
                { try .accessToken(token) }, { try .apiKey(token, secret: seed) }, { try .file(path) },
            ]
            for (number, read) in readings.enumerated() {
                let words = #expect(throws: RelayError.self) { try read() }?.words ?? ""
                #expect(words.contains("no user can have that name") && !words.contains("\u{1B}"), "\(words)")
                #expect(words.contains(path) == (number == 2), "\(words)")
            }
        }
    }

    @Test("B5 the token itself tells why it was refused")
    func explanation() throws {
        let signIn = try signIn(UserToken.credentials(expires: 100))
        #expect(signIn.explained(.authenticationFailed("refused"), at: 100) == .tokenExpired)
        #expect(signIn.explained(.authenticationFailed("refused"), at: 99) == .authenticationFailed("refused"))
        #expect(signIn.explained(.connectionLost("cut"), at: 100) == .connectionLost("cut"))
        // A file's token, presented alone.
        let claims = UserClaims(subject: NKeyPair.generate(.user).publicKey, name: "alice", grant: UserGrant())
        let unsigned = try self.signIn(.accessToken(claims.encode(signedBy: .generate(.account))))
        let words = unsigned.explained(.authenticationFailed(""), at: 99).words
        #expect(words.contains("counts with the secret of its key alone"), "\(words)")
    }

    @Test("B7 another user's credentials are taken only where they may be, and nothing of the one before is sent")
    func otherUser() throws {
        var signIn = try signIn(UserToken.credentials())
        #expect(try given(&signIn, UserToken.credentials(for: "bob"), hasSession: true) == [])
        #expect(signIn.user == "alice")
        #expect(try given(&signIn, UserToken.credentials(), hasSession: true) == ["adopt alice"])
        #expect(
            try given(&signIn, UserToken.credentials(for: "bob"), hasSession: false)
                == ["forget the names", "discard", "adopt bob", "sign as bob"])
        #expect(signIn.user == "bob")
        #expect(given(&signIn, .none, hasSession: false) == ["forget the names", "discard", "adopt nobody"])
    }
}
