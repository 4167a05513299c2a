import JSON5
import Relay

/// What of the configuration the interactive client goes by. Another value can take its place while it runs.
struct ChatSettings: Hashable, Sendable {
    /// Topics and patterns that are joined at each start, behind those that were joined before.
    var join: [String] = []
    /// Topics whose messages are counted nowhere but beside their names, and ring no bell.
    var mutes: [TopicPattern] = []
    /// Words that call the person as their name does.
    var highlights = Highlights()
    /// What rings the bell.
    var bell = BellSetting.mentions
    /// Of what the person is notified while they look elsewhere.
    var notifications = NotificationSetting()
    /// Whether others are told that the person types, and the person that others do.
    var typing = true
    /// How long somebody may do nothing until they count as away; nil for ever.
    var idleTime: Duration?
    /// How many unread messages of a topic out of view are followed; nil for all.
    var followedUnread: Int?
    /// Whether letters are followed while none of them is in view.
    var followsLetters = true
    /// The measures of the screen.
    var layout = LayoutSetting()
    /// Which keys stand for what.
    var keys = KeyMap.standard
    /// How the screen is coloured.
    var theme = ThemeSetting.auto
    /// Which characters it is drawn with.
    var symbols = SymbolSetting.auto
    /// Whether the terminal is told where links lead.
    var links = LinkSetting.auto

    /// Nothing but what counts without a configuration.
    init() {}

    /// What a file says to the user of a profile.
    init(_ file: ConfigurationFile, _ profile: Profile) {
        join = (profile.join ?? file.join)?.patterns.map(\.text) ?? []
        mutes = (profile.mutes ?? file.mutes)?.patterns ?? []
        highlights = profile.highlights ?? file.highlights ?? Highlights()
        bell = profile.bell ?? file.bell ?? .mentions
        notifications = profile.notifications ?? file.notifications ?? NotificationSetting()
        typing = profile.typing ?? file.typing ?? true
        idleTime = (profile.idleAfter ?? file.idleAfter)?.time
        followsLetters = profile.followLetters ?? file.followLetters ?? true
        followedUnread = (profile.followUnread ?? file.followUnread)?.limit
        layout = file.layout ?? LayoutSetting()
        keys = file.keys?.map ?? .standard
        links = file.links ?? .auto
        theme = profile.theme ?? file.theme ?? .auto
        symbols = profile.symbols ?? file.symbols ?? .auto
    }
}

/// What rings the terminal's bell, as the configuration file has it.
enum BellSetting: String, CaseIterable, Hashable, Sendable, Decodable {
    /// Lines that call the person, and new letters, while they are not looking.
    case mentions
    case nothing = "none"

    init(from decoder: any Decoder) throws { self = try Self.named(in: decoder, kind: "setting of the bell") }
}

/// Topics and patterns, as a setting lists them.
struct TopicList: Hashable, Sendable, Decodable {
    let patterns: [TopicPattern]

    /// Most entries of a list.
    static let maximumCount = 100

    init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        var patterns: [TopicPattern] = []
        while !values.isAtEnd {
            let path = decoder.codingPath + [PathKey(values.currentIndex)]
            let text = try values.decode(String.self)
            guard patterns.count < Self.maximumCount else {
                throw SettingMistake(path, "there are more than \(Self.maximumCount) entries")
            }
            do throws(TopicError) { patterns.append(try TopicPattern(text)) } catch {
                throw SettingMistake(path, "\(error)")
            }
        }
        self.patterns = patterns
    }
}

/// Words that call for the person.
struct Highlights: Hashable, Sendable, Decodable {
    /// The words as they were written.
    let words: [String]

    /// Most words.
    static let maximumCount = 100

    init(_ words: [String] = []) { self.words = words }

    init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        var words: [String] = []
        while !values.isAtEnd {
            let path = decoder.codingPath + [PathKey(values.currentIndex)]
            let word = try values.decode(String.self)
            guard word.contains(where: { !$0.isWhitespace }), word.count <= 64 else {
                throw SettingMistake(path, "it takes a word or a few, 64 characters at most")
            }
            guard words.count < Self.maximumCount else {
                throw SettingMistake(path, "there are more than \(Self.maximumCount) words")
            }
            words.append(word)
        }
        self.init(words)
    }
}

/// The measures of the screen, as far as they are the person's choice.
struct LayoutSetting: Hashable, Sendable, Decodable {
    /// Columns of the sidebar; 0 shows it only when it is asked for; nil for what suits the screen.
    var sidebar: Int?

    /// Fewest and most columns of a sidebar that stays.
    static let sidebarColumns = 8...60

    /// Whether the sidebar is folded away at first.
    var foldsSidebar: Bool { sidebar == 0 }

    enum CodingKeys: String, CodingKey, CaseIterable { case sidebar }

    init(sidebar: Int? = nil) { self.sidebar = sidebar }

    init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: CodingKeys.allCases.map(\.rawValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        guard let columns = try values.decodeIfPresent(Double.self, forKey: .sidebar) else { return }
        guard let whole = Int(exactly: columns), whole == 0 || Self.sidebarColumns.contains(whole) else {
            throw SettingMistake(
                values.codingPath + [CodingKeys.sidebar],
                "it takes a number of columns from \(Self.sidebarColumns.lowerBound) to "
                    + "\(Self.sidebarColumns.upperBound), or 0")
        }
        sidebar = whole
    }
}
