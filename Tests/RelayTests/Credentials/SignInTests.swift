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

    private func tokenRequest(_ epoch: UInt64) -> SignIn.TokenRequest {
        SignIn.TokenRequest(answer: Task { false }, epoch: epoch)
    }

    @Test("B7 another user's credentials are taken only where they may be")
    func otherUser() throws {
        var signIn = try signIn(UserToken.credentials())
        #expect(try signIn.use(UserToken.credentials(for: "bob"), mayChangeUser: false) == .refused)
        #expect(signIn.user == "alice" && signIn.epoch == 0)
        #expect(try signIn.use(UserToken.credentials(), mayChangeUser: false) == .sameUser)
        #expect(try signIn.use(UserToken.credentials(for: "bob"), mayChangeUser: true) == .otherUser)
        #expect(signIn.user == "bob" && signIn.epoch == 2)
    }

    @Test("B5 a provider's answer is taken until the application has given other credentials")
    func answers() throws {
        var signIn = signIn(provided(startingWith: nil))
        #expect(signIn.credentials.isMissing)
        signIn.asked(tokenRequest(0))
        #expect(try signIn.answered(UserToken.credentials(), epoch: 0) == .firstUser)
        #expect(signIn.tokenRequest == nil && signIn.user == "alice" && !signIn.credentials.isMissing)
        signIn.asked(tokenRequest(0))
        // A renewal names no other user.
        #expect(try signIn.answered(UserToken.credentials(for: "bob"), epoch: 0) == .refused)
        #expect(signIn.user == "alice" && signIn.tokenRequest == nil)
        #expect(signIn.answered(nil, epoch: 0) == nil)
        signIn.asked(tokenRequest(0))
        #expect(try signIn.use(UserToken.credentials(), mayChangeUser: false) == .sameUser)
        #expect(signIn.tokenRequest == nil)
        // What comes late replaces nothing.
        #expect(try signIn.answered(UserToken.credentials(for: "mallory"), epoch: 0) == .sameUser)
        #expect(signIn.user == "alice")
    }

    @Test("B5 a token that was just made is the server's to judge, until it has refused one")
    func expiry() throws {
        var signIn = try signIn(provided(startingWith: UserToken.credentials(expires: 100)))
        #expect(signIn.isExpired(at: 100) && !signIn.isExpired(at: 99))
        #expect(try signIn.answered(UserToken.credentials(expires: 100), epoch: 0) == .sameUser)
        #expect(!signIn.isExpired(at: 100))
        signIn.wasRefused(for: .connectionLost("by chance"))
        #expect(!signIn.isExpired(at: 100))
        signIn.wasRefused(for: .tokenExpired)
        #expect(signIn.isExpired(at: 100))
        // Without a provider nobody could give another one, so the server says it.
        #expect(try !self.signIn(UserToken.credentials(expires: 100)).isExpired(at: 100))
    }

    @Test("B5 the token itself tells why it was refused")
    func explanation() throws {
        let signIn = try signIn(UserToken.credentials(expires: 100))
        #expect(signIn.explained(.authenticationFailed("refused"), at: 100) == .tokenExpired)
        #expect(signIn.explained(.authenticationFailed("refused"), at: 99) == .authenticationFailed("refused"))
        #expect(signIn.explained(.connectionLost("cut"), at: 100) == .connectionLost("cut"))
    }
}
