import NATS
import NIOCore
import Relay
import Synchronization

/// The parameters of a run of the NATS library.
struct WireParameters {
    let address: ServerAddress
    let words: Words
    var count: Int
    let size: Int
    let payload: ByteBuffer
    let subject: String
    /// The user; nil on a server that lets everyone in.
    var credentials: Credentials?
    var apiPrefix = JetStream.standardPrefix

    init(_ address: ServerAddress, _ words: Words = Words([])) {
        (self.address, self.words) = (address, words)
        count = words.number("n", 100_000, atLeast: 1)
        size = words.number("size", 128)
        payload = ByteBuffer(repeating: UInt8(ascii: "x"), count: size)
        subject = words.text("subject", "bench.core")
    }

    func connection(within limit: Duration = .seconds(5)) async throws -> NATSConnection {
        let authentication = credentials.map { Authentication($0) } ?? .none
        return try await NATSConnection.connect(
            to: address,
            options: ConnectOptions(name: "parley-bench", authentication: authentication, connectTimeout: limit))
    }

    /// The seconds it takes to connect.
    func login(within limit: Duration = .seconds(5)) async throws -> Double {
        let begin = Meter.now()
        let connection = try await connection(within: limit)
        let duration = Meter.now() - begin
        await connection.close()
        return duration
    }

    func jetStream() async throws -> JetStream { JetStream(try await connection(), apiPrefix: apiPrefix) }

    /// A message's identifier, as in a chat, if `ids=1` requests it.
    func identifier() -> String? { words.number("ids", 0) == 1 ? RelayClient.newID() : nil }

    /// The rate at which `n` messages went through.
    func rate(_ scenario: WireScenario, since start: Double, _ cpu: Double) -> Measurement {
        let (seconds, used) = (Meter.now() - start, Meter.cpu() - cpu)
        return Measurement(scenario.rawValue).adding([
            "n": count, "size": size, "msgs_s": (Double(count) / max(seconds, 1e-9)).rounded(),
            "cpu_us_msg": used / Double(count) * 1e6,
        ])
    }
}

/// An operation of the NATS library on a server, by its name on the command line: `parley-bench URL SCENARIO`.
enum WireScenario: String, CaseIterable {
    /// `n` publishes and one flush.
    case publish = "pub"
    /// Receives messages of another process, timed from the first to the last.
    case subscribe = "sub"
    /// `n` requests, one at a time.
    case requests = "rtt"
    /// `n` PING and PONG round trips.
    case ping
    /// `n` connects, each closed at once; and one that waits.
    case connect, idle
    /// `n` publishes to a stream, each awaited; with `ids=1` each has an identifier, as in a chat.
    case storedPublish = "jspub_sync"
    /// The same with a window in flight.
    case pipelinedPublish = "jspub_async"
    /// Fetches `n` stored messages in batches.
    case pull = "jspull"

    func run(_ parameters: WireParameters) async throws -> Measurement {
        switch self {
        case .publish:
            let connection = try await parameters.connection()
            try await Self.send(1_000, parameters, over: connection)
            let (cpu, start) = (Meter.cpu(), Meter.now())
            try await Self.send(parameters.count, parameters, over: connection)
            return parameters.rate(self, since: start, cpu)
        case .subscribe: return try await Self.subscribe(parameters)
        case .requests:
            let connection = try await parameters.connection()
            func request() async throws { _ = try await connection.request(parameters.payload, to: parameters.subject) }
            for _ in 0..<500 { try await request() }
            return try await timed(parameters, request)
        case .ping:
            let connection = try await parameters.connection()
            return try await timed(parameters) { try await connection.flush() }
        case .connect:
            var samples: [Double] = []
            for _ in 0..<parameters.count { samples.append(try await parameters.login()) }
            return Measurement(rawValue).adding(["n": parameters.count]).adding(percentilesOf: samples)
        case .idle:
            let connection = try await parameters.connection()
            try await Task.sleep(for: .milliseconds(300))
            await connection.close()
            return Measurement(rawValue)
        case .storedPublish:
            let jetStream = try await parameters.jetStream()
            let start = Meter.now()
            let times = try await timed(parameters) {
                let id = parameters.identifier()
                _ = try await jetStream.publish(parameters.payload, to: parameters.subject, messageID: id)
            }
            let rate = (Double(parameters.count) / (Meter.now() - start)).rounded()
            return times.adding(["size": parameters.size, "msgs_s": rate])
        case .pipelinedPublish: return try await Self.publishPipelined(parameters)
        case .pull: return try await Self.pull(parameters)
        }
    }

    private func timed(_ parameters: WireParameters, _ call: () async throws -> Void) async throws -> Measurement {
        var samples: [Double] = []
        samples.reserveCapacity(parameters.count)
        for _ in 0..<parameters.count { samples.append(try await Meter.seconds(call)) }
        return Measurement(rawValue).adding(["n": parameters.count]).adding(percentilesOf: samples)
    }

    static func send(_ count: Int, _ parameters: WireParameters, over connection: NATSConnection) async throws {
        let (payload, subject) = (parameters.payload, parameters.subject)
        for _ in 0..<count where try !connection.publish(payload, to: subject) { try await connection.drained() }
        try await connection.flush(timeout: .seconds(120))
    }

    private static func subscribe(_ parameters: WireParameters) async throws -> Measurement {
        let connection = try await parameters.connection()
        let limits = BufferLimits(messages: .max / 2, bytes: .max / 2)
        let subscription = try connection.subscribe(to: parameters.subject, limits: limits)
        Meter.say("READY")
        try await connection.flush()
        var (received, start, cpu) = (0, 0.0, 0.0)
        for try await _ in subscription {
            if received == 0 { (start, cpu) = (Meter.now(), Meter.cpu()) }
            received += 1
            if received == parameters.count { break }
        }
        return parameters.rate(.subscribe, since: start, cpu)
    }

    private static func publishPipelined(_ parameters: WireParameters) async throws -> Measurement {
        let publisher = JetStreamPublisher(
            try await parameters.jetStream(), window: parameters.words.number("window", 1_000))
        let failure = Mutex<NATSError?>(nil)
        let (cpu, start) = (Meter.cpu(), Meter.now())
        for _ in 0..<parameters.count {
            let id = parameters.identifier()
            try await publisher.publish(parameters.payload, to: parameters.subject, messageID: id) { result in
                if case .failure(let error) = result { failure.withLock { $0 = error } }
            }
        }
        try await publisher.drained()
        if let failure = failure.withLock(\.self) { throw failure }
        return parameters.rate(.pipelinedPublish, since: start, cpu)
    }

    private static func pull(_ parameters: WireParameters) async throws -> Measurement {
        let jetStream = try await parameters.jetStream()
        let words = parameters.words
        let acknowledges = words.number("ack", 0) == 1
        let consumer = try await BenchConsumer(
            jetStream, of: words.text("stream", "BENCH"), filter: parameters.subject, acknowledges: acknowledges)
        var received = 0
        let (cpu, start) = (Meter.cpu(), Meter.now())
        while received < parameters.count {
            let messages = try await consumer.pull.fetch(words.number("batch", 500), expires: .seconds(5))
            guard !messages.isEmpty else { throw BenchFailure("the stream holds fewer messages than asked for") }
            if acknowledges { for message in messages { try consumer.pull.acknowledge(message) } }
            received += messages.count
        }
        if acknowledges { try await jetStream.connection.flush() }
        let rate = parameters.rate(.pull, since: start, cpu)
        try await consumer.delete()
        return rate
    }
}

/// A run's own consumer.
struct BenchConsumer {
    let pull: PullConsumer
    private let jetStream: JetStream
    private let stream: String
    private let name = "bench\(UInt32.random(in: 0 ... .max))"

    init(_ jetStream: JetStream, of stream: String, filter: String?, acknowledges: Bool = false) async throws {
        (self.jetStream, self.stream) = (jetStream, stream)
        var configuration = ConsumerConfiguration(
            name: name, filter: filter, acknowledgement: acknowledges ? .explicit : .none, isDurable: true)
        configuration.maximumPending = -1
        try await jetStream.createConsumer(configuration, in: stream)
        pull = try PullConsumer(name, in: stream, jetStream)
    }

    func delete() async throws { try await jetStream.deleteConsumer(name, in: stream) }
}
