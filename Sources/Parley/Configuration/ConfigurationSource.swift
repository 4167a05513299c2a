import JSON5
import Platform
import Relay
import RelayNetwork

/// A parsed configuration file with the places of its settings.
struct ConfigurationSource: Sendable {
    /// The path of the file, which may be absent.
    let path: String
    let file: ConfigurationFile
    /// The places of the settings; nil if there is no file.
    let outline: JSON5Outline?

    private static let maximumBytes = 1 << 20
}

extension ConfigurationSource {
    /// Reads the file named by the flag, or else the environment, or else the default path; only the last may be
    /// absent. Errors name the file, line and column.
    init(flag: String?, _ environment: [String: String]) throws(CommandFailure) {
        let (path, isNamed) = ConfigurationFile.place(flag: flag, environment)
        if let data = FileManager.default.contents(atPath: path) {
            try self.init(data, path: path)
        } else if isNamed || FileManager.default.fileExists(atPath: path) {
            throw ConfigurationFile.failure("\(path) cannot be read.")
        } else {
            self.init(path: path, file: ConfigurationFile(), outline: nil)
        }
    }

    /// Parses a file's content; `path` is for error messages.
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

    /// Checks the files that the profiles name. Throws for the first that is missing or unusable, with the place of its
    /// setting.
    func checkFiles(_ environment: [String: String]) throws(CommandFailure) {
        for (name, profile) in file.profiles.sorted(by: { $0.key < $1.key }) {
            func failure(_ key: Profile.CodingKeys, _ words: String) -> CommandFailure {
                let keys: [any CodingKey] = [PathKey("profiles"), PathKey(name), key]
                let place = outline.map { ":\($0.place(of: keys))" } ?? ""
                return ConfigurationFile.failure("\(path)\(place): profiles.\(name).\(key.rawValue): \(words)")
            }
            do { try profile.tls(environment)?.check() } catch {
                let words = "\(error)"
                let named: [(Profile.CodingKeys, String?)] = [
                    (.tlsKey, profile.tlsKey), (.tlsCertificate, profile.tlsCertificate),
                    (.tlsAuthority, profile.tlsAuthority),
                ]
                let key = named.first { $0.1.map { words.contains($0.drop { $0 == "~" }) } ?? false }?.0
                throw failure(key ?? .tlsCertificate, words)
            }
            if profile.servers.isEmpty {
                if profile.creds != nil { throw failure(.creds, Profile.needsServers) }
                guard profile.tokenCommand != nil else { continue }
                let key = Profile.CodingKeys.tokenCommand
                let isSnake = outline?.holds(["profiles", name, key.rawValue]) == false
                throw failure(isSnake ? .tokenCommandInSnakeCase : key, Profile.needsServers)
            }
            guard let creds = profile.creds else { continue }
            do throws(RelayError) { _ = try RelayCredentials.file(UserFolders.expanded(creds, environment)) } catch {
                throw failure(.creds, error.words)
            }
        }
    }
}
