/// What was removed from a text and can be inserted again, from the newest to the oldest and around the end. Bounded in
/// number and in characters.
struct KillRing: Sendable {
    private static let countLimit = 32

    private let characterLimit: Int
    private var kills: [[Character]] = []
    private var place = 0

    init(characterLimit: Int) {
        self.characterLimit = characterLimit
    }

    /// What is inserted next; nil when nothing was removed yet.
    var current: [Character]? { kills.indices.contains(place) ? kills[place] : nil }

    /// Goes on to what was removed before it.
    mutating func earlier() -> [Character]? {
        guard !kills.isEmpty else { return nil }
        place = place > 0 ? place - 1 : kills.count - 1
        return current
    }

    /// Keeps a text, as one with the text before where it joins that.
    mutating func add(_ text: [Character], joins: Bool, isBackward: Bool) {
        let before = joins ? kills.popLast() ?? [] : []
        kills.append(Array((isBackward ? text + before : before + text).prefix(characterLimit)))
        while kills.count > Self.countLimit || kills.count > 1 && kills.reduce(0, { $0 + $1.count }) > characterLimit {
            kills.removeFirst()
        }
        place = kills.count - 1
    }
}

/// A number for the next key, while it is being written.
struct NumericArgument: Hashable, Sendable {
    private static let limit = 9_999

    var isNegative = false
    var digits: Int?

    /// What it means; a minus by itself is -1.
    var value: Int { (isNegative ? -1 : 1) * (digits ?? 1) }

    var words: String { (isNegative ? "-" : "") + (digits.map { "\($0)" } ?? "") }

    mutating func append(_ digit: Int) { digits = min((digits ?? 0) * 10 + digit, Self.limit) }
}

/// What the key before did, as far as that matters to the next.
enum LastCommand: Hashable, Sendable {
    case other
    case kill
    case yank(Range<Int>)
    case lastWord(Range<Int>, entry: Int)
}
