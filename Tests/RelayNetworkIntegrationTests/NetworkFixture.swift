import NATS
import NIOCore
import Platform
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// The paths of the servers that the tests run against.
enum TestServers {
    static let all = NATSServerProcess.binaries.map(\.path)
}

typealias TemporaryFolder = TemporaryDirectory

extension TemporaryDirectory {
    /// The network that a test has in it: the standard one of a program whose `XDG_DATA_HOME` is the folder.
    var network: NetworkDirectory { NetworkDirectory(path: path + "/parley/local") }
}

/// A private network whose host runs inside the test process.
struct TestNetwork: Sendable {
    let directory: NetworkDirectory
    let description: NetworkDescription

    /// Runs the body on a network of its own, or on the one in a folder; host and server have ended when it returns.
    static func run<R: Sendable>(
        server: String, idleTimeout: Duration = .seconds(600), startTimeout: Duration = .seconds(120),
        in folder: TemporaryFolder? = nil,
        freeDiskSpace: (@Sendable (String) -> Int64?)? = nil, _ body: @Sendable (TestNetwork) async throws -> R
    ) async throws -> R {
        let folder = try folder ?? TemporaryFolder()
        let directory = folder.network
        var options = NetworkHost.Options(environment: ["PARLEY_NATS_SERVER": server])
        options.handlesSignals = false
        options.idleTimeout = idleTimeout
        options.startTimeout = startTimeout
        if let freeDiskSpace { options.freeDiskSpace = freeDiskSpace }
        let host = NetworkHost(directory: directory, options: options)
        let running = Task { await host.run() }
        let result: Result<R, any Error>
        do {
            let description = try await answering(directory)
            result = .success(try await body(TestNetwork(directory: directory, description: description)))
        } catch {
            result = .failure(error)
        }
        running.cancel()
        let outcome = await running.value
        if case .failure = result { print(outcome, LogFile.tail(of: directory.hostLog, lines: 20)) }
        withExtendedLifetime(folder) {}
        return try result.get()
    }

    static func answering(_ directory: NetworkDirectory) async throws -> NetworkDescription {
        var description: NetworkDescription?
        try await eventually("the network answers", deadline: .seconds(120)) {
            description = try await directory.running()
            return description != nil
        }
        return try #require(description)
    }

    /// Connects as a user, who is made on first use.
    func connect(as user: String, topics: [String]? = nil) async throws -> NATSConnection {
        let credentials =
            if let topics {
                try await NetworkAdministrator(directory: directory).add(
                    user: user, rights: RightsChange(topics: topics))
            } else {
                try directory.credentials(for: user)
            }
        return try await connect(credentials)
    }

    /// Connects as a user of the network's own account who may do everything. As for the host's users, its answers come
    /// where no user's import reaches.
    func connectAsNetwork() async throws -> NATSConnection {
        try await connect(NetworkIdentity.open(in: directory).issuer.issue(name: "~test"), inboxPrefix: "_INBOX_~test")
    }

    /// JetStream as a user reaches it, with more time than a client has. An old server leaves some of what it refuses
    /// without an answer, so that this is not all the time of a busy machine.
    func jetStream(_ connection: NATSConnection) -> JetStream {
        JetStream(connection, apiPrefix: UserPermissions.apiPrefix, timeout: .seconds(20))
    }

    func connect(_ credentials: Credentials, inboxPrefix: String? = nil) async throws -> NATSConnection {
        try await NATSConnection.connect(
            to: description.address(),
            options: .init(
                authentication: .init(credentials), inboxPrefix: inboxPrefix, connectTimeout: .seconds(60)))
    }
}

extension JetStream {
    /// JetStream as the network's own account reaches it, with the time of a busy machine.
    static func patient(_ connection: NATSConnection) -> JetStream { JetStream(connection, timeout: .seconds(60)) }
}

extension NATSConnection {
    /// Asks what is answered in any case, with the time of a busy machine.
    func ask(
        _ body: String = "", to subject: String, headers: NATSHeaders? = nil
    ) async throws(NATSError) -> NATSMessage {
        try await request(ByteBuffer(string: body), to: subject, headers: headers, timeout: .seconds(60))
    }
}

/// A server that begins only when it is let, as on a machine that is busy: the tokens lie ready for it by then.
struct GatedServer: Sendable {
    let path: String
    private let folder: String

    init(_ server: String, in folder: TemporaryFolder) throws {
        self.folder = folder.path
        path = folder.path + "/gated-server"
        let script = """
            #!/bin/sh
            [ "$1" != --version ] || exec "\(server)" --version
            : > "\(folder.path)/waits"
            until [ -e "\(folder.path)/go" ]; do sleep 0.05; done
            exec "\(server)" "$@"

            """
        try Data(script.utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
    }

    /// Returns when the server has been started and waits.
    func waits() async throws {
        try await eventually("the server is started") { FileManager.default.fileExists(atPath: folder + "/waits") }
    }

    /// Lets it begin, and every later one.
    func open() throws { try Data().write(to: URL(filePath: folder + "/go")) }
}

extension NetworkAdministrator {
    /// Sends a user's clients a cause of any kind; nothing else is done.
    func send(_ message: ControlMessage, to user: String) async throws {
        let name = try UserName(user)
        _ = try directory.knownRecord(of: name)
        let identity = try NetworkIdentity.open(in: directory)
        let place = try #require(await directory.places().first)
        let system = try await SystemInterface(at: place, identity: identity)
        defer { system.close() }
        try await tell([(name, message)], on: system)
    }
}
