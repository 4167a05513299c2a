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
    var ignored: Set<String> = []
    /// The topics and patterns that are muted, beside those of the configuration.
    var muted: [String] = []
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
    /// A bit for each choice that was made, and for each that is yes: they are compared at every event.
    private var made: UInt16 = 0
    private var yes: UInt16 = 0

    enum Name: UInt16, CaseIterable, Hashable, Sendable {
        /// Whether the topics stand by activity; nil for as they were put.
        case topicsByActivity
        /// Whether the topics are folded away; nil for what the configuration says.
        case topicsFolded
        /// Whether the postbox lists the oldest letters first; nil for the newest.
        case lettersOldestFirst
        /// Whether a page of letters is sorted by sender; nil for as it was listed.
        case lettersBySender
        /// Whether a page of letters is sorted by postbox; nil for as it was listed.
        case lettersByPostbox
        /// Whether the postbox shows the letters alone that were not read; nil for all.
        case unreadLettersAlone
        /// Whether the connection is kept while the person looks elsewhere; nil where nothing was chosen.
        case keepsConnection
        /// Whether the person was told what a suspension is.
        case suspensionExplained

        /// Its name in the local store, which stays.
        var kept: String {
            switch self {
            case .topicsByActivity: "topics-by-activity"
            case .topicsFolded: "topics-folded"
            case .lettersOldestFirst: "letters-oldest-first"
            case .lettersBySender: "letters-by-sender"
            case .lettersByPostbox: "letters-by-postbox"
            case .unreadLettersAlone: "unread-letters-alone"
            case .keepsConnection: "keeps-connection"
            case .suspensionExplained: "suspension-explained"
            }
        }
    }

    init() {}

    init(_ kept: [String: Bool]) {
        for name in Name.allCases { self[name] = kept[name.kept] }
    }

    subscript(name: Name) -> Bool? {
        get { made >> name.rawValue & 1 == 0 ? nil : yes >> name.rawValue & 1 == 1 }
        set {
            let bit = UInt16(1) << name.rawValue
            made = newValue == nil ? made & ~bit : made | bit
            yes = newValue == true ? yes | bit : yes & ~bit
        }
    }

    var letterSort: Inbox.Sort {
        get {
            if self[.lettersBySender] == true { return .sender }
            return self[.lettersByPostbox] == true ? .postbox : .list
        }
        set {
            self[.lettersBySender] = newValue == .sender ? true : nil
            self[.lettersByPostbox] = newValue == .postbox ? true : nil
        }
    }
}

extension KeptPublish {
    /// Whether it waits for the network, and not for the person.
    var waits: Bool { if case .notSent = state { false } else { true } }

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
    var text = ""
}
