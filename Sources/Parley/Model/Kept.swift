import Relay

/// The user's state at the end of the last run, as stored locally.
struct KeptDesk: Equatable, Sendable {
    var topics: [String] = []
    /// The drafts, by conversation; by an empty name if none was open.
    var drafts: [String: String] = [:]
    /// The lines typed, oldest first.
    var lines: [KeptLine] = []
    /// The waiting and unsent messages, oldest first.
    var unsent: [KeptPublish] = []
    var ignored: Set<String> = []
    /// The topics and patterns muted besides those of the configuration.
    var muted: [String] = []
    var choices = DeskChoices()
    var place: Place?
    /// Whether the store is read-only, so that nothing can be saved.
    var isReadOnly = false
}

extension Place {
    /// The form in the local store.
    var kept: String {
        switch self {
        case .topic(let name): "topic \(name)"
        case .letters(let box): box.map { "letters \($0)" } ?? "letters"
        }
    }

    /// Parses the form in the local store; nil if invalid.
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

/// The user's choices by keys and commands. They persist, and override the configuration.
struct DeskChoices: Hashable, Sendable {
    /// A bit for each choice made, and for each whose value is true: compact, since they are compared at every event.
    private var made: UInt16 = 0
    private var yes: UInt16 = 0

    enum Name: UInt16, CaseIterable, Hashable, Sendable {
        /// Whether topics are sorted by activity; nil for the user's own order.
        case topicsByActivity
        /// Whether the topics are folded; nil for the configuration's setting.
        case topicsFolded
        /// Whether the oldest letters are listed first; nil for the newest.
        case lettersOldestFirst
        /// Whether a page of letters is sorted by sender; nil for the listed order.
        case lettersBySender
        /// Whether a page of letters is sorted by postbox; nil for the listed order.
        case lettersByPostbox
        /// Whether only unread letters are shown; nil for all.
        case unreadLettersAlone
        /// Whether the connection is kept while the user looks elsewhere; nil if not chosen.
        case keepsConnection
        case suspensionExplained

        /// Its name in the local store, which must not change.
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
    /// Whether it waits for the network, rather than for the user.
    var waits: Bool { if case .notSent = state { false } else { true } }

    var lineState: PendingLine.State {
        switch state {
        case .queued, .sending: .queued
        case .notSent(let reason): .failed("\(message.mayBeStored ? "perhaps" : "not") sent: \(reason)")
        }
    }
}

struct KeptTopic: Equatable, Sendable {
    /// The newest messages, oldest first.
    var messages: [TopicMessage] = []
    var gaps: [KeptGap] = []
    /// Whether the store has no older messages.
    var isComplete = true
    /// Whether messages may be missing between these and the subscription's start.
    var isOpen = false
    /// The last sequence that the user has read; 0 for none.
    var readThrough: UInt64 = 0
}

/// A text that is saved until it is sent.
struct Draft: Hashable, Sendable {
    /// The conversation in which it was typed; empty for none.
    var conversation = ""
    var text = ""
}
