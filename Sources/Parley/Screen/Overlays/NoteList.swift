import Relay

/// Sentences told to the person, with their times, apart from the connection log. The list is bounded.
struct NoteList: Hashable, Sendable {
    struct Entry: Hashable, Sendable {
        let at: Timestamp
        let words: String
    }

    static let limit = 200
    private static let length = 4_096

    /// The entries, oldest first.
    private(set) var entries: [Entry] = []

    /// Adds a sentence, unless the last one says the same and is less than a second old.
    mutating func record(_ text: String, at time: Timestamp) {
        let words = String(text.prefix(Self.length))
        if let last = entries.last, last.words == words, time.milliseconds - last.at.milliseconds < 1_000 { return }
        entries.append(Entry(at: time, words: words))
        if entries.count > Self.limit { entries.removeFirst(entries.count - Self.limit) }
    }

    /// These entries and others, which are in the order of their times, in that order.
    func merged(with others: [Entry]) -> [Entry] {
        var merged: [Entry] = []
        var rest = entries[...]
        for other in others {
            while let first = rest.first, first.at <= other.at { merged.append(rest.removeFirst()) }
            merged.append(other)
        }
        return merged + rest
    }
}
