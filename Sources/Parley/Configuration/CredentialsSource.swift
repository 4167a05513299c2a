import Platform
import Relay

/// Where credentials come from. Its description never contains a secret.
enum CredentialsSource: Sendable, CustomStringConvertible, CustomReflectable {
    case none
    case file(String)
    /// RelayX's API key and secret, from the environment.
    case apiKey(String, secret: String)
    /// A bearer token, from the environment.
    case token(String)
    case command(TokenCommand)

    func credentials() throws(RelayError) -> RelayCredentials {
        do throws(RelayError) {
            switch self {
            case .none: return .none
            case .file(let path): return try .file(path)
            case .apiKey(let key, let secret): return try .apiKey(key, secret: secret)
            case .token(let token): return try .accessToken(token)
            case .command(let command): return try .accessTokens { try await command.token() }
            }
        } catch {
            guard isFromEnvironment, case .invalidCredentials(let words) = error else { throw error }
            throw .invalidCredentials("\(self): \(words)")
        }
    }

    var isFromEnvironment: Bool {
        switch self {
        case .apiKey, .token: true
        case .none, .file, .command: false
        }
    }

    /// The place, without the secret.
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
}
