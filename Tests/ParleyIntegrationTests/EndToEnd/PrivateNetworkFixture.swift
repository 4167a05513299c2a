import Foundation
import NIOConcurrencyHelpers
import Platform
import RelayNetwork
import TestSupport
import Testing

/// A private network for one test, in a folder of its own, with the people and commands on it.
final class PrivateNetworkFixture: Sendable {
    let folder: TemporaryDirectory
    let environment: [String: String]
    private let terminals = NIOLockedValueBox<[PseudoTerminal]>([])
    private let commands = NIOLockedValueBox<[ChildProcess]>([])

    init(_ binary: NATSServerBinary) throws {
        folder = try TemporaryDirectory("e2e")
        environment = [
            "XDG_DATA_HOME": folder.path("data"), "XDG_STATE_HOME": folder.path("state"),
            "XDG_CONFIG_HOME": folder.path("config"), "PARLEY_NATS_SERVER": binary.path, "TZ": "UTC",
            // The runtime's crash report would wait for a key before the program ends.
            "SWIFT_BACKTRACE": "enable=no",
        ]
    }

    /// Runs a test on a fresh network, and ends the network with every process of it however the test went.
    static func run(
        _ binary: NATSServerBinary = NATSServerProcess.anyBinary, fileID: String = #fileID, line: Int = #line,
        _ body: (PrivateNetworkFixture) async throws -> Void
    ) async throws {
        let network = try PrivateNetworkFixture(binary)
        do {
            try await body(network)
        } catch {
            try? await network.end()
            throw error
        }
        try await network.end()
    }

    // MARK: People and commands

    /// Somebody's interactive client, still without a word about its connection.
    func open(
        _ user: String, _ arguments: [String] = [], environment more: [String: String] = [:], rows: Int = 24,
        columns: Int = 80, parent: PseudoTerminal.Parent = .shell
    ) throws -> PseudoTerminal {
        try terminal(["--as", user] + arguments, environment: more, rows: rows, columns: columns, parent: parent)
    }

    /// The program on a terminal.
    func terminal(
        _ arguments: [String], environment more: [String: String] = [:], rows: Int = 24, columns: Int = 80,
        parent: PseudoTerminal.Parent = .shell
    ) throws -> PseudoTerminal {
        let terminal = try PseudoTerminal(
            try BuiltProduct.url("parley").path, arguments, environment: environment.merging(more) { $1 }, rows: rows,
            columns: columns, parent: parent)
        terminals.withLockedValue { $0.append(terminal) }
        return terminal
    }

    /// Somebody's interactive client, connected and with its postbox counted.
    func connected(
        _ user: String, _ arguments: [String] = [], rows: Int = 24, columns: Int = 80,
        parent: PseudoTerminal.Parent = .shell, fileID: String = #fileID, line: Int = #line
    ) async throws -> PseudoTerminal {
        let terminal = try open(user, arguments, rows: rows, columns: columns, parent: parent)
        try await terminal.waitFor("a connected client", fileID: fileID, line: line) {
            $0.contains("● CONNECTED") && ($0.contains("personal") || columns < 60)
        }
        return terminal
    }

    /// Runs a command to its end. One that names no time limit of its own has more time than a person would give it.
    func run(
        _ arguments: [String], input: String = "", environment more: [String: String] = [:],
        fileID: String = #fileID, line: Int = #line
    ) async throws -> ChildProcess.Result {
        try await ChildProcess.run(
            try BuiltProduct.url("parley").path, Self.patient(arguments), input: input,
            environment: environment.merging(more) { $1 }, fileID: fileID, line: line)
    }

    /// Ten seconds, which are the standard, may be too few for a busy machine where the whole network is started first.
    private static func patient(_ arguments: [String]) -> [String] {
        let isLimited = arguments.first == "send" || arguments.starts(with: ["outbox", "send"])
        return isLimited && !arguments.contains("--timeout") ? arguments + ["--timeout", "60"] : arguments
    }

    /// Runs a command to its end.
    func parley(
        _ arguments: String..., input: String = "", environment more: [String: String] = [:],
        fileID: String = #fileID, line: Int = #line
    ) async throws -> ChildProcess.Result {
        try await run(arguments, input: input, environment: more, fileID: fileID, line: line)
    }

    /// Starts a command that goes on.
    func start(_ arguments: String...) throws -> ChildProcess {
        let process = try ChildProcess(try BuiltProduct.url("parley").path, arguments, environment: environment)
        commands.withLockedValue { $0.append(process) }
        return process
    }

    /// The JSON objects that a command prints; the command has to succeed.
    func objects(
        _ arguments: String..., input: String = "", fileID: String = #fileID, line: Int = #line
    ) async throws -> [JSONLine] {
        try await objects(arguments, input: input, fileID: fileID, line: line)
    }

    /// The JSON objects that a command prints; the command has to succeed.
    func objects(
        _ arguments: [String], input: String = "", fileID: String = #fileID, line: Int = #line
    ) async throws -> [JSONLine] {
        let result = try await run(arguments, input: input, fileID: fileID, line: line)
        guard result.status.isSuccess else {
            throw TestFailure("parley \(arguments): \(result)", fileID: fileID, line: line)
        }
        return try result.lines.map { try JSONLine($0) }
    }

    /// The texts of a user's letters, oldest first, as the server's stream has them.
    func letters(of user: String) async throws -> [String] {
        try await objects("inbox", "list", "--as", user, "--all", "--json").flatMap { page in
            page["items"].array.map { $0["message"].string }
        }
    }

    /// The texts on a topic, oldest first, as the server's stream has them.
    func texts(on topic: String) async throws -> [String] {
        try await objects("history", topic, "--as", "auditor", "--start", "all", "--json").map { $0["text"].string }
    }

    /// How many connections of clients the server has.
    func clientCount() async throws -> Int {
        let status = try await objects("network", "status", "--json")
        return status.first?["clients"].int ?? -1
    }

    // MARK: The processes behind it

    /// The network as it runs now; nil while it does not.
    var description: NetworkDescription? {
        let file = URL(fileURLWithPath: folder.path("data/parley/local/network.json"))
        guard let data = try? Data(contentsOf: file) else { return nil }
        return try? JSONDecoder().decode(NetworkDescription.self, from: data)
    }

    /// What host and server have written, for messages of failed tests.
    private var log: String {
        ["host.log", "server.log"].map { name in
            let text = try? String(contentsOfFile: folder.path("data/parley/local/\(name)"), encoding: .utf8)
            return "\n\(name):\n\((text ?? "").suffix(3_000))"
        }.joined()
    }

    /// Stops the network and makes sure that none of its processes is left.
    private func end() async throws {
        for terminal in terminals.withLockedValue({ $0 }) { terminal.close() }
        for command in commands.withLockedValue({ $0 }) { command.close() }
        let last = description
        // A host that a test has stopped takes no signal but this.
        if let last { kill(last.hostPid, SIGCONT) }
        let result = try await parley("network", "stop", "--force")
        #expect(result.status.isSuccess, "\(result)\(log)")
        guard let last else { return }
        for process in [last.hostPid, last.serverPid] {
            do {
                try await eventually("the end of process \(process)") { !Self.isRunning(process) }
            } catch {
                kill(process, SIGKILL)
                throw error
            }
        }
    }

    /// Whether a process runs: one that has ended and waits for its parent's attention does not.
    static func isRunning(_ process: Int32) -> Bool {
        #if os(Linux)
            guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return false }
            let state = text.split(separator: ")").last?.split(separator: " ").first
            return state != "Z" && state != "X"
        #else
            return kill(process, 0) == 0
        #endif
    }
}

/// One JSON value of a command's output, read without ceremony: what is missing is empty.
struct JSONLine: @unchecked Sendable, CustomStringConvertible {
    // Holds what JSONSerialization made, which nothing changes any more.
    private let value: Any?

    init(_ text: String) throws {
        value = try JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    }

    private init(value: Any?) { self.value = value }

    subscript(_ key: String) -> JSONLine { JSONLine(value: (value as? [String: Any])?[key]) }
    var keys: Set<String> { Set((value as? [String: Any])?.keys.map { $0 } ?? []) }
    var array: [JSONLine] { (value as? [Any])?.map { JSONLine(value: $0) } ?? [] }
    var string: String { value as? String ?? "" }
    var int: Int? { (value as? NSNumber)?.intValue }
    var bool: Bool? { (value as? NSNumber)?.boolValue }
    var isNull: Bool { value == nil || value is NSNull }
    var description: String { value.map { "\($0)" } ?? "nothing" }
}

extension TerminalScreen {
    /// The part of a row right of the sidebar, for a row that has one.
    func main(row: Int) -> String {
        let parts = rows[row].split(separator: "│", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? String(parts[1]) : rows[row]
    }

    /// The rows that show this text.
    func count(of text: String) -> Int { rows.count { $0.contains(text) } }
}
