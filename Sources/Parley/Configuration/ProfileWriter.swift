import Platform
import Relay
import RelayNetwork

/// Adds profiles to the configuration file, and leaves the rest as the user wrote it.
struct ProfileWriter {
    private let path: String
    private let text: Data?
    private let source: ConfigurationSource

    /// Reads the file, which need not exist yet.
    init(flag: String?, _ environment: [String: String]) throws(CommandFailure) {
        source = try ConfigurationSource(flag: flag, environment)
        path = source.path
        text = source.outline == nil ? nil : FileManager.default.contents(atPath: path)
    }

    /// An unused profile name: the requested one, or else the first suitable one.
    static func name(_ asked: String?, _ suitable: [String], taken: Set<String>) throws(CommandFailure) -> String {
        let names = (asked.map { [$0] } ?? suitable).filter(isName)
        if let name = names.first(where: { !taken.contains($0) }) { return name }
        guard let first = names.first else {
            throw CommandFailure(
                .usage, "A profile's name has 1 to 64 letters, digits, dots, dashes, underscores and @.")
        }
        throw CommandFailure(
            .usage, "There is a profile “\(first)” already: choose another name with --profile.")
    }

    /// A name that is unused in the file.
    func name(_ asked: String?, _ suitable: [String]) throws(CommandFailure) -> String {
        try Self.name(asked, suitable, taken: Set(source.file.profiles.keys))
    }

    /// Whether a text is valid as the name of a profile and a folder.
    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.first != "." && text.first != "-"
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_@".contains($0)) }
    }

    func adding(_ name: String, _ profile: MessageMap) throws(CommandFailure) -> [UInt8] {
        let member = "\(JSONText.text(.string(name))): \(JSONText.text(.map(profile), spaced: true))"
        var whole: [UInt8]? = Array("{\n    \"profiles\": {\n        \(member)\n    }\n}\n".utf8)
        if let outline = source.outline {
            whole =
                outline.holds(["profiles"])
                ? outline.inserting(member, into: ["profiles"])
                : outline.inserting("\"profiles\": { \(member) }", into: [])
        }
        // What is written can be read again.
        guard let whole, try ConfigurationSource(Data(whole), path: path).file.profiles[name] != nil else {
            throw ConfigurationFile.failure("\(path): no profile can be added.")
        }
        return whole
    }

    func profile(_ name: String) -> Profile? { source.file.profiles[name] }

    func replacing(_ path: [String], _ value: MessageValue) throws(CommandFailure) -> [UInt8] {
        guard let whole = source.outline?.replacing(path, by: JSONText.text(value, spaced: true)) else {
            throw ConfigurationFile.failure("\(self.path) has no \(path.joined(separator: ".")).")
        }
        // What is written can be read again.
        _ = try ConfigurationSource(Data(whole), path: self.path)
        return whole
    }

    /// Writes the text, unless the file has changed since it was read.
    func write(_ whole: [UInt8]) throws(CommandFailure) {
        guard FileManager.default.contents(atPath: path) == text else {
            throw CommandFailure(.cannotCreate, "\(path) was changed meanwhile: try again.")
        }
        if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
            try? FileManager.default.createDirectory(
                atPath: String(path[..<slash]), withIntermediateDirectories: true)
        }
        // Writes to a link's target, and keeps its mode.
        let target = realpath(path, nil)
        defer { free(target) }
        let file = target.map { String(cString: $0) } ?? path
        var status = stat()
        let mode = stat(file, &status) == 0 ? status.st_mode & 0o777 : 0o600
        do throws(NetworkError) { try PrivateFile.write(whole, to: file) } catch { throw CommandFailure(error) }
        chmod(file, mode)
    }
}
