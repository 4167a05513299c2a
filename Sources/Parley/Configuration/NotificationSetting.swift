import JSON5
import Terminal

/// What the user is notified of while they look elsewhere, and how.
struct NotificationSetting: Hashable, Sendable {
    var mentions = true
    var letters = true
    /// The end of the session, such as by the administrator or another device.
    var ends = true
    var by = Means.auto
    /// A shell command that also notifies the user, for example on the desktop; nil for none.
    var command: String?

    enum Means: String, CaseIterable, Hashable, Sendable, Decodable {
        /// What the terminal is known to support, or else its bell.
        case auto
        case bell
        case osc9
        case osc777
        case osc99
        case nothing = "none"

        init(from decoder: any Decoder) throws { self = try Self.named(in: decoder, kind: "way of notifications") }

        var words: String {
            switch use {
            case .auto: "auto: what the terminal is known to support, else the bell"
            case .always(let method): method.name
            case .never: "nothing"
            }
        }

        var use: NotificationUse {
            switch self {
            case .auto: .auto
            case .bell: .always(.bell)
            case .osc9: .always(.osc9)
            case .osc777: .always(.osc777)
            case .osc99: .always(.osc99)
            case .nothing: .never
            }
        }
    }

    func wants(_ kind: PersonCall.Kind) -> Bool {
        guard by != .nothing || command != nil else { return false }
        return switch kind {
        case .mention: mentions
        case .letter: letters
        case .end: ends
        }
    }
}

extension NotificationSetting: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable { case mentions, letters, ends, by, command }

    init(from decoder: any Decoder) throws {
        try UnknownKeys.refuse(in: decoder, besides: CodingKeys.allCases.map(\.rawValue))
        let values = try decoder.container(keyedBy: CodingKeys.self)
        mentions = try values.decodeIfPresent(Bool.self, forKey: .mentions) ?? true
        letters = try values.decodeIfPresent(Bool.self, forKey: .letters) ?? true
        ends = try values.decodeIfPresent(Bool.self, forKey: .ends) ?? true
        by = try values.decodeIfPresent(Means.self, forKey: .by) ?? .auto
        command = try values.decodeIfPresent(String.self, forKey: .command)
        if let command, command.allSatisfy(\.isWhitespace) {
            throw SettingMistake(values.codingPath + [CodingKeys.command], "it is empty; leave it out")
        }
    }
}

extension NotificationMethod {
    var name: String {
        switch self {
        case .bell: "the bell"
        case .osc9: "OSC 9"
        case .osc777: "OSC 777"
        case .osc99: "OSC 99"
        }
    }
}
