import JSON5
import Relay

/// Settings that may be in a profile, or at the top level for all profiles. ``DefaultConfiguration`` explains them.
struct SharedSettings: Hashable, Sendable {
    var retention: RetentionPolicy?
    var theme: ThemeSetting?
    var symbols: SymbolSetting?
    var join: [TopicPattern]?
    var mutes: [TopicPattern]?
    var highlights: [String]?
    var bell: BellSetting?
    var notifications: NotificationSetting?
    var typing: Bool?
    /// Seconds; 0 for never.
    var idleAfter: Double?
    /// Messages; 0 for all.
    var followUnread: Int?
    var followLetters: Bool?

    init() {}

    /// These settings, with missing ones taken from `others`.
    func filled(from others: SharedSettings) -> SharedSettings {
        var settings = self
        settings.retention = retention ?? others.retention
        settings.theme = theme ?? others.theme
        settings.symbols = symbols ?? others.symbols
        settings.join = join ?? others.join
        settings.mutes = mutes ?? others.mutes
        settings.highlights = highlights ?? others.highlights
        settings.bell = bell ?? others.bell
        settings.notifications = notifications ?? others.notifications
        settings.typing = typing ?? others.typing
        settings.idleAfter = idleAfter ?? others.idleAfter
        settings.followUnread = followUnread ?? others.followUnread
        settings.followLetters = followLetters ?? others.followLetters
        return settings
    }
}

extension SharedSettings: Decodable {
    /// Decodes them from a profile or the file, which refuse unknown keys themselves.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Profile.CodingKeys.self)
        retention = try values.decodeIfPresent(RetentionPolicy.self, forKey: .retention)
        theme = try values.decodeIfPresent(ThemeSetting.self, forKey: .theme)
        symbols = try values.decodeIfPresent(SymbolSetting.self, forKey: .symbols)
        join = try values.list(.join, of: "entries", Self.topics)
        mutes = try values.list(.mutes, of: "entries", Self.topics)
        highlights = try values.list(.highlights, of: "words") { word, path in
            guard word.contains(where: { !$0.isWhitespace }), word.count <= 64 else {
                throw SettingMistake(path, "it takes a word or a phrase of up to 64 characters")
            }
            return word
        }
        bell = try values.decodeIfPresent(BellSetting.self, forKey: .bell)
        notifications = try values.decodeIfPresent(NotificationSetting.self, forKey: .notifications)
        typing = try values.decodeIfPresent(Bool.self, forKey: .typing)
        idleAfter = try values.number(.idleAfter, "it takes a number of seconds from 10 on, or 0") {
            $0 == 0 || (10..<1e9).contains($0) ? $0 : nil
        }
        // Fewer than 50 messages are no burden.
        followUnread = try values.number(.followUnread, "it takes a number of messages from 50 on, or 0") {
            Int(exactly: $0).flatMap { $0 == 0 || (50...1_000_000_000).contains($0) ? $0 : nil }
        }
        followLetters = try values.decodeIfPresent(Bool.self, forKey: .followLetters)
    }

    private static func topics(_ text: String, _ path: [any CodingKey]) throws -> TopicPattern {
        do throws(TopicError) { return try TopicPattern(text) } catch { throw SettingMistake(path, "\(error)") }
    }
}

extension KeyedDecodingContainer {
    /// The accepted number, or nil if none is given; `words` say what the setting takes.
    func number<Number>(_ key: Key, _ words: String, _ accepted: (Double) -> Number?) throws -> Number? {
        guard let given = try decodeIfPresent(Double.self, forKey: key) else { return nil }
        guard let number = accepted(given) else { throw SettingMistake(codingPath + [key], words) }
        return number
    }

    /// A list of at most 100 texts, each read with its path; nil if none is given.
    fileprivate func list<Element>(
        _ key: Key, of noun: String, _ read: (String, [any CodingKey]) throws -> Element
    ) throws -> [Element]? {
        guard contains(key), try !decodeNil(forKey: key) else { return nil }
        var values = try nestedUnkeyedContainer(forKey: key)
        var elements: [Element] = []
        while !values.isAtEnd {
            let path = values.codingPath + [PathKey(values.currentIndex)]
            let text = try values.decode(String.self)
            guard elements.count < 100 else { throw SettingMistake(path, "there are more than 100 \(noun)") }
            elements.append(try read(text, path))
        }
        return elements
    }
}
