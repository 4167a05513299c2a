import JSON5

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
        let document: JSON5Document<ConfigurationFile>
        do throws(JSON5Outline.Mistake) { document = try JSON5Document(data) } catch {
            throw ConfigurationFile.failure("\(path):\(error.place): \(error.words)")
        }
        self.init(path: path, file: document.value, outline: document.outline)
    }
}
