import ArgumentParser
import Logging
import Platform
import Relay
import RelayNetwork

struct NetworkServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the services of a network on a NATS cluster: names, postboxes, invitations.",
        discussion: """
            Any number of processes, on any machines, share the requests; they are stateless. It runs until a signal and \
            writes its log to standard error.

            With --http-secret, or PARLEY_HTTP_SECRET, an app's own server can request its users' bearer tokens: POST \
            /tokens, and DELETE /tokens/ID to revoke one early. This needs the network's folder, and a loopback address or TLS.
            """)

    @Option(
        help: ArgumentHelp(
            "The services file that parley network provision wrote.", valueName: "file"))
    var services: String?

    @Option(
        help: ArgumentHelp(
            "An address and a port, such as 127.0.0.1:7422, for /tokens and, at a loopback address, /health, /ready and /metrics.",
            valueName: "address"))
    var http: String?

    @Option(
        help: ArgumentHelp(
            "A file (0600) with the secret for /tokens, of 32 characters or more.", valueName: "file"))
    var httpSecret: String?

    @Option(help: ArgumentHelp("The certificate for HTTP over TLS, in PEM.", valueName: "file"))
    var tlsCert: String?

    @Option(help: ArgumentHelp("Its key (0600), in PEM.", valueName: "file"))
    var tlsKey: String?

    @OptionGroup var logging: LoggingOption

    @Argument(help: "The network, if its folder is on this machine.")
    var name: String?

    func validate() throws {
        guard (services == nil) != (name == nil) else {
            throw ValidationError("Name the network, or its services file with --services.")
        }
        guard (tlsCert == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-cert and --tls-key go together.")
        }
        guard http != nil || httpSecret == nil && tlsCert == nil else {
            throw ValidationError("--http-secret, --tls-cert and --tls-key go with --http.")
        }
        guard httpSecret == nil || name != nil else {
            throw ValidationError("Tokens need the network's folder: name the network.")
        }
    }

    /// The token service; nil without --http, a network folder or a secret.
    private func tokens(_ logger: Logger, _ environment: [String: String]) throws(NetworkError) -> TokenService? {
        guard http != nil, let name else { return nil }
        let variable = "PARLEY_HTTP_SECRET"
        let secret: SharedSecret
        if let httpSecret {
            secret = try SharedSecret(file: httpSecret)
        } else if let text = environment[variable], !text.isEmpty {
            secret = try SharedSecret(text, from: variable)
        } else {
            return nil
        }
        return TokenService(NetworkAdministrator(directory: try .named(name), logger: logger), secret: secret)
    }

    func run() async throws {
        let path = try services ?? NetworkDirectory.named(name ?? "").servicesFile
        var options = NetworkServing.Options()
        let shown = LineLogHandler(logLevel: .info) { _, text in Output.complain("parley network serve: \(text)") }
        let file = try logging.logger().map { [$0.handler] } ?? []
        options.logger = Logger(label: "parley.serve") { _ in MultiplexLogHandler([shown] + file) }
        options.httpAddress = http
        if let tlsCert, let tlsKey { options.certificate = (tlsCert, tlsKey) }
        options.tokens = try tokens(options.logger, ProcessInfo.processInfo.environment)
        try await NetworkServing(ServiceAccess(path: path), options: options).run()
    }
}
