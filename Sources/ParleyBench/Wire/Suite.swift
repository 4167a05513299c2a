import NATS
import NIOCore
import NIOPosix

/// All benchmarks that run without arguments, on their own servers, as a table with the floors of the same run.
enum Suite {
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

/// The same PUB frames, prepared and written in large pieces: the limit of socket and server if the client costs
/// nothing.
private enum SocketFloor {
    static func messagesPerSecond(_ parameters: WireParameters) async throws -> Double {
        let payload = String(repeating: "x", count: parameters.size)
        let frame = "PUB \(parameters.subject) \(parameters.size)\r\n\(payload)\r\n"
        let framesPerPiece = max(1, (64 << 10) / frame.utf8.count)
        let piece = ByteBuffer(string: String(repeating: frame, count: framesPerPiece))
        let pieces = max(1, parameters.count / framesPerPiece)
        let channel = try await ClientBootstrap(group: NIOSingletons.posixEventLoopGroup)
            .connect(host: parameters.address.host, port: parameters.address.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var answers = inbound.makeAsyncIterator()
            func pong() async throws {
                var seen = ""
                while !seen.contains("PONG"), let chunk = try await answers.next() { seen += String(buffer: chunk) }
            }
            let login = "CONNECT {\"verbose\":false,\"pedantic\":false,\"echo\":false}\r\nPING\r\n"
            try await outbound.write(ByteBuffer(string: login))
            try await pong()
            let start = Meter.now()
            for _ in 0..<pieces { try await outbound.write(piece) }
            try await outbound.write(ByteBuffer(string: "PING\r\n"))
            try await pong()
            return Double(pieces * framesPerPiece) / (Meter.now() - start)
        }
    }
}
