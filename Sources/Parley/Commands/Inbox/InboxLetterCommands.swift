import ArgumentParser
import Platform
import Relay

struct InboxReadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "read", abstract: "Print a letter in full.")

    @OptionGroup var connection: ConnectionOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    @Argument(help: "The letter's id.")
    var id: String

    func run() async throws {
        let plan = try connection.plan()
        let letter = try await plan.connected { try await $0.postboxMessage(withMessageId: id) }
        if json {
            Output.json(letter.json)
        } else {
            for line in letter.heading { Output.line(line) }
            Output.line("")
            for line in Output.safeLines(letter.message) { Output.line(line) }
        }
        await StoreAccess.note([.letter(KeptLetter(letter)), .letterRead(id: id, postbox: letter.postboxId)], plan)
    }
}

struct InboxSaveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "save", abstract: "Write a letter's text to a file that only you can read, and print its name.")

    @OptionGroup var connection: ConnectionOptions

    @Option(
        help: ArgumentHelp(
            "The file, which must not exist yet; by default a name with the letter's time and sender.",
            valueName: "file"))
    var out: String?

    @Argument(help: "The letter's id.")
    var id: String

    func run() async throws {
        let letter = try await connection.plan().connected { try await $0.postboxMessage(withMessageId: id) }
        let path = out ?? letter.fileName
        try Self.write(letter.message, to: path)
        Output.line(Output.safe(path))
    }

    /// Writes the text as it was sent. Never overwrites a file or follows a link.
    static func write(_ text: String, to path: String) throws(CommandFailure) {
        func failure(_ words: String) -> CommandFailure {
            CommandFailure(.cannotCreate, "\(path): \(words)")
        }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            throw failure(code == EEXIST ? "it is there already" : String(cString: strerror(code)))
        }
        var rest = Array(text.utf8)[...]
        var isWritten = true
        while !rest.isEmpty, isWritten {
            let count = rest.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 { rest = rest.dropFirst(count) } else { isWritten = count < 0 && errno == EINTR }
        }
        // Some file systems report a full disk only on close.
        isWritten = close(descriptor) == 0 && isWritten
        guard isWritten else {
            unlink(path)
            throw failure("the letter could not be written in full. Is the disk full?")
        }
    }
}

extension PostboxMessage {
    var heading: [String] {
        [
            "from    \(from.map { Output.safe($0) } ?? "–")", "to      \(Output.safe(postboxId))",
            "sent    \(createdAt.iso8601)",
        ] + (subject.map { ["about   \(Output.safe($0))"] } ?? [])
    }

    var fileName: String { LetterFile.name(of: from, at: createdAt) }

    func forwarded(under text: String?) -> String {
        let above = text.map { $0 + "\n\n" } ?? ""
        let line = "\(LetterSubject.forwardMark)from \(from ?? "–") to \(postboxId), \(createdAt.iso8601)"
        return "\(above)\(line)\n\n\(message)"
    }
}
