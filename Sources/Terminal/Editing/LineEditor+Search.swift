/// A search through the history for a line that contains some characters.
struct HistorySearch: Sendable {
    /// What the line has to contain; lowercase letters match capitals, too.
    var query: [Character] = []
    var isForward: Bool
    /// The entry found last; nil before any.
    var place: Int?
    var hasFailed = false
    /// Whether no line from the place on contains the query, nor anything that begins with it.
    var isExhausted = false
    /// The text before the search, and its state.
    let text: [Character]
    let cursor: Int
    let edits: EditHistory
    let step: EntryHistory.Step
}

extension LineEditor {
    /// The most characters of a query. Only an unmarked paste has more.
    static let queryLimit = 256

    /// The state of a search.
    public struct Searching: Hashable, Sendable {
        /// What a line has to contain.
        public let query: String
        /// Whether it goes from older lines to newer ones.
        public let isForward: Bool
        /// Whether a line contains it, or there is no query yet.
        public let isFound: Bool
    }

    /// The history search that keys act on; nil if there is none.
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

    /// Handles a key during a search; nil if it ends the search and then has its usual meaning.
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
            search?.isExhausted = false
            searchAgain()
        default:
            guard key.modifiers.isEmpty, case .character(let character) = key.code else {
                endSearch()
                return nil
            }
            guard let length = search?.query.count, length < Self.queryLimit else { break }
            search?.query.append(character)
            searchAgain()
        }
        return true
    }

    /// Goes on to the next match; without a query, uses the last one.
    private mutating func searchOn(isForward: Bool) {
        guard let before = search else { return }
        search?.isForward = isForward
        search?.isExhausted = false
        if before.query.isEmpty {
            search?.query = lastQuery
            find(from: nil)
        } else {
            let next = before.place.map { $0 + (isForward ? 1 : -1) }
            find(from: next, except: next == nil ? nil : String(characters))
        }
    }

    private mutating func searchAgain() {
        guard let wanted = search else { return }
        guard !wanted.query.isEmpty else {
            restoreBeforeSearch()
            search?.hasFailed = false
            return
        }
        // A combining mark that joins the letter before it makes another letter, which lines may contain.
        let joins = String(wanted.query).count <= String(wanted.query.dropLast()).count
        guard !wanted.isExhausted || joins else { return }
        let isFound = find(from: wanted.place)
        search?.isExhausted = !isFound
    }

    /// Shows the next line that contains the query and is not `shown`; if there is none, the last one stays.
    ///
    /// - Parameter start: where to begin; nil for the newest entry, or the oldest in a forward search.
    @discardableResult
    private mutating func find(from start: Int?, except shown: String? = nil) -> Bool {
        guard let wanted = search, !wanted.query.isEmpty else { return false }
        var place = start ?? (wanted.isForward ? 0 : entries.entries.count - 1)
        while entries.entries.indices.contains(place) {
            let text = entries.text(at: place)
            // Comparing two texts by characters may take time in the square of their lengths.
            if shown?.utf8.elementsEqual(text.utf8) != true, let offset = Self.offset(of: wanted.query, in: text) {
                show(entry: place, from: wanted, at: offset)
                return true
            }
            place += wanted.isForward ? 1 : -1
        }
        search?.hasFailed = true
        return false
    }

    /// Shows an entry, as one step from the text before the search.
    private mutating func show(entry place: Int, from began: HistorySearch, at offset: Int) {
        if place != began.place {
            restoreBeforeSearch()
            let text = entries.go(to: place, from: String(characters))
            replace(0..<count, with: Array(text), step: began.step)
            edits.close()
        }
        cursor = min(offset, count)
        search?.place = place
        search?.hasFailed = false
    }

    private mutating func restoreBeforeSearch() {
        guard let search else { return }
        entries.goBack(to: search.step, from: String(characters))
        substitute(0..<count, with: search.text)
        cursor = search.cursor
        edits = search.edits
    }

    /// The place of the query in a text, in characters.
    private static func offset(of query: [Character], in text: String) -> Int? {
        let isExact = query.contains(where: \.isUppercase)
        let sought = Array(isExact ? String(query) : String(query).lowercased())
        guard sought.allSatisfy(\.isComparable) else { return nil }
        return Array(isExact ? text : text.lowercased()).offset(of: sought)
    }
}

extension [Character] {
    /// The first place of a run of characters, in linear time (Knuth, Morris and Pratt).
    fileprivate func offset(of sought: [Character]) -> Int? {
        guard !sought.isEmpty, sought.count <= count else { return sought.isEmpty ? 0 : nil }
        // For each beginning, the length of its longest ending that is also its own beginning.
        var borders = [0]
        for character in sought.dropFirst() {
            var length = borders[borders.count - 1]
            while length > 0, sought[length] != character { length = borders[length - 1] }
            borders.append(sought[length] == character ? length + 1 : 0)
        }
        var found = 0
        for (place, character) in enumerated() {
            guard character.isComparable else {
                found = 0
                continue
            }
            while found > 0, sought[found] != character { found = borders[found - 1] }
            if sought[found] == character { found += 1 }
            if found == sought.count { return place + 1 - found }
        }
        return nil
    }
}

extension Character {
    /// Whether it is short enough to be compared: that takes time in the square of the number of its combining marks.
    fileprivate var isComparable: Bool { utf8.count <= 128 }
}
