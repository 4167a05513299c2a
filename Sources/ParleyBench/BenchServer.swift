import NATS
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import RelayNetwork

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A nats-server for one run, on a free loopback port, with its store in a temporary folder.
final class BenchServer: Sendable {
    let address: ServerAddress
    let version: String
    private let process: NIOLockedValueBox<pid_t>
    private let folder: String

    private init(address: ServerAddress, version: String, pid: pid_t, folder: String) {
        self.address = address
        self.version = version
        process = NIOLockedValueBox(pid)
        self.folder = folder
    }

    static func start() async throws -> BenchServer {
        let folder = NSTemporaryFolder.make()
        let configuration = """
            host: 127.0.0.1
            ports_file_dir: "\(folder)"
            max_pending: 2GB
            write_deadline: "60s"
            jetstream { store_dir: "\(folder)", max_memory_store: 2GB, max_file_store: 4GB }
            """
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: folder + "/server.conf"))
        // The server chooses its port itself, so that no other process can take it in between.
        let pid = try spawn(words(folder, port: -1))
        let deadline = ContinuousClock.now + .seconds(30)
        while true {
            do {
                guard let port = listedPort(folder, pid) else { throw NATSError.invalidArgument("it names no port") }
                let address = ServerAddress(host: "127.0.0.1", port: port)
                let connection = try await NATSConnection.connect(to: address)
                let version = connection.info.version
                await connection.close()
                return BenchServer(address: address, version: version, pid: pid, folder: folder)
            } catch {
                guard ContinuousClock.now < deadline, waitpid(pid, nil, WNOHANG) == 0 else {
                    kill(pid, SIGKILL)
                    let log = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
                    try? FileManager.default.removeItem(atPath: folder)
                    throw NATSError.invalidArgument("nats-server does not start: \(error)\n\(log.suffix(500))")
                }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }

    /// The port that the server says it listens at.
    private static func listedPort(_ folder: String, _ pid: pid_t) -> Int? {
        struct Ports: Decodable { var nats: [String]? }
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: folder + "/nats-server_\(pid).ports")),
            let ports = try? JSONDecoder().decode(Ports.self, from: data)
        else { return nil }
        return ports.nats?.first?.split(separator: ":").last.flatMap { Int($0) }
    }

    /// Kills the server without a word, as a crash does.
    func crash() { end(SIGKILL) }

    /// Starts it again on the same port, and returns as soon as the port accepts a connection.
    func restart() async throws {
        let pid = try Self.spawn(Self.words(folder, port: address.port))
        process.withLockedValue { $0 = pid }
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

    private static func words(_ folder: String, port: Int) -> [String] {
        ["-c", folder + "/server.conf", "-l", folder + "/log", "-p", "\(port)"]
    }

    private func end(_ signal: Int32) {
        let pid = process.withLockedValue(\.self)
        kill(pid, signal)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
    }

    func stop() {
        end(SIGTERM)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Starts this machine's server with these arguments.
    private static func spawn(_ words: [String]) throws -> pid_t {
        let environment = ProcessInfo.processInfo.environment
        let program = try ServerExecutable.find(in: environment)
        var arguments: [UnsafeMutablePointer<CChar>?] = ([program] + words).map { strdup($0) }
        arguments.append(nil)
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") }
        variables.append(nil)
        defer { for text in arguments + variables { free(text) } }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, program, nil, nil, arguments, variables)
        guard result == 0 else { throw NATSError.invalidArgument("nats-server cannot be started: \(result)") }
        return pid
    }
}

private enum NSTemporaryFolder {
    static func make() -> String {
        var template = Array("/tmp/parley-bench-XXXXXX".utf8CString)
        return template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) } ?? "/tmp"
        }
    }
}
