import JSON5
import Relay

/// The part of the configuration that the interactive client follows, and that may change while it runs.
struct ChatSettings: Hashable, Sendable {
    var join: [String]
    var mutes: [TopicPattern]
    var highlights: Highlights
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
        join = shared.join?.patterns.map(\.text) ?? []
        mutes = shared.mutes?.patterns ?? []
        highlights = shared.highlights ?? Highlights()
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
    /// Lines that mention the person, and new letters, while they are not looking.
    case mentions
    case nothing = "none"

    init(from decoder: any Decoder) throws { self = try Self.named(in: decoder, kind: "setting of the bell") }
}

/// Topics and patterns, as a setting lists them.
struct TopicList: Hashable, Sendable, Decodable {
    let patterns: [TopicPattern]

    init(from decoder: any Decoder) throws {
        patterns = try decoder.list("entries") { text, path in
            do throws(TopicError) { return try TopicPattern(text) } catch { throw SettingMistake(path, "\(error)") }
        }
    }
}

/// Words that mention the person as their name does, as they were written.
struct Highlights: Hashable, Sendable, Decodable {
    let words: [String]

    init(_ words: [String] = []) { self.words = words }

    init(from decoder: any Decoder) throws {
        words = try decoder.list("words") { word, path in
            guard word.contains(where: { !$0.isWhitespace }), word.count <= 64 else {
                throw SettingMistake(path, "it takes a word or a few, 64 characters at most")
            }
            return word
        }
    }
}

extension Decoder {
    /// A list of at most 100 texts, each read together with its path.
    fileprivate func list<Element>(
        _ noun: String, _ read: (String, [any CodingKey]) throws -> Element
    ) throws -> [Element] {
        var values = try unkeyedContainer()
        var elements: [Element] = []
        while !values.isAtEnd {
            let path = codingPath + [PathKey(values.currentIndex)]
            let text = try values.decode(String.self)
            guard elements.count < 100 else { throw SettingMistake(path, "there are more than 100 \(noun)") }
            elements.append(try read(text, path))
        }
        return elements
    }
}

/// The measures of the screen that are the person's choice.
struct LayoutSetting: Hashable, Sendable {
    /// Columns of the sidebar; 0 shows it only when it is asked for; nil for what suits the screen.
    var sidebar: Int?

    /// Whether the sidebar is folded away at first.
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
