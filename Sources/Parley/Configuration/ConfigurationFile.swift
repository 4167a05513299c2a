#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The configuration file: JSON5, so it may hold comments and trailing commas.
///
///     { profiles: { work: { servers: ["tls://chat.example.org"], creds: "~/work.creds" } } }
struct ConfigurationFile: Hashable, Sendable, Decodable {
    /// Profiles by name; `default` is used when none is named.
    var profiles: [String: Profile] = [:]
    /// How long messages stay in the local store, for profiles that do not say it themselves.
    var retention: RetentionSetting?
    /// How the screen is coloured, for profiles that do not say it themselves.
    var theme: ThemeSetting?
    /// Which characters the screen is drawn with, for profiles that do not say it themselves.
    var symbols: SymbolSetting?

    private enum CodingKeys: String, CodingKey, CaseIterable { case profiles, retention, theme, symbols }

    /// No profiles.
    init() {}

    init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: CodingKeys.allCases.map(\.rawValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        profiles = try values.decodeIfPresent([String: Profile].self, forKey: .profiles) ?? [:]
        retention = try values.decodeIfPresent(RetentionSetting.self, forKey: .retention)
        theme = try values.decodeIfPresent(ThemeSetting.self, forKey: .theme)
        symbols = try values.decodeIfPresent(SymbolSetting.self, forKey: .symbols)
    }

    /// Larger files are no configuration.
    private static let maximumBytes = 1 << 20

    /// Reads the file that the flag, else the environment, else the standard place names. Only the last may be absent.
    static func load(flag: String?, _ environment: [String: String]) throws(CommandFailure) -> ConfigurationFile {
        let (path, isNamed) = place(flag: flag, environment)
        guard let data = FileManager.default.contents(atPath: path) else {
            if !isNamed, !FileManager.default.fileExists(atPath: path) { return ConfigurationFile() }
            throw failure("\(path) cannot be read.")
        }
        guard data.count <= maximumBytes else { throw failure("\(path) is too large to be a configuration.") }
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        do {
            return try decoder.decode(ConfigurationFile.self, from: data)
        } catch {
            throw failure("\(path): \(words(error))")
        }
    }

    /// The profile of this name; without a name the one called `default`, or an empty one.
    func profile(_ name: String?) throws(CommandFailure) -> Profile {
        guard let name else { return profiles["default"] ?? Profile() }
        guard let profile = profiles[name] else {
            let known = profiles.keys.sorted().joined(separator: ", ")
            throw Self.failure(
                "There is no profile “\(name)” in the configuration" + (known.isEmpty ? "." : "; there are: \(known)."))
        }
        return profile
    }

    /// Where the file is, and whether it was named explicitly.
    static func place(flag: String?, _ environment: [String: String]) -> (path: String, isNamed: Bool) {
        let named = flag ?? environment["PARLEY_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        return (named ?? standardPath(environment), named != nil)
    }

    private static func standardPath(_ environment: [String: String]) -> String {
        if let home = environment["XDG_CONFIG_HOME"], home.hasPrefix("/") { return home + "/parley/config.json" }
        return (environment["HOME"] ?? "") + "/.config/parley/config.json"
    }

    private static func failure(_ text: String) -> CommandFailure {
        CommandFailure(CommandFailure.badConfiguration, text)
    }

    /// Where and what, without the type names of the decoder.
    private static func words(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let context: DecodingError.Context
        switch error {
        case .dataCorrupted(let found): context = found
        case .keyNotFound(_, let found): context = found
        case .typeMismatch(let type, let found):
            return "\(place(found)) is not \(article(type))."
        case .valueNotFound(_, let found): context = found
        @unknown default: return "it cannot be understood."
        }
        let place = place(context)
        let detail = (context.underlyingError as? any CustomStringConvertible).map { " (\($0))" } ?? ""
        return (place.isEmpty ? "" : place + ": ") + context.debugDescription + detail
    }

    private static func place(_ context: DecodingError.Context) -> String {
        context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }

    private static func article(_ type: Any.Type) -> String {
        switch type {
        case is String.Type: return "a text"
        case is Double.Type: return "a number"
        case is Bool.Type: return "true or false"
        case is [String].Type, is [Any].Type: return "a list"
        default: return "an object"
        }
    }
}
