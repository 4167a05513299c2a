import ArgumentParser
import Relay
import RelayNetwork

struct NetworkProvisionCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provision",
        abstract: "Set up a network on a NATS cluster that someone else runs, or check it.",
        discussion: """
            Missing parts are created. Existing ones are changed only with --apply, and nothing is deleted. The exit status \
            is 75 if something differs from the plan.
            """)

    @Option(help: ArgumentHelp("A server of the cluster; may be given several times.", valueName: "url"))
    var server: [String] = []

    @Option(help: ArgumentHelp("The authorities to trust for the servers, in PEM.", valueName: "file"))
    var tlsCa: String?

    @Option(
        help: ArgumentHelp(
            "The operator's key or one of its signing keys, in a file that only you can read; by default "
                + "PARLEY_OPERATOR_KEY.", valueName: "file"))
    var operatorKey: String?

    @Option(
        help: ArgumentHelp(
            "Credentials of a user of the system account, to push the accounts' tokens to the servers; without them, the "
                + "tokens are written to files for you to push.", valueName: "file"))
    var systemCreds: String?

    @Option(help: ArgumentHelp("How many servers hold a copy of each stream.", valueName: "number"))
    var replicas: Int?

    @Option(help: "A tag that these servers have; may be given several times.")
    var tag: [String] = []

    @Option(help: ArgumentHelp("The cluster's name, in a super cluster.", valueName: "name"))
    var cluster: String?

    @Flag(help: "Change what differs on the servers.") var apply = false
    @Flag(help: "Create and change nothing, here or on the servers.") var dryRun = false
    @Flag(help: "With --apply: remove copies of streams.") var lowerReplicas = false
    @Flag(help: "With --apply: delete messages beyond new limits.") var deleteMessages = false
    @Flag(help: "Print one JSON object.") var json = false

    @Argument(help: "The network's name.")
    var name: String

    func validate() throws {
        guard !(apply && dryRun) else { throw ValidationError("--apply and --dry-run exclude each other.") }
        guard apply || !lowerReplicas && !deleteMessages else {
            throw ValidationError("--lower-replicas and --delete-messages go with --apply.")
        }
    }

    func run() async throws {
        var options = NetworkProvision.Options()
        (options.servers, options.authorityFile) = (server, tlsCa)
        (options.replicas, options.tags, options.cluster) = (replicas, tag.isEmpty ? nil : tag, cluster)
        (options.operatorKeyFile, options.systemCredentialsFile) = (operatorKey, systemCreds)
        (options.applies, options.isRehearsal) = (apply, dryRun)
        (options.losesCopies, options.losesMessages) = (lowerReplicas, deleteMessages)
        let provision = try NetworkProvision(name, directory: .named(name), options: options)
        let report = try await provision.run()
        write(report, provision)
        guard report.isComplete else { throw CommandFailure(.notAcknowledged, advice(report)) }
    }

    private func write(_ report: ProvisionReport, _ provision: NetworkProvision) {
        if json {
            return Output.json([
                "network": .string(name), "complete": .bool(report.isComplete), "unchanged": .bool(report.isUnchanged),
                "parts": .array(report.parts.map(\.json)), "folder": .string(provision.directory.path),
            ])
        }
        for part in report.parts where part.state != .same {
            Output.line("\(part.name): \(part.state.words)")
            for change in part.changes { Output.line("  \(Output.safe(change))") }
        }
        if report.isUnchanged { return Output.line("\(name) is as planned, \(report.parts.count) parts") }
        if report.parts.contains(where: { $0.state == .handOver }) {
            Output.line("tokens to hand to the servers in \(provision.tokensFolder)")
        } else if !dryRun {
            Output.line("for the services: \(provision.directory.servicesFile), parley network serve")
        }
    }

    private func advice(_ report: ProvisionReport) -> String {
        if report.parts.contains(where: { $0.state == .handOver }) {
            return "The servers do not know the network's account yet: hand them its token, and run this again."
        }
        if report.parts.contains(where: { $0.state == .unknown }) {
            return
                "The servers did not report their state, so nothing was changed: run it again in a few minutes, or with --apply to change what differs."
        }
        if dryRun {
            return
                "Nothing was changed. Without --dry-run, missing parts are created; with --apply, those that differ are changed."
        }
        if report.parts.contains(where: { !$0.withheld.isEmpty }), apply {
            return "Changes that would lose copies or messages were skipped: add --lower-replicas or --delete-messages."
        }
        return "The servers differ from the plan: run it with --apply to change that."
    }
}

extension ProvisionReport.State {
    fileprivate var words: String {
        switch self {
        case .same: "as planned"
        case .made: "made"
        case .missing: "missing"
        case .changed: "changed"
        case .different: "differs"
        case .unknown: "not known"
        case .handOver: "to be handed to the servers"
        }
    }
}

extension ProvisionReport.Part {
    fileprivate var json: MessageValue {
        [
            "name": .string(name), "state": .string(state.rawValue),
            "changes": MessageValue(changes), "withheld": MessageValue(withheld),
        ]
    }
}
