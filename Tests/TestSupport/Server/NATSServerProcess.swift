import Foundation
import NIOConcurrencyHelpers
import Platform

/// A real nats-server on a loopback port that the system chose, for one test.
///
/// It ends with `close()`, with this value's last reference, or with the test process, whichever comes first; its store
/// is removed with it.
public final class NATSServerProcess: Sendable {
    /// The server that runs.
    public let binary: NATSServerBinary
    /// The loopback port; the same after each `restart()`.
    public let port: Int
    /// Where configuration, store and log are.
    public let directory: TemporaryDirectory

    private let process: NIOLockedValueBox<ChildProcess>
    /// The ports that it has again when it is restarted. Meanwhile nobody else is to get them, not even for a
    /// connection.
    private let ports: [Int]
    private let held = NIOLockedValueBox<[LoopbackSocket]>([])

    /// Starts a server and returns when it takes connections.
    ///
    /// - Parameters:
    ///   - configuration: nats-server configuration in addition to `listen` and `jetstream`, which are made here.
    ///   - jetStream: whether JetStream is on, with its store in `directory`.
    ///   - port: 0 lets the system choose.
    ///   - others: further ports that the configuration names.
    /// - Throws: `TestFailure` with the server's log when it does not come up within a minute.
    public static func start(
        _ binary: NATSServerBinary = NATSServerProcess.anyBinary, configuration: String = "", jetStream: Bool = true,
        port: Int = 0, others: [Int] = [], directory: TemporaryDirectory? = nil
    ) async throws -> NATSServerProcess {
        let directory = try directory ?? TemporaryDirectory("nats")
        guard FileManager.default.isExecutableFile(atPath: binary.path) else {
            throw TestFailure("there is no nats-server at \(binary.path): run ./setup, which installs it")
        }
        let store = jetStream ? "jetstream { store_dir: \"\(directory.path("store"))\" }\n" : ""
        try directory.write(store + patient(configuration), to: "server.conf")
        let process = try launch(binary, directory: directory, port: port == 0 ? -1 : port)
        let chosen = try await ready(process, directory: directory)
        return NATSServerProcess(
            binary: binary, port: chosen, others: others, directory: directory, process: process)
    }

    private init(
        binary: NATSServerBinary, port: Int, others: [Int], directory: TemporaryDirectory, process: ChildProcess
    ) {
        self.binary = binary
        self.port = port
        ports = [port] + others
        self.directory = directory
        self.process = NIOLockedValueBox(process)
    }

    deinit { process.withLockedValue { $0.close() } }

    /// `nats://127.0.0.1:<port>`
    public var url: String { "nats://127.0.0.1:\(port)" }

    /// The server's process id.
    public var processID: Int32 { current.processID }

    /// What the server has logged since it was last started.
    public var log: String { current.diagnostics }

    /// Whether the server has not ended.
    public var isRunning: Bool { current.exitStatus == nil }

    /// Shuts the server down in good order and returns when it has ended.
    public func stop() async throws {
        current.signal(SIGTERM)
        try await current.waitForExit()
        holdPorts()
    }

    /// Ends the server without any warning, as a power cut does, and returns when it has ended.
    public func kill9() async throws {
        current.signal(SIGKILL)
        try await current.waitForExit()
        holdPorts()
    }

    private func holdPorts() { held.withLockedValue { $0 = ports.compactMap { try? LoopbackSocket.taking($0) } } }

    /// Freezes the server and returns when it is halted: connections stay open and nothing is answered.
    public func pause() async throws { try await current.stop() }

    /// Lets a frozen server go on.
    public func resume() { current.signal(SIGCONT) }

    /// Has the server read its configuration again.
    public func reload(configuration: String? = nil) throws {
        if let configuration { try write(configuration) }
        current.signal(SIGHUP)
    }

    /// Starts the server again on the same port with the same store; stops it first where it still runs.
    ///
    /// - Parameter configuration: takes the place of the text that was given at first, where not nil.
    public func restart(configuration: String? = nil) async throws {
        if isRunning { try await stop() }
        if let configuration { try write(configuration) }
        held.withLockedValue { $0 = [] }
        let new = try Self.launch(binary, directory: directory, port: port)
        process.withLockedValue { $0 = new }
        _ = try await Self.ready(new, directory: directory)
    }

    /// Kills the server where it still runs, and removes its store.
    public func close() {
        current.close()
        held.withLockedValue { $0 = [] }
        directory.remove()
    }

    private var current: ChildProcess { process.withLockedValue { $0 } }

    private func write(_ configuration: String) throws {
        let isStored = FileManager.default.fileExists(atPath: directory.path("store"))
        let store = isStored ? "jetstream { store_dir: \"\(directory.path("store"))\" }\n" : ""
        try directory.write(store + Self.patient(configuration), to: "server.conf")
    }

    /// The configuration with more time for a login than the standard two seconds, which a busy machine may need.
    private static func patient(_ configuration: String) -> String {
        let begin = "authorization {"
        guard let range = configuration.range(of: begin) else { return configuration + "\n\(begin) timeout: 60 }\n" }
        return configuration.replacingCharacters(in: range, with: "\(begin) timeout: 60, ")
    }

    private static func launch(
        _ binary: NATSServerBinary, directory: TemporaryDirectory, port: Int
    ) throws -> ChildProcess {
        try ChildProcess(
            binary.path,
            [
                "-a", "127.0.0.1", "-p", "\(port)", "-c", directory.path("server.conf"), "--ports_file_dir",
                directory.path,
            ])
    }

    /// The port of a server that greets those who connect.
    private static func ready(_ process: ChildProcess, directory: TemporaryDirectory) async throws -> Int {
        let name = "nats-server_\(process.processID).ports"
        var port: Int?
        do {
            try await eventually("a nats-server that takes connections", deadline: .seconds(60)) {
                guard process.exitStatus == nil else { throw TestFailure("nats-server has ended") }
                port = port ?? listedPort(directory.url.appendingPathComponent(name))
                guard let port else { return false }
                return await greets(port)
            }
        } catch {
            // What it said last is read to its end.
            if process.exitStatus != nil { try await process.waitForExit() }
            throw TestFailure("\(error)\n\(process.diagnostics.suffix(4_000))")
        }
        guard let port else { throw TestFailure("nats-server named no port") }
        return port
    }

    private static func listedPort(_ file: URL) -> Int? {
        struct Ports: Decodable { var nats: [String]? }
        guard let data = try? Data(contentsOf: file), let ports = try? JSONDecoder().decode(Ports.self, from: data)
        else { return nil }
        return ports.nats?.first.flatMap { $0.split(separator: ":").last }.flatMap { Int($0) }
    }

    /// Whether a server sends its INFO on this port: some do so only after they have waited for TLS.
    private static func greets(_ port: Int) async -> Bool {
        guard let socket = try? await LoopbackSocket.connected(to: port) else { return false }
        return await socket.read(4).bytes == Array("INFO".utf8)
    }
}
