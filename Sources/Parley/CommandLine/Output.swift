import Platform
import Relay
import RelayNetwork
import Terminal

/// What commands print: lines on standard output, complaints on standard error, written at once and in full.
enum Output {
    /// Prints a line. A reader that has gone away ends the program without a word, as it does with every filter.
    static func line(_ text: String) {
        write(Array((text + "\n").utf8)[...], to: STDOUT_FILENO)
    }

    /// Prints whole lines at once, each with its end; none are left.
    static func lines(_ text: inout [UInt8]) {
        write(text[...], to: STDOUT_FILENO)
        text.removeAll(keepingCapacity: true)
    }

    /// Prints one JSON object.
    static func json(_ map: MessageMap) { line(JSONText.text(.map(map))) }

    /// Prints one JSON object of two parts.
    static func json(_ map: MessageMap, _ more: MessageMap) { json(MessageMap(map.entries + more.entries)) }

    /// Says something on standard error. It may hold a server's or another user's words, so it moves no cursor.
    static func complain(_ text: String) {
        write(Array((safeLines(text).joined(separator: "\n") + "\n").utf8)[...], to: STDERR_FILENO)
    }

    /// Says something of the program's own on standard error, in a line that goes on.
    static func prompt(_ text: String) { write(Array(text.utf8)[...], to: STDERR_FILENO) }

    /// Remote text for a person: whatever it holds, it moves no cursor and reorders no line.
    static func safe(_ text: String) -> String {
        isPlain(text) ? text : SafeText(text).description
    }

    /// Whether a text is one line of ASCII's printable characters, as most are: it needs no look at its characters.
    private static func isPlain(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { $0.allSatisfy { $0 >= 0x20 && $0 < 0x7F } }
    }

    /// A name that its bearer chose, told apart from others that look like it.
    static func name(_ name: String) -> String {
        isPlain(name) && !name.utf8.contains(UInt8(ascii: " "))
            ? name : SafeText(name: name, limit: name.count).description
    }

    /// As `safe`, with the text's own line breaks kept.
    static func safeLines(_ text: String) -> [String] { SafeText.lines(text).map(\.description) }

    /// As `safe`, for a text with something before it on its first line: a text of several lines goes on below,
    /// indented, so that each entry begins at the left edge and nothing in a text can look like another entry.
    static func indented(_ text: String) -> String {
        isPlain(text) ? text : safeLines(text).joined(separator: "\n    ")
    }

    /// Whether standard output is a terminal whose person has not asked for plain text.
    static var isColored: Bool {
        guard isatty(STDOUT_FILENO) == 1 else { return false }
        return getenv("NO_COLOR").map { $0.pointee == 0 } ?? true
    }

    /// Why something could not be written.
    enum Trouble: Hashable {
        /// It can be tried again at once.
        case passing
        /// It can be tried again when the reader has taken something.
        case full
        case noReader
        /// The terminal is gone, before or after the signal that says so.
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

    /// Takes a terminal that is gone for the signal: whoever watches ends the program, else that is done here. False
    /// where the program is to outlive its terminal.
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
                // Nobody is told where nobody can be; the exit status will say how it went.
                case _ where descriptor != STDOUT_FILENO: return
                // The event loops ignore the signal that ends a filter, since a broken connection is no reason to end.
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
    /// Text, or JSON's null.
    init(_ text: String?) { self = text.map { .string($0) } ?? .null }
    /// A number, or JSON's null.
    init(_ number: Int?) { self = number.map { .int(Int64($0)) } ?? .null }
    /// A list of texts.
    init(_ texts: [String]) { self = .array(texts.map { .string($0) }) }
}
