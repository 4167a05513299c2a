import Relay

/// What the person was at when the program ended last, as the local store has it.
struct KeptDesk: Equatable, Sendable {
    /// The joined topics, in their order.
    var topics: [String] = []
    /// What was typed and not sent, by conversation; by an empty name where none was open.
    var drafts: [String: String] = [:]
    /// The lines that were typed, oldest first.
    var lines: [KeptLine] = []
    /// What waits to be sent and what was not sent, oldest first.
    var unsent: [KeptPublish] = []
    /// The names of those who are ignored.
    var ignored: Set<String> = []
    /// The topics and patterns that are muted, beside those of the configuration.
    var muted: [String] = []
    /// What was chosen about the screen.
    var choices = DeskChoices()
    /// What was in view; nil where that is not known.
    var place: Place?
    /// Whether all this can be read alone, so that nothing is kept beside it.
    var isReadOnly = false
}

extension Place {
    /// As the local store has it.
    var kept: String {
        switch self {
        case .topic(let name): "topic \(name)"
        case .letters(let box): box.map { "letters \($0)" } ?? "letters"
        }
    }

    /// - Parameter kept: what an earlier run has kept; nil for what is no place.
    init?(kept: String) {
        let parts = kept.split(separator: " ", maxSplits: 1).map(String.init)
        switch (parts.first, parts.count) {
        case ("topic", 2): self = .topic(parts[1])
        case ("letters", 2): self = .letters(parts[1])
        case ("letters", 1): self = .letters(nil)
        default: return nil
        }
    }
}

/// What the person has chosen with keys and commands; it counts at later starts, and before the configuration.
struct DeskChoices: Hashable, Sendable {
    /// Whether the topics stand by activity; nil for as they were put.
    var areTopicsByActivity: Bool?
    /// Whether the topics are folded away; nil for what the configuration says.
    var areTopicsFolded: Bool?
    /// Whether the postbox lists the oldest letters first; nil for the newest.
    var areLettersOldestFirst: Bool?
    /// Whether a page of letters is sorted by sender; nil for as it was listed.
    var areLettersBySender: Bool?
    /// Whether a page of letters is sorted by postbox; nil for as it was listed.
    var areLettersByPostbox: Bool?
    /// Whether the postbox shows the letters alone that were not read; nil for all.
    var areUnreadLettersAlone: Bool?
    /// Whether the connection is kept while the person looks elsewhere; nil where nothing was chosen.
    var keepsConnection: Bool?
    /// Whether the person was told what a suspension is.
    var isSuspensionExplained: Bool?

    /// One choice; its raw value is its name in the local store, and stays.
    enum Name: String, CaseIterable, Hashable, Sendable {
        case topicsByActivity = "topics-by-activity"
        case topicsFolded = "topics-folded"
        case lettersOldestFirst = "letters-oldest-first"
        case lettersBySender = "letters-by-sender"
        case lettersByPostbox = "letters-by-postbox"
        case unreadLettersAlone = "unread-letters-alone"
        case keepsConnection = "keeps-connection"
        case suspensionExplained = "suspension-explained"
    }

    init() {}

    /// Choices as the local store has them.
    init(_ kept: [String: Bool]) {
        for name in Name.allCases { self[name] = kept[name.rawValue] }
    }

    /// How a page of letters is sorted.
    var letterSort: Inbox.Sort {
        get {
            if areLettersBySender == true { return .sender }
            return areLettersByPostbox == true ? .postbox : .list
        }
        set {
            areLettersBySender = newValue == .sender ? true : nil
            areLettersByPostbox = newValue == .postbox ? true : nil
        }
    }

    subscript(name: Name) -> Bool? {
        get {
            switch name {
            case .topicsByActivity: areTopicsByActivity
            case .topicsFolded: areTopicsFolded
            case .lettersOldestFirst: areLettersOldestFirst
            case .lettersBySender: areLettersBySender
            case .lettersByPostbox: areLettersByPostbox
            case .unreadLettersAlone: areUnreadLettersAlone
            case .keepsConnection: keepsConnection
            case .suspensionExplained: isSuspensionExplained
            }
        }
        set {
            switch name {
            case .topicsByActivity: areTopicsByActivity = newValue
            case .topicsFolded: areTopicsFolded = newValue
            case .lettersOldestFirst: areLettersOldestFirst = newValue
            case .lettersBySender: areLettersBySender = newValue
            case .lettersByPostbox: areLettersByPostbox = newValue
            case .unreadLettersAlone: areUnreadLettersAlone = newValue
            case .keepsConnection: keepsConnection = newValue
            case .suspensionExplained: isSuspensionExplained = newValue
            }
        }
    }
}

extension KeptPublish {
    /// Whether it waits for the network, and not for the person.
    var waits: Bool { if case .notSent = state { false } else { true } }

    /// How a line of an earlier run is shown.
    var lineState: PendingLine.State {
        switch state {
        case .queued, .sending: .queued
        case .notSent(let reason): .failed("\(message.mayBeStored ? "perhaps" : "not") sent: \(reason)")
        }
    }
}

/// What the local store has of a topic that is joined.
struct KeptTopic: Equatable, Sendable {
    /// The newest messages, oldest first.
    var messages: [TopicMessage] = []
    /// Where messages between them are missing.
    var gaps: [KeptGap] = []
    /// Whether the store has no older ones.
    var isComplete = true
    /// Whether it is not known how far the topic was received, so that its subscription does not go on behind these.
    var isOpen = false
    /// Up to which sequence the person has read; 0 where nothing of it was.
    var readThrough: UInt64 = 0
}

/// A text that is kept until it is sent, and where it was typed.
struct Draft: Hashable, Sendable {
    /// The conversation in view; empty where none was.
    var conversation = ""
    /// The text.
    var text = ""
}
