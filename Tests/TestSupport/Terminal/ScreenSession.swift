import Foundation

/// A session of GNU screen of a test's own: its socket and its settings are in a temporary folder, and none of the
/// developer's are read. It ends, and what runs in it is hung up, with `close()`, with this value's last reference, or
/// with the test process.
public final class ScreenSession: Sendable {
    /// Whether there is a GNU screen to start.
    public static let isInstalled: Bool = {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/screen") }
    }()
    /// Why a test that needs it is skipped.
    public static let missing = "GNU screen is not installed"

    /// The process of the program that runs in it.
    public let program: Int32

    private let folder: TemporaryDirectory
    private let settings: String
    private let server: ChildProcess

    /// Starts a program in a session that has no terminal yet.
    ///
    /// - Parameter environment: what the program finds, besides PATH, HOME and a UTF-8 locale.
    /// - Throws: `TestFailure` when it does not start.
    public static func start(
        _ program: String, _ arguments: [String], environment: [String: String]
    ) async throws -> ScreenSession {
        let folder = try TemporaryDirectory("screen")
        let settings = """
            startup_message off
            vbell off
            deflogin off
            defutf8 on
            term screen-256color

            """
        let file = try folder.write(settings, to: "settings")
        let sockets = folder.path("sockets")
        try FileManager.default.createDirectory(
            atPath: sockets, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let note = folder.path("process")
        // In the foreground, so that it is this test's child and its end can be awaited.
        let server = try ChildProcess(
            "screen",
            ["-D", "-m", "-U", "-c", file, "-S", "test", "sh", "-c", "echo $$ >\"$0\"; exec \"$@\"", note, program]
                + arguments,
            environment: environment.merging(["SCREENDIR": sockets, "TERM": "xterm-256color"]) { $1 })
        try await eventually("screen to start its program", deadline: .seconds(60)) { process(note) != nil }
        guard let process = process(note) else { throw TestFailure("screen has started nothing") }
        return ScreenSession(process, folder, file, server)
    }

    private static func process(_ note: String) -> Int32? {
        let text = (try? String(contentsOfFile: note, encoding: .utf8)) ?? ""
        return text.hasSuffix("\n") ? Int32(text.dropLast()) : nil
    }

    private init(_ program: Int32, _ folder: TemporaryDirectory, _ settings: String, _ server: ChildProcess) {
        self.program = program
        self.folder = folder
        self.settings = settings
        self.server = server
    }

    /// Kills the session, whereupon the system hangs up on what runs in it.
    public func close() { server.close() }

    /// A new terminal that is attached to the session.
    public func attach(rows: Int = 24, columns: Int = 80) throws -> PseudoTerminal {
        try PseudoTerminal(
            "screen", ["-U", "-A", "-c", settings, "-r", "test"], environment: ["SCREENDIR": folder.path("sockets")],
            rows: rows, columns: columns)
    }

    /// Detaches a terminal by screen's keys, and returns when screen has left it.
    public func detach(_ terminal: PseudoTerminal, fileID: String = #fileID, line: Int = #line) async throws {
        try terminal.press(.ctrl("a"))
        try terminal.type("d")
        let status = try await terminal.waitForExit(deadline: .seconds(60), fileID: fileID, line: line)
        guard status == .exited(0) else { throw TestFailure("screen ended: \(status)", fileID: fileID, line: line) }
    }
}
