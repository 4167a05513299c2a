import JSON5
import Platform
import RelayNetwork

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
    /// Topics to join at each start, for profiles that do not say it themselves.
    var join: TopicList?
    /// Topics that are muted, for profiles that do not say it themselves.
    var mutes: TopicList?
    /// Words that call for the person, for profiles that do not say it themselves.
    var highlights: Highlights?
    /// What rings the bell, for profiles that do not say it themselves.
    var bell: BellSetting?
    /// Of what the person is notified, and by what, for profiles that do not say it themselves.
    var notifications: NotificationSetting?
    /// Whether typing is told and shown, for profiles that do not say it themselves.
    var typing: Bool?
    /// How long somebody may do nothing until they count as away, for profiles that do not say it themselves.
    var idleAfter: IdleSetting?
    /// How much unread of a topic out of view is followed, for profiles that do not say it themselves.
    var followUnread: FollowingSetting?
    /// Whether letters are followed while no letter is in view.
    var followLetters: Bool?
    /// The measures of the screen.
    var layout: LayoutSetting?
    /// What keys stand for.
    var keys: KeySetting?
    /// Whether the terminal is told where links lead.
    var links: LinkSetting?

    /// All settings; ``Setting`` explains each of them.
    enum CodingKeys: String, CodingKey, CaseIterable {
        case profiles, retention, theme, symbols, join, mutes, highlights, bell, notifications, typing
        case idleAfter, followUnread, followLetters, layout, keys, links
    }

    /// No settings.
    init() {}

    init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: CodingKeys.allCases.map(\.rawValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        profiles = try values.decodeIfPresent([String: Profile].self, forKey: .profiles) ?? [:]
        retention = try values.decodeIfPresent(RetentionSetting.self, forKey: .retention)
        theme = try values.decodeIfPresent(ThemeSetting.self, forKey: .theme)
        symbols = try values.decodeIfPresent(SymbolSetting.self, forKey: .symbols)
        join = try values.decodeIfPresent(TopicList.self, forKey: .join)
        mutes = try values.decodeIfPresent(TopicList.self, forKey: .mutes)
        highlights = try values.decodeIfPresent(Highlights.self, forKey: .highlights)
        bell = try values.decodeIfPresent(BellSetting.self, forKey: .bell)
        notifications = try values.decodeIfPresent(NotificationSetting.self, forKey: .notifications)
        typing = try values.decodeIfPresent(Bool.self, forKey: .typing)
        idleAfter = try values.decodeIfPresent(IdleSetting.self, forKey: .idleAfter)
        followUnread = try values.decodeIfPresent(FollowingSetting.self, forKey: .followUnread)
        followLetters = try values.decodeIfPresent(Bool.self, forKey: .followLetters)
        layout = try values.decodeIfPresent(LayoutSetting.self, forKey: .layout)
        keys = try values.decodeIfPresent(KeySetting.self, forKey: .keys)
        links = try values.decodeIfPresent(LinkSetting.self, forKey: .links)
    }

    /// What the file that the flag, else the environment, else the standard place names says.
    static func load(flag: String?, _ environment: [String: String]) throws(CommandFailure) -> ConfigurationFile {
        try ConfigurationSource(flag: flag, environment).file
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
        if let named { return (UserFolders.expanded(named, environment), true) }
        let path = (UserFolders.configuration.path(environment) ?? "") + "/parley/config.json"
        // It is JSON5, and may be called so.
        let found = [path, path + "5"].first { FileManager.default.fileExists(atPath: $0) }
        return (found ?? path, false)
    }

    static func failure(_ text: String) -> CommandFailure {
        CommandFailure(CommandFailure.badConfiguration, text)
    }
}
