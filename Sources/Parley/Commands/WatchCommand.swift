import ArgumentParser
import Platform
import Relay
import RelayNetwork

struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch", abstract: "Print each change of the connection's status until it is closed.",
        discussion: "^C closes the connection and prints that too.")

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var limit: ConnectTimeoutOption

    @Option(
        name: .customLong("for"), help: ArgumentHelp("End after this time, such as 30 or 5m.", valueName: "seconds"))
    var length: String?

    @Flag(help: "Print one JSON object for each change.")
    var json = false

    func validate() throws {
        if let length, PastTime.seconds(length) == nil {
            throw ValidationError("--for takes a number of seconds, or a duration such as 5m.")
        }
    }

    private enum Event: Sendable {
        case status(ConnectionStatus)
        case timeIsUp
        case signal(Int32)
    }

    func run() async throws {
        let connector = try Connector(limit.applied(to: connection.plan()), for: .presence)
        defer { connector.tokenCommand?.end() }
        let client = RelayClient(configuration: connector.configuration)
        do { try await watch(client, within: connector.connectTimeout) } catch { throw connector.explained(error) }
    }

    /// Prints until the session ends, the time is up or a signal arrives.
    private func watch(_ client: RelayClient, within connectTimeout: Duration?) async throws {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self, bufferingPolicy: .bufferingOldest(65_536))
        let signals = EndingSignals()
        let (statuses, numbers) = (client.statuses, signals.numbers)
        var tasks = [
            Task { for await status in statuses { continuation.yield(.status(status)) } },
            Task { for await number in numbers { continuation.yield(.signal(number)) } },
        ]
        defer {
            for task in tasks { task.cancel() }
            signals.cancel()
        }
        var report = WatchReport()
        /// The command's outcome, once the time is up or a signal has arrived.
        var ending: Result<Void, any Error>?
        var hasBegun = false
        var (wasConnected, hindrance) = (false, ConnectionReason?.none)
        for await event in events {
            switch event {
            case .status(let status):
                if status.state == .connected { wasConnected = true }
                if ending == nil { hindrance = status.reason ?? hindrance }
                let now = Moment(instant: .now, wall: WallClock.now)
                if let line = report.note(await settled(status, client), at: now) { write(line) }
                if !hasBegun, let ending { return try ending.get() }
                if !hasBegun {
                    // Connects only after the first line is printed.
                    hasBegun = true
                    await client.beginConnecting(within: connectTimeout)
                    if let limit = length.flatMap(PastTime.seconds) {
                        tasks.append(
                            Task {
                                guard (try? await Task.sleep(for: .seconds(limit))) != nil else { return }
                                continuation.yield(.timeIsUp)
                            })
                    }
                } else if status.state == .disconnected {
                    await client.close()
                    if let ending { return try ending.get() }
                    guard let reason = status.reason, reason != .closedByUser else { return }
                    throw RelayError.connection(reason)
                }
            case .timeIsUp:
                // If there never was a connection, this fails with the reason, if known.
                let time = Duration.seconds(length.flatMap(PastTime.seconds) ?? 0)
                let failure = RelayError.connection(.timeLimit(time, after: hindrance))
                ending = ending ?? (wasConnected ? .success(()) : .failure(failure))
                await client.close()
            case .signal(let number):
                ending = ending ?? .failure(ExitCode(128 + number))
                await client.close()
            }
        }
        try ending?.get()
    }

    /// The first round trip is reported a moment after the connection is open; it belongs on that line.
    private func settled(_ status: ConnectionStatus, _ client: RelayClient) async -> ConnectionStatus {
        guard status.state == .connected, status.roundTripTime == nil, status.silentSince == nil else { return status }
        for _ in 0..<5 {
            var newer = client.status
            if newer.state != .connected { break }
            if let roundTrip = newer.roundTripTime {
                newer = status
                newer.roundTripTime = roundTrip
                return newer
            }
            try? await Task.sleep(for: .milliseconds(2))
        }
        return status
    }

    private func write(_ line: WatchReport.Line) {
        guard json else { return Output.line(line.text(isColored: Output.isColored)) }
        for object in line.objects { Output.json(object) }
    }
}
