import Relay

/// What the person was at when the program ended last, as the local store has it.
struct KeptDesk: Equatable, Sendable {
    /// The joined topics, in their order.
    var topics: [String] = []
    /// What was typed and not sent, by conversation; by an empty name where none was open.
    var drafts: [String: String] = [:]
    /// The lines that were typed, oldest first.
    var lines: [String] = []
}

/// What the local store has of a topic that is joined.
struct KeptTopic: Equatable, Sendable {
    /// The newest messages, oldest first.
    var messages: [TopicMessage] = []
    /// Where messages between them are missing.
    var gaps: [KeptGap] = []
    /// Whether the store has no older ones.
    var isComplete = true
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
