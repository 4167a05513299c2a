import NATS
import TestSupport

/// A server with a stream of topics and no more, and the configuration that leads there.
struct PlainNetwork {
    /// The file of the configuration.
    let configuration: String
    /// Variables that keep a program's own files apart from the developer's.
    let environment: [String: String]
    private let server: NATSServerProcess
    private let folder: TemporaryDirectory

    /// - Parameters:
    ///   - settings: what the server is told beside.
    ///   - subjects: which ones the stream holds.
    ///   - maximumMessages: how many messages it takes; any number where nil.
    init(
        _ binary: NATSServerBinary, _ settings: String = "", subjects: [String] = ["h.>"],
        maximumMessages: Int64? = nil
    ) async throws {
        server = try await NATSServerProcess.start(binary, configuration: settings)
        folder = try TemporaryDirectory("e2e")
        let profile = "servers: ['\(server.url)'], user: 'alice', namespace: 'n', hash: 'h'"
        configuration = try folder.write("{ profiles: { default: { \(profile) } } }", to: "config.json")
        environment = [
            "XDG_DATA_HOME": folder.path("data"), "XDG_STATE_HOME": folder.path("state"), "TZ": "UTC",
            "SWIFT_BACKTRACE": "enable=no",
        ]
        let connection = try await connected()
        let jetStream = JetStream(connection, timeout: .seconds(60))
        var stream = StreamConfiguration(name: "n_stream", subjects: subjects)
        if let maximumMessages { (stream.maximumMessages, stream.discard) = (maximumMessages, .new) }
        _ = try await jetStream.createStream(stream)
        await connection.close()
    }

    /// Publishes what a client of Parley's might not, and returns when all of it is stored.
    func store(_ messages: [(topic: String, payload: [UInt8])]) async throws {
        let connection = try await connected()
        let jetStream = JetStream(connection, timeout: .seconds(60))
        let end = try await jetStream.streamInfo("n_stream").state.lastSequence + UInt64(messages.count)
        for (topic, payload) in messages { try connection.publish(payload, to: "h.\(topic)") }
        try await eventually("\(end) stored messages", deadline: .seconds(60)) {
            try await jetStream.streamInfo("n_stream").state.lastSequence == end
        }
        await connection.close()
    }

    /// Deletes the oldest messages up to a sequence, as a stream's bounds would.
    func delete(through sequence: UInt64) async throws {
        let connection = try await connected()
        let jetStream = JetStream(connection, timeout: .seconds(60))
        let first = try await jetStream.streamInfo("n_stream").state.firstSequence
        for sequence in stride(from: first, through: sequence, by: 1) {
            try await jetStream.deleteMessage(in: "n_stream", sequence: sequence)
        }
        await connection.close()
    }

    /// Makes a user's postbox, where it is not there yet, and stores letters of bob's in it: there is no host that
    /// would.
    func storeLetters(_ texts: [String], to user: String) async throws {
        let connection = try await connected()
        let jetStream = JetStream(connection, timeout: .seconds(60))
        let name = "PB_\(user)"
        _ = try await jetStream.createStream(
            StreamConfiguration(name: name, subjects: ["postbox.\(user).*", "postbox.\(user).*.*"]))
        let end = try await jetStream.streamInfo(name).state.lastSequence + UInt64(texts.count)
        for text in texts { try connection.publish(Array(text.utf8), to: "postbox.\(user).personal.bob") }
        try await eventually("\(end) letters", deadline: .seconds(60)) {
            try await jetStream.streamInfo(name).state.lastSequence == end
        }
        await connection.close()
    }

    /// Ends the server and starts it again, with what it has stored.
    func restart() async throws { try await server.restart() }

    /// Has the server read other settings.
    func reload(_ settings: String) throws { try server.reload(configuration: settings) }

    /// Runs a command to its end.
    func parley(_ arguments: [String], input: String? = nil) async throws -> ChildProcess.Result {
        let process = try start(arguments)
        if let input {
            try process.write(input)
            process.closeInput()
        }
        defer { process.close() }
        return try await process.waitForExit(deadline: .seconds(120))
    }

    /// Starts a command that goes on.
    func start(_ arguments: [String]) throws -> ChildProcess {
        try ChildProcess(
            try BuiltProduct.url("parley").path, arguments + ["--config", configuration], environment: environment)
    }

    /// The chat on a terminal.
    func chat() throws -> PseudoTerminal {
        try PseudoTerminal(
            try BuiltProduct.url("parley").path, ["--config", configuration], environment: environment, rows: 40,
            columns: 100)
    }

    /// Starts a command that goes on, with its output written to a file.
    func start(_ arguments: [String], output: String) throws -> ChildProcess {
        let parley = try BuiltProduct.url("parley").path
        return try ChildProcess(
            "/bin/sh",
            ["-c", #"output="$1"; shift; exec "$@" >"$output""#, "sh", output, parley] + arguments
                + ["--config", configuration], environment: environment)
    }

    /// The path of a file in the folder, which is removed with all that is in it.
    func path(_ name: String) -> String { folder.path(name) }

    private func connected() async throws -> NATSConnection {
        try await NATSConnection.connect(
            to: try ServerAddress(parsing: server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
    }
}
