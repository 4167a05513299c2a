import NATS
import NIOCore
import Relay
import Synchronization

/// Publishing to a stream and reading from it.
enum StreamScenarios {
    /// `n` publishes, each awaited; with `ids=1` each has an identifier of its own, as a message of chat has.
    static func publishAwaited(_ parameters: Parameters) async throws -> Measurement {
        let jetStream = try await parameters.jetStream()
        let payload = parameters.payload
        let hasIdentifiers = parameters.words.number("ids", 0) == 1
        var samples: [Double] = []
        samples.reserveCapacity(parameters.count)
        let start = Meter.now()
        for _ in 0..<parameters.count {
            let began = Meter.now()
            let id = hasIdentifiers ? RelayClient.newID() : nil
            _ = try await jetStream.publish(payload, to: parameters.subject, messageID: id)
            samples.append(Meter.now() - began)
        }
        let seconds = Meter.now() - start
        return Measurement("jspub_sync").adding("n", Double(parameters.count)).adding("size", Double(parameters.size))
            .adding("msgs_s", (Double(parameters.count) / seconds).rounded()).adding(percentilesOf: samples)
    }

    /// As ``publishAwaited(_:)``, with a window in flight.
    static func publishPipelined(_ parameters: Parameters) async throws -> Measurement {
        let publisher = JetStreamPublisher(
            try await parameters.jetStream(), window: parameters.words.number("window", 1_000))
        let payload = parameters.payload
        let hasIdentifiers = parameters.words.number("ids", 0) == 1
        let failures = Mutex<[NATSError]>([])
        let cpu = Meter.cpu()
        let start = Meter.now()
        for _ in 0..<parameters.count {
            let id = hasIdentifiers ? RelayClient.newID() : nil
            try await publisher.publish(payload, to: parameters.subject, messageID: id) { result in
                if case .failure(let error) = result { failures.withLock { $0.append(error) } }
            }
        }
        try await publisher.drained()
        let seconds = Meter.now() - start
        if let failure = failures.withLock({ $0.first }) { throw failure }
        return CoreScenarios.rate("jspub_async", parameters, seconds: seconds, cpu: Meter.cpu() - cpu)
    }

    /// Fetches `n` stored messages in batches.
    static func pull(_ parameters: Parameters) async throws -> Measurement {
        let jetStream = try await parameters.jetStream()
        let stream = parameters.words.text("stream", "BENCH")
        let acknowledges = parameters.words.number("ack", 0) == 1
        let batch = parameters.words.number("batch", 500)
        var configuration = ConsumerConfiguration(
            name: "bench\(UInt32.random(in: 0 ... .max))", filter: parameters.subject,
            acknowledgement: acknowledges ? .explicit : .none, isDurable: true)
        configuration.maximumPending = -1
        try await jetStream.createConsumer(configuration, in: stream)
        let consumer = try PullConsumer(configuration.name, in: stream, jetStream)
        var received = 0
        let cpu = Meter.cpu()
        let start = Meter.now()
        while received < parameters.count {
            let messages = try await consumer.fetch(batch, expires: .seconds(5))
            guard !messages.isEmpty else { throw NATSError.timeout("the stream holds fewer messages than asked for") }
            if acknowledges { for message in messages { try consumer.acknowledge(message) } }
            received += messages.count
        }
        if acknowledges { try await jetStream.connection.flush() }
        let seconds = Meter.now() - start
        let used = Meter.cpu() - cpu
        try await jetStream.deleteConsumer(configuration.name, in: stream)
        return CoreScenarios.rate("jspull", parameters, seconds: seconds, cpu: used)
    }
}
