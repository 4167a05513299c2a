import ArgumentParser
import Platform
import Relay
import RelayFaults
import RelayLab
import RelayNetwork

struct LabRunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run scenarios, and report whether each passed.",
        discussion:
            "FILE may be the name of a scenario that lab list shows. Each runs on a temporary network of its own, unless "
            + "--server or --profile names another one, whose server side is left alone. The exit status is 1 if one did "
            + "not pass.")

    @OptionGroup var connection: ConnectionTarget

    @Flag(help: "Run all that come with Parley.")
    var all = false

    @Option(help: ArgumentHelp("Random seed; always printed.", valueName: "number"))
    var seed: UInt64?

    @Option(help: ArgumentHelp("Speed-up factor over real time, instead of the file's.", valueName: "factor"))
    var speed: Double?

    @Option(help: ArgumentHelp("A log file of all events, as lines of JSON; for one scenario.", valueName: "file"))
    var log: String?

    @Option(help: ArgumentHelp("A file for the report as an HTML page; for one scenario.", valueName: "file"))
    var report: String?

    @Option(help: ArgumentHelp("A file for the verdicts as JUnit XML.", valueName: "file"))
    var junit: String?

    @Flag(help: "Print one JSON object for each event, the verdict last.")
    var json = false

    @Argument(help: "Scenarios, by file or by name.")
    var files: [String] = []

    func validate() throws {
        guard all != !files.isEmpty else { throw ValidationError("Name scenarios, or pass --all.") }
        if let speed, !(0.01...1_000).contains(speed) {
            throw ValidationError("--speed takes a number from 0.01 to 1000; 1 is real time.")
        }
        if log != nil || report != nil, all || files.count > 1 {
            throw ValidationError("--log and --report are for one scenario at a time.")
        }
    }

    func run() async throws {
        // All are parsed before the first one runs.
        let scenarios = try all ? ShippedScenario.all.map { try $0.scenario() } : files.map(Lab.named)
        let ground = try LabGround(connection)
        for scenario in scenarios { try ground.check(scenario) }
        var reports: [LabReport] = []
        let (speed, seed, json) = (speed, seed, json)
        for scenario in scenarios {
            let run = try await untilSignal {
                let speed = speed ?? scenario.speed
                let seed = seed ?? scenario.seed ?? UInt64.random(in: 1...999_999)
                return try await ground.session(
                    scenario, speed: speed, seed: seed, { Lab.show($0, json: json) }
                ) { await $0.run(scenario, speed: speed) }
            }
            let report = LabReport(run)
            reports.append(report)
            Lab.show(report, json: json)
            if let log { try Lab.write(run.log.text, to: log) }
            if let file = self.report { try Lab.write(report.page, to: file) }
        }
        if let junit { try Lab.write(LabReport.junit(reports), to: junit) }
        if reports.contains(where: { !$0.verdict.isPassed }) { throw Lab.failed }
    }
}

/// Runs a body, which a signal cancels; then throws the signal's exit status once the body has ended.
func untilSignal<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let signals = EndingSignals()
    defer { signals.cancel() }
    return try await withThrowingTaskGroup(of: Value.self) { [numbers = signals.numbers] group in
        group.addTask { try await body() }
        group.addTask {
            for await number in numbers { throw ExitCode(128 + number) }
            throw ExitCode(of: .interrupted)
        }
        // The group waits while the cancelled body cleans up.
        defer { group.cancelAll() }
        guard let value = try await group.next() else { throw CancellationError() }
        return value
    }
}

/// Where scenarios run: on networks of their own, or with the server that the options name.
struct LabGround: Sendable {
    private let server: (address: ServerAddress, configuration: RelayConfiguration)?

    /// Uses a server only if a flag names it: a rehearsal must not disturb the configuration's default servers.
    init(_ options: ConnectionTarget) throws {
        let plan = options.server.isEmpty && options.profile == nil ? nil : try options.plan()
        if let plan, case .servers(let addresses, _, _) = plan.target, let address = addresses.first {
            server = (address, try Connector(plan).configuration)
        } else {
            server = nil
        }
    }

    func check(_ scenario: LabScenario) throws(CommandFailure) {
        guard server != nil, scenario.needsNetwork || scenario.client.tokenLifetime != nil else { return }
        throw CommandFailure(
            .refused,
            "“\(scenario.title)” is for a network that Parley started: leave --server and --profile out.")
    }

    /// Runs the body with a session for a scenario; stops its network and proxy afterwards.
    func session<Value: Sendable>(
        _ scenario: LabScenario, speed: Double, seed: UInt64, _ report: @escaping @Sendable (LabEvent) -> Void,
        _ body: (LabSession) async throws -> Value
    ) async throws -> Value {
        let network: LabNetwork? =
            if server != nil {
                nil
            } else if scenario.needsCluster {
                try await LabNetwork.startCluster()
            } else {
                try await LabNetwork.start()
            }
        let result: Result<Value, any Error>
        do {
            result = .success(try await session(on: network, scenario, speed: speed, seed: seed, report, body))
        } catch {
            result = .failure(error)
        }
        await network?.stop()
        return try result.get()
    }

    private func session<Value: Sendable>(
        on network: LabNetwork?, _ scenario: LabScenario, speed: Double, seed: UInt64,
        _ report: @escaping @Sendable (LabEvent) -> Void, _ body: (LabSession) async throws -> Value
    ) async throws -> Value {
        let targets = network?.addresses ?? server.map { [$0.address] } ?? []
        guard let target = targets.first else { throw NetworkError.notRunning }
        let proxy = try await FaultProxy.start(target: target, others: Array(targets.dropFirst()), seed: seed)
        let tested = try configuration(network, scenario.client, over: proxy.address, speed: speed, seed: seed)
        let other = try configuration(network, scenario.client, over: nil, speed: speed, seed: nil)
        let heading = LabHeading(
            title: scenario.title, seed: seed, policy: scenario.client.reconnect, speed: speed,
            server: network.map { "nats-server \($0.version)" } ?? "\(target)", time: WallClock.now.iso8601)
        let subject = RelaySubject(tested, other: other)
        let session = LabSession(
            subject: subject, link: ProxyLink(proxy), server: network?.serverSide(subject.client),
            topic: scenario.topic, writer: network == nil ? Lab.writer() : "lab", heading: heading, tell: report)
        let result: Result<Value, any Error>
        do { result = .success(try await body(session)) } catch { result = .failure(error) }
        await proxy.close()
        return try result.get()
    }

    /// The configuration of the client under test, which connects over the link, or of another device of the same user.
    private func configuration(
        _ network: LabNetwork?, _ settings: LabClientSettings, over link: ServerAddress?, speed: Double, seed: UInt64?
    ) throws -> RelayConfiguration {
        if let network { return try network.configuration(server: link, settings, speed: speed, seed: seed) }
        guard let server else { throw NetworkError.notRunning }
        var configuration = settings.configuration(
            [link ?? server.address], server.configuration.credentials, speed: speed, seed: seed)
        configuration.user = server.configuration.user
        configuration.namespace = server.configuration.namespace
        configuration.tls = server.configuration.tls
        return configuration
    }
}

struct LabListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the scenarios that come with Parley, or print one as a file.")

    @Flag(help: "Print one JSON object for each.")
    var json = false

    @Argument(help: "The name of one, to print its file.")
    var name: String?

    func run() throws {
        if let name {
            if let scenario = ShippedScenario.named(name) { return Output.line(scenario.text) }
            throw CommandFailure(.badData, "There is no scenario “\(name)”. parley lab list names all.")
        }
        let all = try ShippedScenario.all.map { (name: $0.name, scenario: try $0.scenario()) }
        guard json else {
            return Output.table(all.map { [$0.name, $0.scenario.title] }).forEach { Output.line($0) }
        }
        for (name, scenario) in all {
            Output.json(["name": .string(name), "title": .string(scenario.title), "about": .string(scenario.about)])
        }
    }
}

struct LabRecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Rehearse by hand, and save it as a scenario file.",
        discussion: "Each line of standard input is carried out at once, such as: send count=3, cut, refuse for=3s, "
            + "delay by=200ms, kick, background, foreground, restore. ^D ends it and writes the file: the acts at their "
            + "times, and what followed as expectations.")

    @OptionGroup var connection: ConnectionTarget

    @Option(help: ArgumentHelp("The scenario's file.", valueName: "file"))
    var out: String

    @Option(help: ArgumentHelp("The scenario's title.", valueName: "words"))
    var title = "recorded by hand"

    @Option(help: ArgumentHelp("The client's reconnect policy.", valueName: "name"))
    var reconnect = "parley"

    @OptionGroup var options: LabHandOptions

    func validate() throws {
        guard ReconnectPolicy.named(reconnect) != nil else {
            throw ValidationError("--reconnect takes parley, relayx, rongcloud or supabase.")
        }
    }

    func run() async throws {
        var client = LabClientSettings()
        client.reconnect = reconnect
        let kept = LabScenario(title: title, client: client)
        let seed = options.seed ?? UInt64.random(in: 1...999_999)
        let json = options.json
        let ground = try LabGround(connection)
        let (run, scenario) = try await untilSignal {
            try await ground.session(kept, speed: 1, seed: seed, { Lab.show($0, json: json) }) { session in
                await session.begin()
                await session.record()
                await HandLines.perform(in: session)
                let run = await session.end(waits: false)
                return (run, await session.recording?.scenario(title: kept.title, seed: seed, client: kept.client))
            }
        }
        if let scenario { try Lab.write(scenario.text, to: out) }
        if let log = options.log { try Lab.write(run.log.text, to: log) }
        Lab.show(LabReport(run), json: json)
    }
}
