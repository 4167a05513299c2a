/// Killed texts that can be yanked, from the newest to the oldest and around. Bounded in number and in characters.
struct KillRing: Sendable {
    private static let countLimit = 32

    private let characterLimit: Int
    private var kills: [[Character]] = []
    private var place = 0

    init(characterLimit: Int) {
        self.characterLimit = characterLimit
    }

    /// The text that is yanked next; nil if nothing was killed yet.
    var current: [Character]? { kills.indices.contains(place) ? kills[place] : nil }

    /// Goes on to the text killed before that.
    mutating func earlier() -> [Character]? {
        guard !kills.isEmpty else { return nil }
        place = place > 0 ? place - 1 : kills.count - 1
        return current
    }

    /// Adds a killed text, joined to the last one if `joins`.
    mutating func add(_ text: [Character], joins: Bool, isBackward: Bool) {
        let before = joins ? kills.popLast() ?? [] : []
        kills.append(Array((isBackward ? text + before : before + text).prefix(characterLimit)))
        while kills.count > Self.countLimit || kills.count > 1 && kills.reduce(0, { $0 + $1.count }) > characterLimit {
            kills.removeFirst()
        }
        place = kills.count - 1
    }
}

/// A numeric argument for the next key, as it is being typed.
struct NumericArgument: Hashable, Sendable {
    private static let limit = 9_999

    var isNegative = false
    var digits: Int?

    /// The argument's value; a lone minus is -1.
    var value: Int { (isNegative ? -1 : 1) * (digits ?? 1) }

    var words: String { (isNegative ? "-" : "") + (digits.map { "\($0)" } ?? "") }

    mutating func append(_ digit: Int) { digits = min((digits ?? 0) * 10 + digit, Self.limit) }
}

/// What the previous key did, as far as it matters to the next.
enum LastCommand: Hashable, Sendable {
    case other
    case kill
    case yank(Range<Int>)
    case lastWord(Range<Int>, entry: Int)
}
