import Platform

enum StandardInput {
    /// The entire input, without trailing line breaks.
    static func all() throws(CommandFailure) -> String {
        var reader = LineReader()
        var text = try TextInput.text(of: reader.all())
        while let last = text.last, last == "\n" || last == "\r\n" || last == "\r" { text.removeLast() }
        return text
    }
}

/// Detects a terminal whose window was closed, which may show before or after the signal arrives.
enum ClosedTerminal {
    /// Whether a descriptor is a character device, such as a terminal. `isatty` fails for a terminal that is gone.
    static func isCharacterDevice(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR
    }

    static func means(_ error: Int32, of descriptor: Int32) -> Bool { error == EIO && isCharacterDevice(descriptor) }

    /// Whether the input ended because its terminal is gone.
    static func isHungUp(_ descriptor: Int32) -> Bool {
        guard isCharacterDevice(descriptor) else { return false }
        var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&state, 1, 0) > 0 && state.revents & Int16(POLLHUP) != 0
    }
}

extension CommandFailure {
    /// The terminal is gone; the status is SIGHUP's.
    static let hangUp = CommandFailure(.hangUp, "The terminal is gone.")
}

/// Reads lines as they arrive, returning those available at once together.
struct LineReader {
    private let descriptor: Int32
    private let limit: Int
    /// The bytes after the last line break.
    private var rest: [UInt8] = []
    private var hasEnded = false
    /// The number of lines returned, for error messages.
    private var count = 0
    /// Thrown once the lines before it were returned.
    private var failure: CommandFailure?
    /// Whether ``next()`` still has to skip the rest of a line refused for its length.
    private(set) var isInLongLine = false

    /// The bytes read at once. A line may exceed the limit by as many.
    static let portion = 64 << 10

    /// - Parameter limit: the longest line in bytes; the default is far more than any network takes.
    init(_ descriptor: Int32 = STDIN_FILENO, limit: Int = 64 << 20) {
        self.descriptor = descriptor
        self.limit = limit
    }

    mutating func all() throws(CommandFailure) -> [UInt8] {
        while !hasEnded {
            try fill()
            guard rest.count <= limit else {
                throw CommandFailure(.badData, "The input is longer than \(limit) bytes.")
            }
        }
        defer { rest = [] }
        return rest
    }

    /// The next lines without their line breaks, at least one; nil at the end. Lines before an invalid one are returned
    /// first. After one that is too long, reading may continue.
    mutating func next() throws(CommandFailure) -> [String]? {
        if let failure { throw failure }
        while !hasEnded {
            var searched = rest.count
            try fill()
            if isInLongLine {
                let end = rest.firstIndex(of: UInt8(ascii: "\n"))
                rest.removeFirst(end.map { $0 + 1 } ?? rest.count)
                isInLongLine = end == nil
                searched = 0
            }
            if let end = rest[searched...].lastIndex(of: UInt8(ascii: "\n")) {
                let lines = try self.lines(rest[..<end])
                rest.removeSubrange(...end)
                return lines
            }
            guard rest.count <= limit else {
                count += 1
                rest = []
                isInLongLine = true
                throw CommandFailure(
                    .badData,
                    "Line \(count) of the input is longer than \(Wording.grouped(limit)) bytes.")
            }
        }
        guard !rest.isEmpty else { return nil }
        defer { rest = [] }
        return try lines(rest[...])
    }

    private mutating func fill() throws(CommandFailure) {
        while true {
            let count = withUnsafeTemporaryAllocation(byteCount: Self.portion, alignment: 1) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count > 0 { rest += buffer[..<count] }
                return count
            }
            if count > 0 { return }
            let error = count == 0 ? 0 : errno
            if error == EINTR { continue }
            // A terminal that is gone may look like an end of input.
            if error == 0 ? ClosedTerminal.isHungUp(descriptor) : ClosedTerminal.means(error, of: descriptor) {
                throw .hangUp
            }
            guard error == 0 else {
                throw CommandFailure(
                    .badData, "The input cannot be read: \(String(cString: strerror(error))).")
            }
            hasEnded = true
            return
        }
    }

    /// The lines in these bytes, up to the first that is not text, which the next call reports.
    private mutating func lines(_ bytes: ArraySlice<UInt8>) throws(CommandFailure) -> [String] {
        let mark = count == 0 ? TextInput.markLength(bytes) : 0
        let found = bytes.withUnsafeBytes { bytes -> [String] in
            var lines: [String] = []
            var start = mark
            while true {
                var end = bytes.count
                if let begin = bytes.baseAddress, start < end,
                    let found = memchr(begin + start, Int32(UInt8(ascii: "\n")), end - start)
                {
                    end = UnsafeRawPointer(found) - begin
                }
                let hasReturn = end > start && bytes[end - 1] == UInt8(ascii: "\r")
                let line = UnsafeRawBufferPointer(rebasing: bytes[start..<(hasReturn ? end - 1 : end)])
                count += 1
                guard let text = String(validating: line, as: UTF8.self) else {
                    // A byte order mark counts as part of its line.
                    let before = start == mark ? mark : 0
                    failure = TextInput.notUTF8(line) { TextInput.place(line: count, byte: before + $0 + 1) }
                    return lines
                }
                lines.append(text)
                guard end < bytes.count else { return lines }
                start = end + 1
            }
        }
        if found.isEmpty, let failure { throw failure }
        return found
    }
}
