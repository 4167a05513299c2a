import JSON5
import Platform
import RelayNetwork

/// The configuration file: JSON5, so it may hold comments and trailing commas.
///
///     { profiles: { work: { servers: ["tls://chat.example.org"], creds: "~/work.creds" } } }
struct ConfigurationFile: Hashable, Sendable {
    /// Profiles by name; `default` is used when none is named.
    var profiles: [String: Profile] = [:]
    /// The top-level settings, for profiles that do not override them.
    var shared = SharedSettings()
    var layout = LayoutSetting()
    var keys: KeySetting?
    var links = LinkSetting.auto

    /// The named profile; without a name `default`, or an empty one.
    func profile(_ name: String?) throws(CommandFailure) -> Profile {
        guard let name else { return profiles["default"] ?? Profile() }
        guard let profile = profiles[name] else {
            let known = profiles.keys.sorted().joined(separator: ", ")
            throw Self.failure(
                "There is no profile “\(name)” in the configuration" + (known.isEmpty ? "." : "; there are: \(known)."))
        }
        return profile
    }

    /// The file's path, and whether it was named explicitly.
    static func place(flag: String?, _ environment: [String: String]) -> (path: String, isNamed: Bool) {
        let named = flag ?? environment["PARLEY_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        if let named { return (UserFolders.expanded(named, environment), true) }
        let path = (UserFolders.configuration.path(environment) ?? "") + "/parley/config.json"
        // Also found as `config.json5`.
        let found = [path, path + "5"].first { FileManager.default.fileExists(atPath: $0) }
        return (found ?? path, false)
    }

    static func failure(_ text: String) -> CommandFailure { CommandFailure(.badConfiguration, text) }
}

extension ConfigurationFile: Decodable {
    /// All settings; ``DefaultConfiguration`` explains each of them.
    enum CodingKeys: String, CodingKey, CaseIterable {
        case profiles, retention, theme, symbols, join, mutes, highlights, bell, notifications, typing
        case idleAfter, followUnread, followLetters, links, layout, keys
    }

    init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: CodingKeys.allCases.map(\.rawValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        profiles = try values.decodeIfPresent([String: Profile].self, forKey: .profiles) ?? [:]
        shared = try SharedSettings(from: decoder)
        layout = try values.decodeIfPresent(LayoutSetting.self, forKey: .layout) ?? LayoutSetting()
        keys = try values.decodeIfPresent(KeySetting.self, forKey: .keys)
        links = try values.decodeIfPresent(LinkSetting.self, forKey: .links) ?? .auto
    }
}
