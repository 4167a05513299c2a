import Relay
import Terminal

/// A search in the local store, and its results so far.
struct Search: Hashable, Sendable {
    let text: String
    let query: SearchQuery
    private(set) var items: [FoundItem] = []
    /// Whether these are all. There may be more than a portion, or than a search looks at.
    private(set) var isComplete = false
    /// For items of another network of the window, that network's place there.
    private(set) var places: [FoundItem: Int] = [:]
    /// The portion being fetched; nil if none is.
    fileprivate(set) var request: UInt64?
    /// The number of networks that have not answered yet.
    fileprivate var awaited = 0
    private var answers: [Answer] = []
    private(set) var failure: String?
    fileprivate(set) var selected = 0
    fileprivate(set) var firstVisible = 0
    fileprivate(set) var isReading = false
    /// Lines of the open letter above the reader's upper edge.
    fileprivate(set) var readerScroll = 0

    /// One network's part of a portion.
    struct Answer: Hashable, Sendable {
        /// The network's place in the window; nil for the one in front.
        var chat: Int?
        /// Newest first.
        let items: [FoundItem]
        let isComplete: Bool
    }

    /// The number of results in a portion.
    static let portion = 100
    /// The most results.
    static let limit = 1_000

    init(_ text: String, secondsFromGMT: Int) {
        self.text = text
        query = SearchQuery(text, secondsFromGMT: secondsFromGMT)
    }

    var selectedItem: FoundItem? { items.indices.contains(selected) ? items[selected] : nil }

    var openLetter: KeptLetter? {
        guard isReading, case .letter(let letter)? = selectedItem else { return nil }
        return letter
    }

    var hasMore: Bool { !isComplete && !items.isEmpty && items.count < Self.limit }

    /// The next request. The store goes by moments, and several messages can have the last one's: these come again.
    fileprivate var next: (query: SearchQuery, limit: Int) {
        guard let last = items.last?.time, last.milliseconds < .max else { return (query, Self.portion) }
        var next = query
        let end = Timestamp(milliseconds: last.milliseconds + 1)
        next.before = min(query.before ?? end, end)
        return (next, min(1_000, Self.portion + lastMoment.count))
    }

    /// The items at the end of the list that have the same moment.
    private var lastMoment: ArraySlice<FoundItem> {
        let last = items.last?.time
        let begin = items.lastIndex { $0.time != last }
        return items.suffix(from: begin.map { $0 + 1 } ?? 0)
    }

    /// Adds one network's answer. Once all have answered, the portion is what they have back to where the first of them
    /// has more.
    mutating func take(_ answer: Answer) {
        answers.append(answer)
        awaited -= 1
        guard awaited <= 0 else { return }
        let end = answers.filter { !$0.isComplete }.compactMap { $0.items.last?.time }.max()
        var found: [FoundItem] = []
        for answer in answers {
            let items = answer.items.filter { item in end.map { $0 <= item.time } ?? true }
            if let chat = answer.chat { for item in items { places[item] = chat } }
            found += items
        }
        if answers.count > 1 { found.sort { $1.time < $0.time } }
        take(found, isComplete: answers.allSatisfy(\.isComplete))
        answers = []
    }

    /// Adds a portion, each item once.
    private mutating func take(_ found: [FoundItem], isComplete: Bool) {
        // Only items of the last moment come again.
        let known = Set(lastMoment)
        let new = found.filter { !known.contains($0) }
        items += new.prefix(Self.limit - items.count)
        // After a portion without anything new, the next one would be the same.
        self.isComplete = isComplete || new.isEmpty && !known.isEmpty
        request = nil
        failure = nil
    }

    mutating func fail(_ words: String) {
        // Results of other networks are shown all the same.
        guard awaited <= 1, answers.isEmpty else { return take(Answer(items: [], isComplete: true)) }
        request = nil
        failure = words
    }

    /// Selects a row, or the nearest one.
    mutating func select(_ index: Int) {
        let place = min(max(0, index), max(0, items.count - 1))
        guard place != selected else { return }
        selected = place
        readerScroll = 0
    }
}

/// A search result, cut to what is shown: a thousand of them may be large.
enum FoundItem: Hashable, Sendable {
    case message(FoundMessage)
    case letter(KeptLetter)

    /// The most Unicode scalars kept of a message, and of a letter.
    private static let messageLength = 4_096
    private static let letterLength = 16_384

    init(_ hit: SearchHit) {
        switch hit {
        case .message(let kept):
            let message = kept.message
            let text = message?.shownText ?? "(a message of \(kept.payload.count) bytes that cannot be read)"
            self = .message(
                FoundMessage(
                    topic: kept.topic, place: kept.place, id: message?.id ?? "unreadable-\(kept.place.sequence)",
                    from: kept.from ?? "",
                    time: kept.time, text: Self.cut(text, Self.messageLength)))
        case .letter(var letter):
            letter.text = Self.cut(letter.text, Self.letterLength)
            self = .letter(letter)
        }
    }

    /// Whether a letter that was found was cut.
    static func isCut(_ letter: String) -> Bool { letter.unicodeScalars.count > letterLength }

    private static func cut(_ text: String, _ length: Int) -> String {
        guard text.utf8.count > length else { return text }
        let scalars = text.unicodeScalars
        let kept = scalars.prefix(length)
        return kept.endIndex == scalars.endIndex ? text : String(kept) + "\n… it goes on"
    }

    /// When the server stored it.
    var time: Timestamp {
        switch self {
        case .message(let message): message.time
        case .letter(let letter): letter.time
        }
    }
}

struct FoundMessage: Hashable, Sendable {
    let topic: String
    let place: KeptPlace
    let id: String
    let from: String
    let time: Timestamp
    let text: String
}

/// The results of `/search`. Enter goes to a message in its place, or opens a letter.
struct SearchPane: Pane {
    let search: Search

    enum Action: String, KeyAction {
        static let title = "Search"
        static let tableName = "search"

        case open, escape, up, down, toBeginning, toEnd

        var binding: KeyBinding {
            switch self {
            case .open: KeyBinding(.enter, "go to the message; open the letter, or close it", hint: "go to it")
            case .escape: KeyBinding(.escape, "close the letter or the search", hint: "close")
            case .up: KeyBinding(.up, "up")
            case .down: KeyBinding(.down, "down")
            case .toBeginning: KeyBinding(.home, "the newest that was found")
            case .toEnd: KeyBinding(.end, "the last of the list, and more of it")
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        switch action {
        case .up: return select(search.selected - 1, on: model)
        case .down: return select(search.selected + 1, on: model)
        case .toBeginning: return select(0, on: model)
        case .toEnd: return select(search.items.count - 1, on: model)
        case .open: return open(on: model)
        case .escape: model.escape()
        }
        return []
    }

    /// Selects a row; at the list's end, fetches more.
    private func select(_ index: Int, on model: ChatModel) -> ChatEffects {
        model.screen.view.search?.select(index)
        return index >= search.items.count - 1 && search.hasMore ? model.fetchFound() : []
    }

    private func open(on model: ChatModel) -> ChatEffects {
        switch search.selectedItem {
        case .message(let message): return model.openFound(message, of: search)
        case .letter:
            model.screen.view.search?.isReading.toggle()
            model.screen.view.search?.readerScroll = 0
        case nil: break
        }
        return []
    }

    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects {
        guard search.openLetter != nil else { return select(search.selected - lines, on: model) }
        let last = SearchLayout(search: search, area: model.layout(on: model.size).main).lastReaderScroll
        model.screen.view.search?.readerScroll = min(max(0, search.readerScroll - lines), last)
        return []
    }

    /// A click selects a row, a second one opens it.
    func click(at place: Position, _ layout: ScreenLayout, on model: ChatModel) -> ChatEffects {
        let table = SearchLayout(search: search, area: layout.main).table
        let index = search.firstVisible + place.row - table.row
        guard table.contains(place), search.items.indices.contains(index) else { return [] }
        return index == search.selected ? open(on: model) : select(index, on: model)
    }

    func escape(on model: ChatModel) -> Bool {
        guard search.openLetter != nil else { return false }
        model.screen.view.search?.isReading = false
        return true
    }

    func settle(_ layout: ScreenLayout, on model: ChatModel) {
        let rows = SearchLayout(search: search, area: layout.main).table.rows
        let first = ChatModel.window(
            around: search.selected, from: search.firstVisible, rows: rows, count: search.items.count)
        if first != search.firstVisible { model.screen.view.search?.firstVisible = first }
    }

    func addressee(in model: ChatModel) -> Addressee {
        let keys = [(Action.open, "goes to a message"), (.escape, "closes the list")]
            .compactMap { action, words in
                model.settings.keys.label(of: action, in: Self.self).map { "\($0) \(words)" }
            }
        let words = "This is what was found" + (keys.isEmpty ? "." : ": \(keys.joined(separator: ", ")).")
        return .nobody(words, hint: "/search WORDS")
    }

    func draw(in frame: Frame) { frame.drawSearch(search) }

    func position(in frame: Frame) -> String {
        let count = search.items.count
        return count == 0 ? "0/0" : "\(search.selected + 1)/\(count)\(search.hasMore ? "+" : "")"
    }

    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse {
        action != .open || search.selectedItem != nil ? .useful : .idle
    }
}

extension ChatModel {
    /// The search in view, or the one that the person has come from.
    var search: Search? {
        screen.view.search ?? screen.trail.last { $0.search != nil }?.search
    }

    /// Goes to a result by its number, from 1.
    func openFound(_ number: Int) -> ChatEffects {
        guard var search else { return tell("There is no search yet. /search WORDS starts one.", .failure) }
        guard search.items.indices.contains(number - 1) else {
            let count = search.items.count
            let found = "\(Wording.count(count, "thing")) \(count == 1 ? "was" : "were")"
            return tell("\(found) found; there is no \(number).", .failure)
        }
        search.select(number - 1)
        search.isReading = false
        let before = screen.trail.firstIndex { $0.search != nil }
        if let before { screen.trail.removeSubrange(before...) }
        screen.view = .search(search)
        screen.marks.found = nil
        screen.focus = .main
        switch search.items[number - 1] {
        case .message(let message): return openFound(message, of: search)
        case .letter(let letter): read(reader(of: letter))
        }
        return []
    }

    /// Goes to a message that was found, on any network of the window.
    fileprivate func openFound(_ message: FoundMessage, of search: Search) -> ChatEffects {
        guard let chat = search.places[.message(message)] else { return openFound(message, search.query) }
        return .screen(.showChat(chat, .found(message, search.query)))
    }

    func reader(of letter: KeptLetter) -> Reader {
        var reader = reader(
            letter.text, from: letter.person, in: letter.postbox, at: letter.time, about: letter.subject,
            fileName: LetterFile.name(of: letter.person, at: letter.time))
        reader.isCut = FoundItem.isCut(letter.text)
        if letter.direction == .sent { reader.sent = letter }
        return reader
    }

    func search(_ text: String) -> ChatEffects {
        showOver(.search(Search(text, secondsFromGMT: zone.secondsFromGMT(at: now.wall))))
        return fetchFound()
    }

    /// Asks for the next portion, unless one is being fetched.
    func fetchFound() -> ChatEffects {
        guard let search = screen.view.search, search.request == nil else { return [] }
        let request = newNumber()
        let (query, limit) = search.next
        screen.view.search?.request = request
        screen.view.search?.awaited = max(1, window.chats.count)
        let own: ChatEffects = [.search(.find(request: request, query, limit: limit))]
        return window.chats.count > 1 ? own + .screen(.searchElsewhere(request: request, query, limit: limit)) : own
    }

    /// Handles results, wherever their search is by now.
    func handleSearchNews(_ news: ChatEvent.SearchNews) {
        switch news {
        case .found(let request, let items, let isComplete, _):
            changeSearch(of: request) { $0.take(Search.Answer(items: items, isComplete: isComplete)) }
        case .foundElsewhere(let request, let answer):
            changeSearch(of: request) { $0.take(answer) }
        case .failed(let request, let words, _):
            changeSearch(of: request) { $0.fail(words) }
        case .around(let request, let part):
            takeExcerpt(part, of: request)
        case .aroundFailed(let request, let words):
            failExcerpt(words, of: request)
        }
    }

    private func changeSearch(of request: UInt64, _ change: (inout Search) -> Void) {
        func changeSearch(in view: inout MainView) {
            guard var search = view.search, search.request == request else { return }
            change(&search)
            view.search = search
        }
        changeSearch(in: &screen.view)
        for index in screen.trail.indices { changeSearch(in: &screen.trail[index]) }
    }

    /// Without a connection: the time up to which the stored messages are complete, if that is known.
    var storedThrough: Timestamp? {
        if let began = network.status.outageBegan,
            network.conversations.all.contains(where: { $0.subscription == .live })
        {
            let (seconds, attoseconds) = began.duration(to: now.instant).components
            return Timestamp(
                milliseconds: now.wall.milliseconds - seconds * 1_000 - attoseconds / 1_000_000_000_000_000)
        }
        return network.conversations.all.compactMap { $0.rows.last?.time ?? $0.keptThrough }.max()
    }
}
