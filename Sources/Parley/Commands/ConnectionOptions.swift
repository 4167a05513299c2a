import ArgumentParser
import Relay
import RelayNetwork

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Who to be and where to connect, for every subcommand.
struct ConnectionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A server, nats:// or tls://; may be given several times.", valueName: "url"))
    var server: [String] = []

    @Option(help: ArgumentHelp("A NATS credentials file.", valueName: "file"))
    var creds: String?

    @Option(name: .customLong("as"), help: ArgumentHelp("A user of the private network.", valueName: "user"))
    var user: String?

    /// Where flags, then the environment, say to connect.
    func plan(_ environment: [String: String] = ProcessInfo.processInfo.environment) throws -> ConnectionPlan {
        let keys = (environment["PARLEY_API_KEY"], environment["PARLEY_SECRET"])
        let token = environment["PARLEY_TOKEN"]
        let hasCredentials = creds != nil || keys.0 != nil || keys.1 != nil || token != nil
        guard !server.isEmpty else {
            if user == nil, creds != nil || hasCredentials {
                throw CommandFailure(CommandFailure.usage, "Credentials need a server: add --server URL.")
            }
            return .privateNetwork(user: try user ?? Self.loginName(environment))
        }
        if user != nil {
            throw CommandFailure(
                CommandFailure.usage, "--as names a user of the private network; it does not go with --server.")
        }
        let credentials: RelayCredentials
        if let creds {
            credentials = try .file(creds)
        } else if keys.0 != nil || keys.1 != nil {
            credentials = try .apiKey(keys.0 ?? "", secret: keys.1 ?? "")
        } else if let token {
            credentials = try .accessToken(token)
        } else {
            credentials = .none
        }
        return .servers(try RelayConfiguration.addresses(server), credentials)
    }

    /// The login's name as far as it can be a user's name.
    private static func loginName(_ environment: [String: String]) throws -> String {
        let login = environment["USER"] ?? environment["LOGNAME"] ?? ""
        let kept = login.filter { $0.isASCII && ($0.isLetter || $0.isNumber || "+=_-".contains($0)) }.prefix(64)
        return kept.isEmpty ? "me" : String(kept)
    }
}

/// Where to connect, as the command line and the environment say.
enum ConnectionPlan: Sendable {
    case privateNetwork(user: String)
    case servers([ServerAddress], RelayCredentials)
}
