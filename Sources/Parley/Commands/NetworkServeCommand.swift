import ArgumentParser
import Relay
import RelayNetwork

/// `parley network serve`: the services of a network on a cluster.
struct NetworkServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Answer for a network on a NATS cluster: names, postboxes, invitations.",
        discussion: """
            Any number of processes, on any machines, share the requests; none of them keeps anything. It runs until a signal \
            ends it and writes its log to standard error.
            """)

    @Option(
        help: ArgumentHelp(
            "The file that parley network provision has written for the services.", valueName: "file"))
    var services: String?

    @Option(
        help: ArgumentHelp(
            "A loopback address and a port, such as 127.0.0.1:7422, for /health, /ready and /metrics.",
            valueName: "address"))
    var http: String?

    @Argument(help: "The network, where its folder is on this machine.")
    var name: String?

    func validate() throws {
        guard (services == nil) != (name == nil) else {
            throw ValidationError("Name the network, or its services' file by --services.")
        }
    }

    func run() async throws {
        try await reportingFailures {
            let path = try services ?? NetworkDirectory.named(name ?? "").servicesFile
            var options = NetworkServing.Options()
            options.stateAddress = http
            options.note = { Output.complain("parley network serve: \($0)") }
            try await NetworkServing(ServiceAccess(path: path), options: options).run()
        }
    }
}
