import NATS
import NIOCore

/// Publishing, receiving and asking, without JetStream.
enum CoreScenarios {
    /// `n` publishes and one flush.
    static func publish(_ parameters: Parameters) async throws -> Measurement {
        let connection = try await parameters.connection()
        try await send(1_000, parameters, over: connection)
        let cpu = Meter.cpu()
        let start = Meter.now()
        try await send(parameters.count, parameters, over: connection)
        let seconds = Meter.now() - start
        return rate("pub", parameters, seconds: seconds, cpu: Meter.cpu() - cpu)
    }

    /// Drives receivers in other processes.
    static func feed(_ parameters: Parameters) async throws {
        let connection = try await parameters.connection()
        try await send(parameters.count, parameters, over: connection)
    }

    private static func send(_ count: Int, _ parameters: Parameters, over connection: NATSConnection) async throws {
        let payload = parameters.payload
        let subject = parameters.subject
        for _ in 0..<count where try !connection.publish(payload, to: subject) {
            try await connection.drained()
        }
        try await connection.flush(timeout: .seconds(120))
    }

    /// Receives what another process publishes, timed from the first message to the last.
    static func subscribe(_ parameters: Parameters) async throws -> Measurement {
        let connection = try await parameters.connection()
        let limits = BufferLimits(messages: .max / 2, bytes: .max / 2)
        let subscription = try connection.subscribe(to: parameters.subject, limits: limits)
        Meter.say("READY")
        try await connection.flush()
        var received = 0
        var start = 0.0
        var cpu = 0.0
        for try await _ in subscription {
            if received == 0 {
                start = Meter.now()
                cpu = Meter.cpu()
            }
            received += 1
            if received == parameters.count { break }
        }
        let seconds = Meter.now() - start
        return rate("sub", parameters, seconds: seconds, cpu: Meter.cpu() - cpu)
    }

    /// Echoes requests until standard input ends.
    static func reply(_ parameters: Parameters) async throws {
        let connection = try await parameters.connection()
        let subscription = try connection.subscribe(to: parameters.subject)
        try await connection.flush()
        Meter.say("READY")
        let echo = Task {
            for try await message in subscription {
                if let reply = message.reply { try connection.publish(message.payload, to: reply) }
            }
        }
        await Task.detached { while readLine() != nil {} }.value
        echo.cancel()
    }

    /// `n` requests, one at a time.
    static func requests(_ parameters: Parameters) async throws -> Measurement {
        let connection = try await parameters.connection()
        let payload = parameters.payload
        for _ in 0..<500 { _ = try await connection.request(payload, to: parameters.subject) }
        var samples: [Double] = []
        samples.reserveCapacity(parameters.count)
        for _ in 0..<parameters.count {
            let start = Meter.now()
            _ = try await connection.request(payload, to: parameters.subject)
            samples.append(Meter.now() - start)
        }
        return Measurement("rtt").adding("n", Double(parameters.count)).adding(percentilesOf: samples)
    }

    /// `n` PING and PONG round trips.
    static func ping(_ parameters: Parameters) async throws -> Measurement {
        let connection = try await parameters.connection()
        var samples: [Double] = []
        for _ in 0..<parameters.count {
            let start = Meter.now()
            try await connection.flush()
            samples.append(Meter.now() - start)
        }
        return Measurement("ping").adding("n", Double(parameters.count)).adding(percentilesOf: samples)
    }

    /// `n` connects, each closed at once.
    static func connect(_ parameters: Parameters) async throws -> Measurement {
        var samples: [Double] = []
        for _ in 0..<parameters.count {
            let start = Meter.now()
            let connection = try await parameters.connection()
            samples.append(Meter.now() - start)
            await connection.close()
        }
        return Measurement("connect").adding("n", Double(parameters.count)).adding(percentilesOf: samples)
    }

    /// Connects and waits.
    static func idle(_ parameters: Parameters) async throws -> Measurement {
        let connection = try await parameters.connection()
        try await Task.sleep(for: .milliseconds(300))
        await connection.close()
        return Measurement("idle")
    }

    static func rate(_ name: String, _ parameters: Parameters, seconds: Double, cpu: Double) -> Measurement {
        let count = Double(parameters.count)
        return Measurement(name).adding("n", count).adding("size", Double(parameters.size))
            .adding("msgs_s", (count / max(seconds, 1e-9)).rounded()).adding("cpu_us_msg", cpu / count * 1e6)
    }
}
