/// A search through the history for a line that has some characters in it.
struct HistorySearch: Sendable {
    /// What the line has to have in it; small letters stand for capitals, too.
    var query: [Character] = []
    var isForward: Bool
    /// The entry that was found last; nil before any.
    var place: Int?
    var hasFailed = false
    /// What was there before it.
    let text: [Character]
    let cursor: Int
    let edits: EditHistory
    let step: EntryHistory.Step
}

extension LineEditor {
    /// What a search looks for at the moment.
    public struct Searching: Hashable, Sendable {
        /// What a line has to have in it.
        public let query: String
        /// Whether it goes from older lines to newer ones.
        public let isForward: Bool
        /// Whether a line has it, or nothing is looked for yet.
        public let isFound: Bool
    }

    /// The search through the history that the keys are for; nil when none is under way.
    public var searching: Searching? {
        search.map { Searching(query: String($0.query), isForward: $0.isForward, isFound: !$0.hasFailed) }
    }

    /// Ends a search; the line that it found stays.
    public mutating func endSearch() {
        guard let ended = search else { return }
        if !ended.query.isEmpty { lastQuery = ended.query }
        search = nil
    }

    mutating func beginSearch(isForward: Bool) {
        search = HistorySearch(
            isForward: isForward, text: characters, cursor: cursor, edits: edits, step: entries.step)
    }

    /// Takes a key while a search is under way; nil when it ends that and means what it always means.
    mutating func handleInSearch(_ key: Key) -> Bool? {
        switch key {
        case .control("r"): searchOn(isForward: false)
        case .control("s"): searchOn(isForward: true)
        case .control("g"):
            restoreBeforeSearch()
            endSearch()
        case Key(.escape): endSearch()
        case Key(.backspace), .control("h"):
            guard search?.query.popLast() != nil else { break }
            search?.place = nil
            searchAgain()
        default:
            guard key.modifiers.isEmpty, case .character(let character) = key.code else {
                endSearch()
                return nil
            }
            // What is longer is in no line.
            guard let length = search?.query.count, length < limit else { break }
            search?.query.append(character)
            searchAgain()
        }
        return true
    }

    /// Goes on to the next line that has it; without anything to look for, looks for what was looked for last.
    private mutating func searchOn(isForward: Bool) {
        guard let before = search else { return }
        search?.isForward = isForward
        if before.query.isEmpty {
            search?.query = lastQuery
            find(from: nil)
        } else {
            let next = before.place.map { $0 + (isForward ? 1 : -1) }
            find(from: next, except: next == nil ? nil : String(characters))
        }
    }

    /// Looks again with another query.
    private mutating func searchAgain() {
        guard let wanted = search else { return }
        if !wanted.query.isEmpty { return find(from: wanted.place) }
        restoreBeforeSearch()
        search?.hasFailed = false
    }

    /// Shows the next line that has the query in it; where there is none, the last one stays.
    ///
    /// - Parameters:
    ///   - start: where to begin; nil for the newest entry, or the oldest when it goes forward.
    ///   - shown: a text that is not another one.
    private mutating func find(from start: Int?, except shown: String? = nil) {
        guard let wanted = search, !wanted.query.isEmpty else { return }
        var place = start ?? (wanted.isForward ? 0 : entries.entries.count - 1)
        while entries.entries.indices.contains(place) {
            let text = entries.text(at: place)
            if text != shown, let offset = Self.offset(of: wanted.query, in: text) {
                show(entry: place, from: wanted, at: offset)
                return
            }
            place += wanted.isForward ? 1 : -1
        }
        search?.hasFailed = true
    }

    /// Shows an entry as one step from what was there before the search.
    private mutating func show(entry place: Int, from began: HistorySearch, at offset: Int) {
        restoreBeforeSearch()
        let text = entries.go(to: place, from: String(characters))
        replace(0..<count, with: Array(text), step: began.step)
        edits.close()
        cursor = min(offset, count)
        search?.place = place
        search?.hasFailed = false
    }

    private mutating func restoreBeforeSearch() {
        guard let search else { return }
        entries.goBack(to: search.step, from: String(characters))
        restore(search.text, cursor: search.cursor, edits: search.edits)
    }

    private static func offset(of query: [Character], in text: String) -> Int? {
        let isExact = query.contains(where: \.isUppercase)
        let (text, query) = isExact ? (text, String(query)) : (text.lowercased(), String(query).lowercased())
        return text.firstRange(of: query).map { text.distance(from: text.startIndex, to: $0.lowerBound) }
    }
}
