import NATS
import NIOCore

/// All that runs without arguments, on servers of this process's own, as a table with the floors of the same run.
enum Suite {
    @concurrent
    static func run() async throws {
        try await BenchServer.run { server in
            print("server \(try await server.version()) at \(server.address)")
            for (scenario, size, count) in plan { try await measure(scenario, size, count, server) }
        }
        for benchmark in ParleyBench.benchmarks {
            guard let words = benchmark.inSuite else { continue }
            for result in try await benchmark.run(Words(words)) { print(result.row()) }
        }
    }

    private static let plan: [(WireScenario, size: Int, count: Int)] = [
        (.publish, 128, 1_000_000), (.publish, 1_024, 1_000_000), (.subscribe, 128, 1_000_000),
        (.subscribe, 1_024, 1_000_000), (.requests, 128, 5_000), (.ping, 0, 5_000), (.connect, 0, 200), (.idle, 0, 1),
        (.storedPublish, 128, 5_000), (.pipelinedPublish, 128, 100_000), (.pull, 128, 100_000),
    ]

    private static func measure(
        _ scenario: WireScenario, _ size: Int, _ count: Int, _ server: BenchServer
    ) async throws {
        let words = Words(["size=\(size)", "n=\(count)", "stream=bench_stream", "subject=bench.line", "ack=1"])
        let parameters = WireParameters(server.address, words)
        var companion: Task<Void, any Error>?
        switch scenario {
        case .storedPublish, .pipelinedPublish: try await server.makeStream(.memory)
        case .pull:
            try await server.makeStream(.memory)
            _ = try await WireScenario.pipelinedPublish.run(parameters)
        case .subscribe: companion = Task.detached { try await feedWhenHeard(parameters) }
        case .requests:
            let connection = try await parameters.connection()
            let subscription = try connection.subscribe(to: parameters.subject)
            try await connection.flush()
            companion = Task.detached {
                for try await message in subscription {
                    if let reply = message.reply { try connection.publish(message.payload, to: reply) }
                }
            }
        case .publish, .ping, .connect, .idle: break
        }
        let result = try await scenario.run(parameters)
        companion?.cancel()
        var row = result.row("\(scenario.rawValue):\(size)")
        if scenario == .publish, let rate = result["msgs_s"] {
            let floor = try await SocketFloor.messagesPerSecond(parameters)
            row += " of bare socket writes: \(Measurement.text(rate / floor))"
        }
        print(row)
    }

    /// Publishes once the server knows of a subscriber.
    private static func feedWhenHeard(_ parameters: WireParameters) async throws {
        let connection = try await parameters.connection()
        while true {
            do throws(NATSError) {
                _ = try await connection.request(ByteBuffer(), to: parameters.subject, timeout: .milliseconds(50))
            } catch .timeout {
                break
            } catch .noResponders { continue }
        }
        try await WireScenario.send(parameters.count, parameters, over: connection)
    }
}
