import NATS
import NIOCore
import Platform
import Synchronization

/// All scenarios on servers that this process starts, as a table with the floor measured in the same run.
enum Suite {
    @concurrent
    static func run() async throws {
        try await BenchServer.run { server in
            print("server \(server.version) at \(server.address)")
            let jetStream = JetStream(try await NATSConnection.connect(to: server.address))
            for (scenario, size) in plan { print(try await measure(scenario, size, server.address, jetStream).text) }
            await jetStream.connection.close()
        }
        for outage in OutageScenario.allCases {
            let result = try await outage.run(Words([]))
            print(line(outage.rawValue, result))
        }
        print(line(RelayScenario.name, try await RelayScenario.run(Words([]))))
        for result in try await AccountScenario.run(Words([])) { print(line(result.scenario, result)) }
        for result in try await StoreScenario.run(Words(["n=200000"])) { print(line(result.scenario, result)) }
        for result in try await PostboxScenario.run(Words(["n=100000"])) { print(line(result.scenario, result)) }
        if let result = try await ScreenScenario.run(Words([])) { print(line(result.scenario, result)) }
        for result in try await SuspendedScenario.run(Words([])) { print(line(result.scenario, result)) }
        if let result = try await InboxScenario.run(Words([])) { print(line(result.scenario, result)) }
    }

    private static let plan: [(Scenario, Int)] = [
        (.publish, 128), (.publish, 1_024), (.subscribe, 128), (.subscribe, 1_024), (.requests, 128), (.ping, 0),
        (.connect, 0), (.idle, 0), (.storedPublish, 128), (.pipelinedPublish, 128), (.pull, 128),
    ]

    private struct Row {
        var text: String
    }

    private static func measure(
        _ scenario: Scenario, _ size: Int, _ address: ServerAddress, _ jetStream: JetStream
    ) async throws -> Row {
        var words = ["size=\(size)", "n=\(count(scenario))"]
        var companion: Task<Void, any Error>?
        switch scenario {
        case .storedPublish, .pipelinedPublish, .pull:
            try? await jetStream.deleteStream("BENCH")
            try await jetStream.createStream(.init(name: "BENCH", subjects: ["bench.js"], storage: .memory))
            words += ["subject=bench.js", "ack=1"]
            if scenario == .pull {
                _ = try await StreamScenarios.publishPipelined(Parameters(address: address, words: Words(words)))
            }
        case .subscribe:
            let parameters = Parameters(address: address, words: Words(words))
            companion = Task.detached { try await feedWhenHeard(parameters) }
        case .requests:
            words += ["subject=bench.rtt"]
            let parameters = Parameters(address: address, words: Words(words))
            let connection = try await parameters.connection()
            let subscription = try connection.subscribe(to: parameters.subject)
            try await connection.flush()
            companion = Task.detached {
                for try await message in subscription {
                    if let reply = message.reply { try connection.publish(message.payload, to: reply) }
                }
            }
        case .publish, .ping, .connect, .idle, .feed, .reply: break
        }
        let parameters = Parameters(address: address, words: Words(words))
        guard let result = try await ParleyBench.run(scenario, parameters) else {
            return Row(text: "\(scenario.rawValue) does not measure")
        }
        companion?.cancel()
        let floor = scenario == .publish ? try await SocketFloor.messagesPerSecond(parameters) : nil
        return Row(text: line(scenario, size, result, floor: floor))
    }

    private static func count(_ scenario: Scenario) -> Int {
        switch scenario {
        case .publish, .subscribe: return 1_000_000
        case .pipelinedPublish, .pull: return 100_000
        case .requests, .ping: return 5_000
        case .storedPublish: return 5_000
        case .connect: return 200
        case .idle, .feed, .reply: return 1
        }
    }

    /// Publishes once the server knows of a subscriber.
    private static func feedWhenHeard(_ parameters: Parameters) async throws {
        let connection = try await parameters.connection()
        while true {
            do throws(NATSError) {
                _ = try await connection.request(ByteBuffer(), to: parameters.subject, timeout: .milliseconds(50))
            } catch .timeout {
                break
            } catch .noResponders { continue }
        }
        try await CoreScenarios.feed(parameters)
    }

    private static func line(_ name: String, _ result: Measurement) -> String {
        var text = name.padded(16)
        for (name, value) in result.fields where name != "n" && name != "size" {
            text += " \(name)=\(Measurement.text(value))".padded(22)
        }
        return text
    }

    private static func line(_ scenario: Scenario, _ size: Int, _ result: Measurement, floor: Double?) -> String {
        var text = line("\(scenario.rawValue):\(size)", result)
        if let floor, let rate = result["msgs_s"] {
            text += " of bare socket writes: \(Measurement.text(rate / floor))"
        }
        return text
    }
}

extension String {
    fileprivate func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
