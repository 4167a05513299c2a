import Platform
import Relay
import RelayNetwork

/// A letter's text in a file that only its owner can read.
enum LetterFile {
    /// A file name for a letter, made of characters that are special to no shell or file system.
    ///
    /// - Parameters:
    ///   - person: the sender or recipient; nil if unknown.
    ///   - time: when the letter was stored.
    static func name(of person: String?, at time: Timestamp) -> String {
        func plain(_ text: String) -> String {
            String(
                text.unicodeScalars.map {
                    $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil) ? Character($0) : "-"
                })
        }
        let name = plain(String((person ?? "").prefix(64)))
        return "letter-\(plain(time.iso8601))-\(name.isEmpty ? "unknown" : name).txt"
    }

    enum Outcome: Equatable, Sendable {
        case saved(path: String)
        /// Nothing was written, since the file already exists.
        case isThere(text: String, path: String)
        case failed(String)
    }

    /// Writes a text to a file; `~/` is the home folder. An existing file is replaced atomically.
    static func save(_ text: String, to path: String, overwrites: Bool) -> Outcome {
        let path = UserFolders.expanded(path, ProcessInfo.processInfo.environment)
        do throws(CommandFailure) {
            if overwrites { try replace(path, with: text) } else { try InboxSaveCommand.write(text, to: path) }
            return .saved(path: path)
        } catch {
            return !overwrites && isFile(path) ? .isThere(text: text, path: path) : .failed("\(error.text).")
        }
    }

    private static func replace(_ path: String, with text: String) throws(CommandFailure) {
        let new = "\(path).\(ProcessInfo.processInfo.processIdentifier).new"
        try InboxSaveCommand.write(text, to: new)
        guard rename(new, path) == 0 else {
            let words = String(cString: strerror(errno))
            unlink(new)
            throw CommandFailure(.cannotCreate, "\(path): \(words)")
        }
    }

    /// Whether it is a regular file; a symbolic link is not.
    private static func isFile(_ path: String) -> Bool {
        let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        return type == .typeRegular
    }
}
