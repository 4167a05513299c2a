import JSON5
import Relay

/// The settings of the interactive client, which may change while it runs.
struct ChatSettings: Hashable, Sendable {
    var join: [String]
    var mutes: [TopicPattern]
    /// Words that mention the user, as their name does.
    var highlights: [String]
    var bell: BellSetting
    var notifications: NotificationSetting
    var typing: Bool
    /// Nil for never.
    var idleTime: Duration?
    /// Nil for all.
    var followedUnread: Int?
    var followsLetters: Bool
    var layout: LayoutSetting
    var keys: KeyMap
    var theme: ThemeSetting
    var symbols: SymbolSetting
    var links: LinkSetting

    /// The settings of a profile's user; without a file, the defaults.
    init(_ file: ConfigurationFile = ConfigurationFile(), _ profile: Profile = Profile()) {
        let shared = profile.shared.filled(from: file.shared)
        join = shared.join?.map(\.text) ?? []
        mutes = shared.mutes ?? []
        highlights = shared.highlights ?? []
        bell = shared.bell ?? .mentions
        notifications = shared.notifications ?? NotificationSetting()
        typing = shared.typing ?? true
        idleTime = shared.idleAfter.flatMap { $0 > 0 ? .seconds($0) : nil }
        followedUnread = shared.followUnread.flatMap { $0 > 0 ? $0 : nil }
        followsLetters = shared.followLetters ?? true
        layout = file.layout
        keys = file.keys?.map ?? .standard
        theme = shared.theme ?? .auto
        symbols = shared.symbols ?? .auto
        links = file.links
    }
}

/// What rings the terminal's bell.
enum BellSetting: String, CaseIterable, Hashable, Sendable, Decodable {
    /// Mentions and new letters, while the user is not looking.
    case mentions
    case nothing = "none"

    init(from decoder: any Decoder) throws { self = try Self.named(in: decoder, kind: "setting of the bell") }
}

struct LayoutSetting: Hashable, Sendable {
    /// The sidebar's width in columns; 0 hides it until asked for; nil chooses by the screen's width.
    var sidebar: Int?

    var foldsSidebar: Bool { sidebar == 0 }
}

extension LayoutSetting: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable { case sidebar }

    init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: CodingKeys.allCases.map(\.rawValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        sidebar = try values.number(.sidebar, "it takes a number of columns from 8 to 60, or 0") {
            Int(exactly: $0).flatMap { $0 == 0 || (8...60).contains($0) ? $0 : nil }
        }
    }
}
