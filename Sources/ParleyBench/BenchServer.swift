import NATS
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Platform
import RelayNetwork

/// A nats-server for one run, on a free loopback port, with its store in a temporary folder. It ends with this process,
/// however that ends.
final class BenchServer: Sendable {
    let address: ServerAddress
    let version: String
    private let process: NIOLockedValueBox<ServerProcess>
    private let folder: String

    private init(address: ServerAddress, version: String, process: ServerProcess, folder: String) {
        self.address = address
        self.version = version
        self.process = NIOLockedValueBox(process)
        self.folder = folder
    }

    /// Runs the body on a server of its own, which has ended when this returns.
    static func run<R>(_ body: (BenchServer) async throws -> R) async throws -> R {
        let folder = try TemporaryFolder.make("bench")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = try await start(in: folder)
        let result: Result<R, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        await server.stop()
        return try result.get()
    }

    /// Ends the server, and returns when it has ended.
    func stop() async { await process.withLockedValue(\.self).stop(grace: .seconds(10)) }

    /// Starts a server whose files are in a folder, and returns when it takes connections. The caller stops it.
    ///
    /// - Parameter further: lines of configuration behind those that every server here has.
    static func start(in folder: String, _ further: String = "") async throws -> BenchServer {
        let configuration = """
            host: 127.0.0.1
            ports_file_dir: "\(folder)"
            max_pending: 2GB
            write_deadline: "60s"
            jetstream { store_dir: "\(folder)", max_memory_store: 2GB, max_file_store: 4GB }
            \(further)
            """
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder + "/server.conf"))
        // An earlier one that was killed has left its own.
        for name in portFiles(folder) { try FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
        // The server chooses its port itself, so that no other process can take it in between.
        let process = try await startProcess(folder, port: -1)
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                guard let port = listedPort(folder) else {
                    throw NATSError.invalidArgument("it names no port")
                }
                let address = ServerAddress(host: "127.0.0.1", port: port)
                let connection = try await NATSConnection.connect(to: address)
                let version = connection.info.version
                await connection.close()
                return BenchServer(address: address, version: version, process: process, folder: folder)
            } catch {
                guard ContinuousClock.now < deadline, !process.hasEnded, !Task.isCancelled else {
                    await process.stop(grace: .zero)
                    let log = LogFile.tail(of: folder + "/log", lines: 5)
                    throw NATSError.invalidArgument("nats-server does not start: \(error)\n\(log)")
                }
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    private static func startProcess(_ folder: String, port: Int) async throws -> ServerProcess {
        let environment = ProcessInfo.processInfo.environment
        return try await ServerProcess.start(
            [try ServerExecutable.find(in: environment), "-c", folder + "/server.conf", "-p", "\(port)"],
            environment: environment, log: LogFile(folder + "/log"))
    }

    /// The port that the server says it listens at.
    private static func listedPort(_ folder: String) -> Int? {
        struct Ports: Decodable { var nats: [String]? }
        // Its name has the server's process, which is not the one that was started where `nats-server` is a script.
        guard let name = portFiles(folder).first,
            let data = try? Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")),
            let ports = try? JSONDecoder().decode(Ports.self, from: data)
        else { return nil }
        return ports.nats?.first?.split(separator: ":").last.flatMap { Int($0) }
    }

    private static func portFiles(_ folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).filter { $0.hasSuffix(".ports") }
    }

    /// Kills the server without a word, as a crash does, and returns when it is gone.
    func crash() async {
        let process = process.withLockedValue(\.self)
        process.signal(SIGKILL)
        _ = await process.end()
    }

    /// Starts it again on the same port, and returns as soon as the port accepts a connection.
    func restart() async throws {
        let next = try await Self.startProcess(folder, port: address.port)
        process.withLockedValue { $0 = next }
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            do {
                try await ClientBootstrap(group: NIOSingletons.posixEventLoopGroup)
                    .connect(host: address.host, port: address.port).get().close()
                return
            } catch {
                guard ContinuousClock.now < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(1))
            }
        }
    }
}
