import ArgumentParser
import Relay
import RelayFaults
import RelayLab
import RelayNetwork

struct LabProxyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy", abstract: "Inject link faults in front of a server, for any program.",
        discussion: "Without --script, lines of standard input say what goes wrong, such as: cut, refuse for=3s, "
            + "delay by=200ms jitter=50ms, blackhole direction=from-server, restore. It runs until ^C.")

    @Option(
        help: ArgumentHelp(
            "Where to listen: a port of 127.0.0.1, or address:port of any address of this machine; 0 for any free port.",
            valueName: "address"))
    var listen = "0"

    @Option(help: ArgumentHelp("The server to forward to, nats:// or tls://.", valueName: "url"))
    var server: String

    @Option(help: ArgumentHelp("A scenario whose acts are all about the link.", valueName: "file"))
    var script: String?

    @OptionGroup var options: LabHandOptions

    func validate() throws {
        guard Self.place(listen) != nil else {
            throw ValidationError(
                "--listen takes a port, or a numeric address of this machine with a port: 4333, 127.0.0.1:4333, "
                    + "0.0.0.0:4333 or [::1]:4333.")
        }
    }

    /// Parses an address and port, or a port of 127.0.0.1; nil if invalid.
    static func place(_ text: String) -> (host: String, port: Int)? {
        let text = text.contains(":") ? text : "\(FaultProxy.loopback):\(text)"
        guard let colon = text.lastIndex(of: ":") else { return nil }
        // `UInt16` would accept a sign.
        let digits = text[colon...].dropFirst()
        guard digits.allSatisfy({ ("0"..."9").contains($0) }), let port = UInt16(digits) else { return nil }
        var host = text[..<colon]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty else { return nil }
        return (host == "localhost" ? FaultProxy.loopback : String(host), Int(port))
    }

    static func isLoopback(_ host: String) -> Bool { host.hasPrefix("127.") || host == "::1" }

    func run() async throws {
        let target: ServerAddress
        do throws(RelayError) { target = try RelayConfiguration.addresses([server])[0] } catch {
            throw CommandFailure(.usage, error.words)
        }
        let scenario = try script.map { path throws(CommandFailure) in try Self.linkScenario(path) }
        let seed = options.seed ?? scenario?.seed ?? UInt64.random(in: 1...999_999)
        let place = Self.place(listen) ?? (FaultProxy.loopback, 0)
        let proxy = try await FaultProxy.start(target: target, host: place.host, port: place.port, seed: seed)
        let heading = LabHeading(
            title: scenario?.title ?? "a proxy", seed: seed, policy: "none", speed: scenario?.speed ?? 1,
            server: "\(target)", time: WallClock.now.iso8601)
        let json = options.json
        let session = LabSession(
            subject: nil, link: ProxyLink(proxy), server: nil, writer: Lab.writer(), heading: heading
        ) { Lab.show($0, json: json) }
        if !Self.isLoopback(place.host) {
            Output.complain(
                "parley: anybody who reaches \(place.host) port \(proxy.address.port) reaches the server behind it.")
        }
        let shown = place.host.contains(":") ? "[\(place.host)]" : place.host
        let address = "nats://\(shown):\(proxy.address.port)"
        // Programs that start the proxy wait for this line.
        if json {
            Output.json(["listening": .string(address), "seed": .integer(seed)])
        } else {
            Output.line("listening at \(address)")
        }
        let number = await untilSignal(session, scenario)
        let run = await session.end(patience: .zero, waits: false)
        await proxy.close()
        if let log = options.log { try Lab.write(run.log.text, to: log) }
        if let failure = run.failure { throw CommandFailure(.badData, failure) }
        throw ExitCode(128 + number)
    }

    /// Carries out the script or the input, and returns the signal that ends it.
    private func untilSignal(_ session: LabSession, _ scenario: LabScenario?) async -> Int32 {
        let signals = EndingSignals()
        defer { signals.cancel() }
        let acting = Task {
            await session.begin(connects: false)
            if let scenario {
                await session.act(scenario)
            } else {
                await HandLines.perform(in: session, ofLinkAlone: true)
            }
        }
        defer { acting.cancel() }
        for await number in signals.numbers { return number }
        return 2
    }

    private static func linkScenario(_ path: String) throws(CommandFailure) -> LabScenario {
        let scenario = try Lab.scenario(path)
        for (index, step) in scenario.steps.enumerated() {
            guard case .act(let act, _) = step.kind, act.name.isOfLink else {
                throw CommandFailure(
                    .badData,
                    "\(path): step \(index + 1) is not about the link, which is all that a proxy controls.")
            }
        }
        return scenario
    }
}
