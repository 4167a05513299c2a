import NATS
import NIOConcurrencyHelpers
import Platform
import Relay
import RelayNetwork

/// A nats-server for one run, on a free loopback port, with a temporary folder. It ends with this process.
final class BenchServer: Sendable {
    let address: ServerAddress
    let folder: String
    private let process = NIOLockedValueBox<ServerProcess?>(nil)

    private init(in folder: String) throws {
        self.folder = folder
        address = ServerAddress(host: "127.0.0.1", port: try LoopbackPort.choose(preferred: nil))
        let configuration = """
            listen: "127.0.0.1:\(address.port)"
            pid_file: "\(folder)/server.pid"
            max_pending: 2GB
            write_deadline: "60s"
            jetstream { store_dir: "\(folder)", max_memory_store: 2GB, max_file_store: 4GB }
            """
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder + "/server.conf"))
    }

    /// Runs the body on its own server, which has ended when this returns; in the caller's folder, which stays, or in a
    /// temporary one.
    static func run<R>(in lasting: String? = nil, _ body: (BenchServer) async throws -> R) async throws -> R {
        let folder = try lasting ?? TemporaryFolder.make("bench")
        defer { if lasting == nil { try? FileManager.default.removeItem(atPath: folder) } }
        let server = try BenchServer(in: folder)
        return try await finally {
            await server.process.withLockedValue(\.self)?.stop(grace: .seconds(10))
        } after: {
            try await server.start()
            return try await body(server)
        }
    }

    /// Starts or restarts it on the same port; returns as soon as it answers there.
    func start() async throws {
        let environment = ProcessInfo.processInfo.environment
        let next = try await ServerProcess.start(
            [try ServerExecutable.find(in: environment), "-c", folder + "/server.conf"], environment: environment,
            log: LogFile(folder + "/log"))
        process.withLockedValue { $0 = next }
        try await wait(for: "nats-server", within: .seconds(30), every: .milliseconds(1)) {
            guard !next.hasEnded else {
                throw BenchFailure("nats-server does not start:\n\(LogFile.tail(of: folder + "/log", lines: 5))")
            }
            return await ServerProbe.answers(at: address)
        }
    }

    /// Kills the server, as a crash does, and returns when it is gone.
    func crash() async {
        let process = process.withLockedValue(\.self)
        process?.signal(SIGKILL)
        _ = await process?.end()
    }

    func version() async throws -> String {
        let connection = try await NATSConnection.connect(to: address)
        defer { connection.closeNow() }
        return connection.info.version
    }

    /// Makes the stream of ``Relay/RelayClient/bench(at:_:)``'s messages, replacing an earlier one.
    func makeStream(_ storage: StreamConfiguration.Storage = .file) async throws {
        let jetStream = JetStream(try await NATSConnection.connect(to: address))
        try? await jetStream.deleteStream("bench_stream")
        try await jetStream.createStream(.init(name: "bench_stream", subjects: ["bench.>"], storage: storage))
        await jetStream.connection.close()
    }
}

extension RelayClient {
    /// A client that stays with one server, and has the topics of ``BenchServer``.
    static func bench(
        at address: ServerAddress, _ change: (inout RelayConfiguration) -> Void = { _ in }
    ) -> RelayClient {
        var configuration = RelayConfiguration(
            servers: .fixed([address]), user: "bench", namespace: .init(name: "bench", hash: "bench"))
        configuration.followsNetwork = false
        change(&configuration)
        return RelayClient(configuration: configuration)
    }
}
