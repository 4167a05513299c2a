import NIOConcurrencyHelpers
import Platform
import Relay
import Subprocess
import Terminal

/// The user's editor: `VISUAL`, or `EDITOR`, or else vi.
struct TextEditor: Sendable {
    /// A shell command, to which the file is added.
    let command: String
    private let environment: [String: String]

    enum Outcome: Hashable, Sendable {
        case written(String)
        /// Why there is no text, and what to do.
        case failed(String)
    }

    /// The longest text that is read back, in bytes.
    private static let limit = 4 << 20

    init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
        let named = ["VISUAL", "EDITOR"].compactMap { environment[$0] }.first { !$0.allSatisfy(\.isWhitespace) }
        command = named ?? "vi"
        self.environment = environment
    }

    /// Lets the user edit a text, and returns when the editor has exited. It blocks the calling thread, which must not
    /// belong to the cooperative pool.
    func edit(_ text: String) -> Outcome {
        let folder = temporaryFolder + "/parley-" + RelayClient.newID()
        // Some editors choose their wrapping and colours by the name.
        let file = folder + "/message.md"
        var stays = false
        defer {
            let isEmpty = (try? FileManager.default.contentsOfDirectory(atPath: folder))?.isEmpty ?? false
            if !stays || isEmpty { try? FileManager.default.removeItem(atPath: folder) }
        }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            guard
                FileManager.default.createFile(
                    atPath: file, contents: Data((text.isEmpty ? "" : text + "\n").utf8),
                    attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
        } catch {
            return .failed("The text could not be written to \(folder) for the editor. Is the disk full?")
        }
        switch run(file) {
        case .exited(0)?: break
        case .exited(127)?:
            return .failed("There is no program \(command.prefix(64)). Set EDITOR to the one that you write with.")
        case .exited(let code)?: return .failed("The editor ended with \(code); the text is as it was before.")
        case .signaled?:
            stays = true
            return .failed("The editor was ended by a signal. What it saved is in \(file).")
        case nil: return .failed("The editor could not be started: the system has too many processes.")
        }
        stays = true
        guard let data = FileManager.default.contents(atPath: file) else {
            return .failed("The edited text cannot be read. It may be in \(folder).")
        }
        guard data.count <= Self.limit else {
            return .failed("The text is too long: \(Wording.count(data.count, "byte")). It is in \(file).")
        }
        guard var written = try? TextInput.text(of: Array(data)) else {
            return .failed("The text is not UTF-8. It is in \(file).")
        }
        stays = false
        // Editors add a line end that the user did not type.
        if written.last?.breaksLine == true { written.removeLast() }
        return .written(written)
    }

    /// A folder that is private to the user, if possible, and cleared by the system.
    private var temporaryFolder: String {
        for name in ["XDG_RUNTIME_DIR", "TMPDIR"] {
            guard let path = environment[name], path.hasPrefix("/"), FileManager.default.isWritableFile(atPath: path)
            else { continue }
            return path
        }
        return "/tmp"
    }

    /// Runs it with this program's terminal and process group, as a shell would, but without this program's secrets.
    private func run(_ file: String) -> TerminationStatus? {
        let done = Gate()
        let status = NIOLockedValueBox<TerminationStatus?>(nil)
        Task.detached { [command, environment] in
            let secrets = environment.keys.filter { $0.hasPrefix("PARLEY_") }
                .compactMap { Environment.Key(rawValue: $0) }
            let without = Dictionary(secrets.map { ($0, String?.none) }) { first, _ in first }
            // Its errors go to the screen: this program's own standard error may be a file.
            let outcome = try? await Subprocess.run(
                .path("/bin/sh"), arguments: ["-c", "\(command) \"$1\"", "sh", file],
                environment: .inherit.updating(without),
                input: .fileDescriptor(.standardInput, closeAfterSpawningProcess: false),
                output: .fileDescriptor(.standardOutput, closeAfterSpawningProcess: false),
                error: .fileDescriptor(.standardOutput, closeAfterSpawningProcess: false))
            status.withLockedValue { $0 = outcome?.terminationStatus }
            done.open()
        }
        done.wait()
        return status.withLockedValue { $0 }
    }
}

extension TerminalSession {
    /// Hands the terminal to the user's editor, and takes it back when the editor exits.
    func edit(_ text: String) -> TextEditor.Outcome { withTerminalReleased { TextEditor().edit(text) } }
}
