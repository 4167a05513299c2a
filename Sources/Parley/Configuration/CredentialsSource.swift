import Relay

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where credentials for other servers come from. Never printed with what it holds.
enum CredentialsSource: Sendable, CustomStringConvertible, CustomReflectable {
    case none
    case file(String)
    /// RelayX's pair, from the environment.
    case apiKey(String, secret: String)
    /// A bearer token, from the environment.
    case token(String)
    /// Bearer tokens that a command prints.
    case command(TokenCommand)

    /// The credentials themselves, read and checked.
    func credentials() throws(RelayError) -> RelayCredentials {
        switch self {
        case .none: RelayCredentials.none
        case .file(let path): try .file(path)
        case .apiKey(let key, let secret): try .apiKey(key, secret: secret)
        case .token(let token): try .accessToken(token)
        case .command(let command): try .accessTokens { try await command.token() }
        }
    }

    /// The place, without what is there.
    var description: String {
        switch self {
        case .none: "none"
        case .file(let path): path
        case .apiKey: "PARLEY_API_KEY and PARLEY_SECRET"
        case .token: "PARLEY_TOKEN"
        case .command: "token_command"
        }
    }

    /// No children, so that no dump shows a secret.
    var customMirror: Mirror { Mirror(self, children: []) }

    /// When the token was issued and until when it holds, as it says itself; nil when there is none to read.
    var times: TokenTimes? {
        switch self {
        case .none, .command: return nil
        case .apiKey(let token, _), .token(let token): return TokenTimes(token)
        case .file(let path):
            guard let data = FileManager.default.contents(atPath: path), data.count <= 1 << 20 else { return nil }
            let lines = String(decoding: data, as: UTF8.self).split { $0.isNewline }
            return lines.lazy.compactMap { TokenTimes(String($0)) }.first
        }
    }
}

/// What a JSON web token says of its own time, in seconds since 1970; not verified, which is the server's to do.
struct TokenTimes: Hashable, Sendable, Decodable {
    /// When it was issued.
    var issued: Int64?
    /// Its end; nil or 0 is without end.
    var expires: Int64?
    /// Its begin.
    var notBefore: Int64?

    private enum CodingKeys: String, CodingKey {
        case issued = "iat"
        case expires = "exp"
        case notBefore = "nbf"
    }

    /// Reads a token's claims; nil when the text is no token.
    init?(_ token: String) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].count > 1 else { return nil }
        var claims = String(parts[1].map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        claims += String(repeating: "=", count: (4 - claims.count % 4) % 4)
        guard let data = Data(base64Encoded: claims),
            let times = try? JSONDecoder().decode(TokenTimes.self, from: data)
        else { return nil }
        self = times
    }
}
