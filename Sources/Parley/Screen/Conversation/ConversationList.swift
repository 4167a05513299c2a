import Relay

/// The joined topics, in the order joined or arranged by hand, and in the order shown.
struct ConversationList: Equatable, Sendable {
    private(set) var all: [Conversation] = []
    private var indices: [String: Int] = [:]
    private var patterns: [Pattern] = []
    /// Whether topics with newer messages are shown first, rather than in the order of `all`.
    private(set) var isByActivity = false
    /// Indices into `all` in the order shown; empty if that is the same.
    private var shown: [Int] = []
    /// Whether a topic has changed since they were arranged.
    private var isStale = false
    /// Grows whenever topics are joined, left or moved.
    private(set) var revision: UInt64 = 0
    private var mutes: [TopicPattern] = []
    private var muted: Set<String> = []

    /// The most topics that can be joined at once.
    static let limit = 2_000

    private struct Pattern: Equatable, Sendable {
        let name: String
        let pattern: TopicPattern
        /// The number of literal tokens: of two patterns that match, the closer one shows a message.
        let literalTokens: Int
    }

    var count: Int { all.count }
    var isEmpty: Bool { all.isEmpty }

    /// Messages that arrived while their topic was out of view, in all topics that are not muted.
    var unread: Int { sum { $0.unread } }

    /// Those among them that mention the person.
    var unseenMentions: Int { sum { $0.mentions.count } }

    private func sum(_ figure: (Conversation) -> Int) -> Int {
        // By index, since a loop over the values would copy each of up to 2,000 at every event.
        var sum = 0
        for index in all.indices where muted.isEmpty || !muted.contains(all[index].name) { sum &+= figure(all[index]) }
        return sum
    }

    func index(of name: String) -> Int? { indices[name] }

    func named(_ name: String) -> Conversation? { indices[name].map { all[$0] } }

    /// Whether a joined name is a pattern; nil if it is not joined.
    func isPattern(_ name: String) -> Bool? { indices[name].map { all[$0].isPattern } }

    /// Whether a joined topic is scrolled to its newest row.
    func isAtBottom(_ name: String) -> Bool { indices[name].map { all[$0].scroll == .bottom } ?? false }

    func awaitsMarkerSeen(_ name: String) -> Bool { indices[name].map { all[$0].awaitsMarkerSeen } ?? false }

    /// Joins a valid topic or pattern; false if it is joined already or too many are.
    mutating func join(_ name: String, pattern: TopicPattern) -> Bool {
        guard indices[name] == nil, all.count < Self.limit else { return false }
        indices[name] = all.count
        all.append(Conversation(name: name, isPattern: pattern.isWildcard))
        noteChange()
        if isCovered(name) { muted.insert(name) }
        if pattern.isWildcard {
            let tokens = name.split(separator: ".").filter { $0 != "*" && $0 != ">" }.count
            patterns.append(Pattern(name: name, pattern: pattern, literalTokens: tokens))
            patterns.sort { $0.literalTokens > $1.literalTokens }
        }
        return true
    }

    mutating func leave(_ name: String) {
        guard let index = indices.removeValue(forKey: name) else { return }
        muted.remove(name)
        all.remove(at: index)
        patterns.removeAll { $0.name == name }
        for later in index..<all.count { indices[all[later].name] = later }
        noteChange()
    }

    // MARK: Order

    /// The topic shown at a place, from 0; nil outside.
    func shown(at place: Int) -> Conversation? { index(at: place).map { all[$0] } }

    /// The index in `all` of the topic shown at a place; nil outside.
    func index(at place: Int) -> Int? {
        guard all.indices.contains(place) else { return nil }
        return isArranged ? shown[place] : place
    }

    /// The place at which a joined topic is shown; nil if it is not joined.
    func place(of name: String) -> Int? {
        guard let index = indices[name] else { return nil }
        return isArranged ? shown.firstIndex(of: index) : index
    }

    /// Moves a topic by `step` places, down if positive; returns whether it moved.
    mutating func move(_ name: String, by step: Int) -> Bool {
        guard let index = indices[name] else { return false }
        let place = min(max(0, index + step), all.count - 1)
        guard place != index else { return false }
        let conversation = all.remove(at: index)
        all.insert(conversation, at: place)
        for moved in min(index, place)...max(index, place) { indices[all[moved].name] = moved }
        noteChange()
        return true
    }

    mutating func show(byActivity: Bool) {
        isByActivity = byActivity
        shown = []
        isStale = true
        arrange()
    }

    /// Sorts by activity, if that is the order shown and something has changed. Equal ones keep their order.
    mutating func arrange() {
        guard isByActivity, isStale || !isArranged else { return }
        isStale = false
        let times = all.map(\.newestTime)
        let before = isArranged ? shown : Array(all.indices)
        shown = before.enumerated().sorted { left, right in
            let (one, other) = (times[left.element], times[right.element])
            return one == other ? left.offset < right.offset : one > other
        }.map(\.element)
    }

    private var isArranged: Bool { isByActivity && shown.count == all.count }

    private mutating func noteChange() {
        revision &+= 1
        shown = []
        arrange()
    }

    /// Changes a joined topic in place; nil if it is not joined.
    @discardableResult
    mutating func update<Result>(_ name: String, _ change: (inout Conversation) -> Result) -> Result? {
        guard let index = indices[name] else { return nil }
        guard isByActivity else { return change(&all[index]) }
        let before = all[index].newestTime
        defer { if all[index].newestTime != before { isStale = true } }
        return change(&all[index])
    }

    mutating func updateAll(_ change: (inout Conversation) -> Void) {
        for index in all.indices { change(&all[index]) }
    }

    /// Mutes the conversations of these topics and patterns, also those joined later, and no others.
    mutating func mute(_ patterns: [TopicPattern]) {
        guard patterns != mutes else { return }
        mutes = patterns
        muted = Set(all.map(\.name).filter(isCovered))
    }

    func isMuted(_ name: String) -> Bool { muted.contains(name) }

    private func isCovered(_ name: String) -> Bool { mutes.contains { $0.text == name || $0.matches(name) } }

    /// The one conversation that shows messages of `topic`: the topic itself if it is joined, else the closest pattern,
    /// so that overlapping subscriptions show each message once.
    func home(of topic: String) -> String? {
        if indices[topic] != nil { return topic }
        return patterns.first { $0.pattern.matches(topic) }?.name
    }
}
