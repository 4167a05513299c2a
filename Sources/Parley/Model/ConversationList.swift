import Relay

/// The joined topics, in the order in which they were joined.
struct ConversationList: Equatable, Sendable {
    private(set) var all: [Conversation] = []
    private var indices: [String: Int] = [:]
    private var patterns: [Pattern] = []

    /// Topics that can be joined at once.
    static let limit = 2_000

    private struct Pattern: Equatable, Sendable {
        let name: String
        let pattern: TopicPattern
        /// How much of the pattern is literal: of two that match, the closer one shows a message.
        let literalTokens: Int
    }

    var count: Int { all.count }
    var isEmpty: Bool { all.isEmpty }

    /// The place of a joined topic; nil when it is not joined.
    func index(of name: String) -> Int? { indices[name] }

    /// A joined topic by name.
    func named(_ name: String) -> Conversation? { indices[name].map { all[$0] } }

    /// Joins a topic or pattern that has passed the grammar; false when it is joined or too many are.
    mutating func join(_ name: String, pattern: TopicPattern) -> Bool {
        guard indices[name] == nil, all.count < Self.limit else { return false }
        indices[name] = all.count
        all.append(Conversation(name: name, isPattern: pattern.isWildcard))
        if pattern.isWildcard {
            let tokens = name.split(separator: ".").filter { $0 != "*" && $0 != ">" }.count
            patterns.append(Pattern(name: name, pattern: pattern, literalTokens: tokens))
            patterns.sort { $0.literalTokens > $1.literalTokens }
        }
        return true
    }

    /// Leaves a topic.
    mutating func leave(_ name: String) {
        guard let index = indices.removeValue(forKey: name) else { return }
        all.remove(at: index)
        patterns.removeAll { $0.name == name }
        for later in index..<all.count { indices[all[later].name] = later }
    }

    /// Changes a joined topic in place; nil when it is not joined.
    @discardableResult
    mutating func update<Result>(_ name: String, _ change: (inout Conversation) -> Result) -> Result? {
        guard let index = indices[name] else { return nil }
        return change(&all[index])
    }

    /// Changes all joined topics in place.
    mutating func updateAll(_ change: (inout Conversation) -> Void) {
        for index in all.indices { change(&all[index]) }
    }

    /// The one conversation that shows a message of `topic`: the topic itself where it is joined, else the closest
    /// pattern, so that overlapping subscriptions show each message once.
    func home(of topic: String) -> String? {
        if indices[topic] != nil { return topic }
        return patterns.first { $0.pattern.matches(topic) }?.name
    }
}
