import Platform
import Relay
import RelayNetwork
import Terminal

/// The output of commands: lines on standard output, complaints on standard error, unbuffered and in full.
enum Output {
    /// Prints a line. If the reader has gone away, the program ends silently, as any filter does.
    static func line(_ text: String) {
        write(Array((text + "\n").utf8)[...], to: STDOUT_FILENO)
    }

    /// Prints complete lines, and empties the buffer.
    static func lines(_ text: inout [UInt8]) {
        write(text[...], to: STDOUT_FILENO)
        text.removeAll(keepingCapacity: true)
    }

    static func json(_ map: MessageMap) { line(JSONText.text(.map(map))) }

    static func json(_ map: MessageMap, _ more: MessageMap) { json(MessageMap(map.entries + more.entries)) }

    /// Prints lines on standard error, without control characters, since they may contain a server's or another user's
    /// words.
    static func complain(_ text: String) {
        write(Array((safeLines(text).joined(separator: "\n") + "\n").utf8)[...], to: STDERR_FILENO)
    }

    /// Prints the program's own text on standard error without ending the line.
    static func prompt(_ text: String) { write(Array(text.utf8)[...], to: STDERR_FILENO) }

    /// Remote text made safe for a terminal: without control characters or reordering.
    static func safe(_ text: String) -> String {
        isPlain(text) ? text : SafeText(text).description
    }

    /// Whether a text is all printable ASCII, as most are, so that it needs no closer look.
    private static func isPlain(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { $0.allSatisfy { $0 >= 0x20 && $0 < 0x7F } }
    }

    /// A name chosen by its owner, distinguishable from lookalikes.
    static func name(_ name: String) -> String {
        isPlain(name) && !name.utf8.contains(UInt8(ascii: " "))
            ? name : SafeText(name: name, limit: name.count).description
    }

    /// Like `safe`, but keeps line breaks.
    static func safeLines(_ text: String) -> [String] { SafeText.lines(text).map(\.description) }

    /// Like `safe`, for a text within an entry: further lines are indented, so that only entries begin at the left edge
    /// and no text can look like another entry.
    static func indented(_ text: String) -> String {
        isPlain(text) ? text : safeLines(text).joined(separator: "\n    ")
    }

    /// Whether standard output is a terminal and NO_COLOR is not set.
    static var isColored: Bool {
        guard isatty(STDOUT_FILENO) == 1 else { return false }
        return getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
    }

    enum Trouble: Hashable {
        /// Retry at once.
        case passing
        /// Retry once the reader has taken something.
        case full
        case noReader
        /// The terminal is gone, whether or not the signal has arrived.
        case hangUp
        case failure

        init(_ error: Int32, isTerminal: Bool) {
            self =
                switch error {
                case EINTR: .passing
                case EAGAIN: .full
                case EPIPE: .noReader
                case EIO where isTerminal: .hangUp
                default: .failure
                }
        }
    }

    /// Treats a terminal that is gone like the signal: whoever watches for it ends the program, or else this does.
    /// Returns false if the program is to outlive its terminal.
    private static func hangUp() -> Bool {
        switch EndingSignals.hangUp() {
        case .watched: true
        case .unwatched: TerminalSession.endProcess(by: SIGHUP)
        case .ignored: false
        }
    }

    private static func write(_ text: ArraySlice<UInt8>, to descriptor: Int32) {
        var bytes = text
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Platform.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                let error = errno
                switch Trouble(error, isTerminal: ClosedTerminal.isCharacterDevice(descriptor)) {
                case .passing: continue
                case .full:
                    var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&ready, 1, -1)
                    continue
                // There is nowhere left to report it; the exit status tells.
                case _ where descriptor != STDOUT_FILENO: return
                // The event loops ignore SIGPIPE, since a broken connection must not end the program.
                case .noReader: TerminalSession.endProcess(by: SIGPIPE)
                case .hangUp where hangUp(): return
                case .hangUp, .failure:
                    complain("parley: standard output cannot be written: \(String(cString: strerror(error)))")
                    exit(CommandStatus.cannotCreate.rawValue)
                }
            }
            bytes = bytes.dropFirst(count)
        }
    }
}

extension MessageValue {
    init(_ text: String?) { self = text.map { .string($0) } ?? .null }
    init(_ number: Int?) { self = number.map { .int(Int64($0)) } ?? .null }
    init(_ texts: [String]) { self = .array(texts.map { .string($0) }) }
}
