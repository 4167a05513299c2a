#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A configuration file that was read, with the place of everything in it.
struct ConfigurationSource: Sendable {
    /// Where the file is, or would be.
    let path: String
    /// What it says.
    let file: ConfigurationFile
    /// Where it says so; nil where there is no file.
    let outline: JSON5Outline?

    /// Larger files are no configuration.
    private static let maximumBytes = 1 << 20

    /// Reads the file that the flag, else the environment, else the standard place names. Only the last may be absent.
    ///
    /// - Throws: `CommandFailure` that names the mistake with file, line and column.
    init(flag: String?, _ environment: [String: String]) throws(CommandFailure) {
        let (path, isNamed) = ConfigurationFile.place(flag: flag, environment)
        guard let data = FileManager.default.contents(atPath: path) else {
            guard !isNamed, !FileManager.default.fileExists(atPath: path) else {
                throw ConfigurationFile.failure("\(path) cannot be read.")
            }
            self.init(path: path, file: ConfigurationFile(), outline: nil)
            return
        }
        try self.init(data, path: path)
    }

    private init(path: String, file: ConfigurationFile, outline: JSON5Outline?) {
        self.path = path
        self.file = file
        self.outline = outline
    }

    /// Understands a file's content.
    ///
    /// - Parameter path: what a mistake calls it.
    init(_ data: Data, path: String) throws(CommandFailure) {
        guard data.count <= Self.maximumBytes else {
            throw ConfigurationFile.failure("\(path) is too large to be a configuration.")
        }
        let outline: JSON5Outline
        do throws(JSON5Outline.Mistake) { outline = try JSON5Outline(Array(data)) } catch {
            throw ConfigurationFile.failure("\(path):\(error.place): \(error.words)")
        }
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        let file: ConfigurationFile
        do { file = try decoder.decode(ConfigurationFile.self, from: data) } catch {
            let mistake = Self.mistake(error)
            let place = outline.place(of: mistake.path, isKey: mistake.isKey)
            throw ConfigurationFile.failure("\(path):\(place): \(mistake.words)")
        }
        self.init(path: path, file: file, outline: outline)
    }

    // MARK: Mistakes

    /// What and where, without the type names of the decoder.
    private static func mistake(_ error: any Error) -> SettingMistake {
        switch error {
        case let mistake as SettingMistake:
            let object = mistake.isKey ? Array(mistake.path.dropLast()) : mistake.path
            return SettingMistake(mistake.path, isKey: mistake.isKey, said(object, mistake.words))
        case DecodingError.dataCorrupted(let found), DecodingError.keyNotFound(_, let found):
            return SettingMistake(found.codingPath, said(found.codingPath, found.debugDescription))
        case DecodingError.typeMismatch(let type, let found):
            let name = name(found.codingPath)
            return SettingMistake(found.codingPath, "\(name.isEmpty ? "this" : name) is not \(article(type))")
        case DecodingError.valueNotFound(_, let found):
            return SettingMistake(found.codingPath, said(found.codingPath, "null is no value here; leave it out"))
        default: return SettingMistake([], "it cannot be understood (\(error))")
        }
    }

    private static func said(_ path: [any CodingKey], _ words: String) -> String {
        let name = name(path)
        return name.isEmpty ? words : "\(name): \(words)"
    }

    private static func name(_ path: [any CodingKey]) -> String {
        path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }

    private static func article(_ type: Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Double.Type: "a number"
        case is Bool.Type: "true or false"
        case is [String].Type, is [Any].Type: "a list"
        default: "an object"
        }
    }
}
