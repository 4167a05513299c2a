/// Earlier texts, and the person's place among them. An entry that they edit stays changed until a text is taken.
struct EntryHistory: Sendable {
    /// A place in the history, valid while the person browses it.
    struct Step: Hashable, Sendable {
        fileprivate let walk: Int
        fileprivate let place: Int?
    }

    private static let byteLimit = 1 << 20

    private(set) var entries: [String] = []
    /// The number of texts added, including those that were dropped.
    private(set) var added = 0
    private var bytes = 0
    private let limit: Int
    /// The entry shown; nil for the text being written.
    private var place: Int?
    private var draft = ""
    private var altered: [Int: String] = [:]
    private var walk = 0

    init(limit: Int) {
        self.limit = limit
    }

    mutating func set(_ entries: [String]) {
        leave()
        self.entries = []
        bytes = 0
        let before = added
        for entry in entries.suffix(limit) { append(entry) }
        added = before
    }

    /// Adds a text that was taken, after the draft that was left for the history.
    mutating func add(_ text: String) {
        leaveKeepingDraft()
        append(text)
    }

    /// Ends the browsing; the draft that was left for the history becomes its newest entry.
    mutating func leaveKeepingDraft() {
        if place != nil { append(draft) }
        leave()
    }

    mutating func leave() {
        place = nil
        draft = ""
        altered = [:]
        walk += 1
    }

    private mutating func append(_ text: String) {
        guard limit > 0, text.contains(where: { !$0.isWhitespace }), entries.last.map({ Self.isSame($0, text) }) != true
        else { return }
        entries.append(text)
        added += 1
        bytes += text.utf8.count
        while entries.count > limit || bytes > Self.byteLimit && entries.count > 1 {
            bytes -= entries.removeFirst().utf8.count
        }
    }

    /// Compares bytes: comparing characters takes time in the square of the number of combining marks on one.
    private static func isSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

    // MARK: Looking through

    var step: Step { Step(walk: walk, place: place) }

    /// The entry before the one shown; nil at the oldest. `current` is kept in its place.
    mutating func older(than current: String) -> String? {
        var next = (place ?? entries.count) - 1
        // Skips an entry that is the text being written.
        if place == nil, next >= 0, Self.isSame(entries[next], current) { next -= 1 }
        return next >= 0 ? go(to: next, from: current) : nil
    }

    /// The entry after the one shown, at last the draft; nil there. `current` is kept in its place.
    mutating func newer(than current: String) -> String? {
        guard let shown = place else { return nil }
        if shown + 1 < entries.count { return go(to: shown + 1, from: current) }
        keep(current)
        place = nil
        return draft
    }

    /// The entry at `place`, with the person's changes.
    func text(at place: Int) -> String { altered[place] ?? entries[place] }

    /// Goes to an entry; `current` is kept in its place.
    mutating func go(to place: Int, from current: String) -> String {
        keep(current)
        self.place = place
        return text(at: place)
    }

    /// Goes back to the person's place when a step is undone; `current` is kept in its place.
    mutating func goBack(to step: Step, from current: String) {
        keep(current)
        place = step.walk == walk ? step.place : nil
    }

    private mutating func keep(_ current: String) {
        guard let place else {
            draft = current
            return
        }
        altered[place] = Self.isSame(current, entries[place]) ? nil : current
        while altered.count > 1, altered.values.reduce(0, { $0 + $1.utf8.count }) > Self.byteLimit,
            let oldest = altered.keys.min()
        {
            altered[oldest] = nil
        }
    }
}
