import CChildProcess
import Foundation
import NIOConcurrencyHelpers
import Platform

/// A program without a terminal: its output is collected, and read as it comes.
///
/// The program and what it has put into its process group end with `close()`, with this value's last reference, or with
/// the test process, whichever comes first.
public final class ChildProcess: Sendable {
    /// What a program has left behind.
    public struct Result: Sendable, CustomStringConvertible {
        /// How it ended.
        public var status: CommandStatus
        /// Its standard output, as text.
        public var output: String
        /// Its standard error, as text.
        public var diagnostics: String

        /// The code it returned; nil when a signal ended it.
        public var exitCode: Int32? { if case .exited(let code) = status { code } else { nil } }
        /// The lines of its standard output.
        public var lines: [String] { output.split(separator: "\n").map(String.init) }

        /// All of it, for messages of failed tests.
        public var description: String { "\(status)\noutput:\n\(output)\ndiagnostics:\n\(diagnostics)" }
    }

    /// How many bytes of each stream are kept; a program that writes more is too much for a test.
    public static let outputLimit = 64 << 20

    /// The program's process id.
    public var processID: Int32 { link.processID }

    private let link: ChildLink
    private let collected = Collected()

    private final class Collected: Sendable {
        let bytes = NIOLockedValueBox<[[UInt8]]>([[], []])
        let linesRead = NIOLockedValueBox(0)
    }

    /// Starts a program; its input stays open until `closeInput()`.
    ///
    /// - Parameters:
    ///   - program: a path, or a name to look for in PATH.
    ///   - environment: added to PATH, HOME and a UTF-8 locale; nothing else is inherited.
    /// - Throws: `TestFailure` when the program cannot be started.
    public init(
        _ program: String, _ arguments: [String] = [], environment: [String: String] = [:],
        workingDirectory: URL? = nil
    ) throws {
        let launch = Launch(
            program: program, arguments: arguments, environment: Launch.plainEnvironment.merging(environment) { $1 },
            workingDirectory: workingDirectory)
        let pipes = try (0..<3).map { _ in try Self.makePipe() }
        let theirs = [pipes[0].reader, pipes[1].writer, pipes[2].writer]
        let ours = [pipes[0].writer, pipes[1].reader, pipes[2].reader]
        defer { for descriptor in theirs { Self.closeDescriptor(descriptor) } }
        let handle: child_handle
        do {
            handle = try launch.spawn(kind: Int32(CHILD_PLAIN), streams: theirs)
        } catch {
            for descriptor in ours { Self.closeDescriptor(descriptor) }
            throw error
        }
        let collected = collected
        link = try ChildLink(
            handle: handle, streams: .init(outputs: [ours[1], ours[2]], input: ours[0]),
            receive: { output, bytes in
                collected.bytes.withLockedValue { if $0[output].count < Self.outputLimit { $0[output] += bytes } }
                return []
            })
    }

    deinit { link.close() }

    /// Runs a program to its end.
    ///
    /// - Throws: `TestFailure` when it cannot be started or has not ended at the deadline; it is killed then.
    public static func run(
        _ program: String, _ arguments: [String] = [], input: String = "", environment: [String: String] = [:],
        workingDirectory: URL? = nil, deadline: Duration = .seconds(120), fileID: String = #fileID, line: Int = #line
    ) async throws -> Result {
        let process = try ChildProcess(
            program, arguments, environment: environment, workingDirectory: workingDirectory)
        defer { process.close() }
        try process.write(input)
        process.closeInput()
        return try await process.waitForExit(deadline: deadline, fileID: fileID, line: line)
    }

    /// Kills what still runs, and returns when it is gone; safe to call again.
    public func close() { link.close() }

    /// Sends text to the program's standard input.
    public func write(_ text: String) throws { try link.write(text.utf8) }

    /// Ends the program's standard input.
    public func closeInput() { link.closeInput() }

    /// Sends a signal to the program.
    public func signal(_ number: Int32) { link.command(CHILD_COMMAND_SIGNAL, number) }

    /// How the program ended; nil while it lives.
    public var exitStatus: CommandStatus? { link.condition.exit }

    /// Whether a signal has stopped the program, all of it.
    public var isStopped: Bool { link.condition.isStopped }

    /// Stops the program by SIGSTOP and returns when it has stopped.
    ///
    /// - Throws: `TestFailure` at the deadline, or when the program has ended.
    public func stop(
        deadline: Duration = .seconds(60), fileID: String = #fileID, line: Int = #line
    ) async throws {
        signal(SIGSTOP)
        let isStopped = await link.wait(until: .now + deadline) { [self] () -> Bool? in
            link.condition.exit != nil ? false : link.condition.isStopped ? true : nil
        }
        if isStopped != true { throw failure("the program was not stopped", fileID, line) }
    }

    /// What the program has written to its standard output.
    public var output: String { text(0) }

    /// What the program has written to its standard error.
    public var diagnostics: String { text(1) }

    /// The next whole line of standard output that has not been returned yet, without its end.
    ///
    /// - Throws: `TestFailure` at the deadline, or when there will be no further line.
    public func nextLine(
        deadline: Duration = .seconds(60), fileID: String = #fileID, line: Int = #line
    ) async throws -> String {
        let found = await link.wait(until: .now + deadline) { [self] () -> String?? in
            let hasEnded = link.condition.ended[0]
            if let text = takeLine() { return .some(text) }
            return hasEnded ? .some(nil) : nil
        }
        guard let text = found ?? nil else {
            throw failure("no further line within \(deadline)", fileID, line)
        }
        return text
    }

    /// Returns when `condition`, which another thread calls meanwhile, holds for the standard output and the standard
    /// error so far.
    ///
    /// - Throws: `TestFailure` at the deadline.
    public func waitFor(
        _ what: String, deadline: Duration = .seconds(60), fileID: String = #fileID, line: Int = #line,
        _ condition: @escaping (_ output: String, _ diagnostics: String) throws -> Bool
    ) async throws {
        let found = try await link.wait(until: .now + deadline) { [self] () throws -> Bool? in
            try condition(output, diagnostics) ? true : nil
        }
        if found == nil { throw failure("\(what) did not come within \(deadline)", fileID, line) }
    }

    /// How the program ended and all that it wrote.
    ///
    /// - Throws: `TestFailure` at the deadline.
    @discardableResult
    public func waitForExit(
        deadline: Duration = .seconds(60), fileID: String = #fileID, line: Int = #line
    ) async throws -> Result {
        let status = await link.wait(until: .now + deadline) { [self] () -> CommandStatus? in
            link.condition.ended.allSatisfy(\.self) ? link.condition.exit : nil
        }
        // Something that the program has started may still hold its output.
        guard let status = status ?? exitStatus else {
            throw failure("the end of the program did not come within \(deadline)", fileID, line)
        }
        return Result(status: status, output: output, diagnostics: diagnostics)
    }

    private func text(_ index: Int) -> String {
        String(decoding: collected.bytes.withLockedValue { $0[index] }, as: UTF8.self)
    }

    private func takeLine() -> String? {
        collected.linesRead.withLockedValue { start in
            collected.bytes.withLockedValue { bytes in
                guard let end = bytes[0][start...].firstIndex(of: 0x0A) else { return nil }
                defer { start = end + 1 }
                return String(decoding: bytes[0][start..<end], as: UTF8.self)
            }
        }
    }

    private func failure(_ words: String, _ fileID: String, _ line: Int) -> TestFailure {
        let life = exitStatus.map { "\($0)" } ?? "running"
        return TestFailure(
            "\(words). The program: \(life).\noutput:\n\(output.suffix(4_000))\n"
                + "diagnostics:\n\(diagnostics.suffix(4_000))\n", fileID: fileID, line: line)
    }

    private static func makePipe() throws -> (reader: Int32, writer: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw TestFailure("cannot make a pipe: errno \(errno)") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func closeDescriptor(_ descriptor: Int32) {
        _ = Platform.close(descriptor)
    }
}
