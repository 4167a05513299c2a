import Foundation
import NATS
import TestSupport

@testable import RelayNetwork

extension PrivateNetworkFixture {
    /// A bearer token of this network, as its own server would hand one out.
    ///
    /// - Parameter lifetime: seconds from now to its end.
    func bearerToken(for user: String, lifetime: Int64) throws -> String {
        let directory = NetworkDirectory.standard(environment: environment)
        let identity = try NetworkIdentity.open(in: directory)
        _ = try directory.credentials(for: user)
        let account = try NKey(directory.knownRecord(of: UserName(user)).account)
        var grant = UserGrant(issuerAccount: account)
        grant.template.bearerToken = true
        let now = Int64(Date().timeIntervalSince1970)
        let claims = UserClaims(
            subject: NKeyPair.generate(.user).publicKey, name: user, issuedAt: now - 3_600, expires: now + lifetime,
            grant: grant)
        return try claims.encode(signedBy: identity.signingKey)
    }

    /// Writes a configuration with one profile, the default one, and returns its path.
    func configuration(_ profile: String, name: String = "config.json") throws -> String {
        try folder.write("{ profiles: { default: { \(profile) } } }", to: name)
        return folder.path(name)
    }

    /// Starts the network and tells its server's URL.
    func started() async throws -> String {
        _ = try await objects("network", "start", "--json")
        guard let url = description?.url else { throw TestFailure("the network names no address") }
        return url
    }
}

/// Hands out tokens to a command that waits for them, so that a short life begins with the hand-over.
struct TokenCounter {
    let folder: TemporaryDirectory

    /// The command line; `extra` runs before it asks.
    func command(_ extra: String = ":") -> String {
        let (asked, token) = (folder.path("asked"), folder.path("token"))
        return "\(extra); echo asked >>\(asked); until mv \(token) \(token).taken 2>/dev/null; do sleep 0.05; done; "
            + "cat \(token).taken"
    }

    /// How often the command ran.
    var count: Int {
        ((try? String(contentsOfFile: folder.path("asked"), encoding: .utf8)) ?? "").split(separator: "\n").count
    }

    /// Waits for the command to run for this time, and gives it a token.
    func hand(_ token: @autoclosure () throws -> String, time: Int) async throws {
        try await eventually("the token to be asked for", deadline: .seconds(60)) { count == time }
        try folder.write(token() + "\n", to: "token.new")
        guard rename(folder.path("token.new"), folder.path("token")) == 0 else {
            throw TestFailure("the token could not be handed over")
        }
    }
}
