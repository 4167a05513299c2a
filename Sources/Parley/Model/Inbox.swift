import Relay

/// The postbox as the person sees it: its boxes with their counts, one page of letters, marks, and a running deletion.
struct Inbox: Equatable, Sendable {
    /// The person's postboxes.
    var boxes: [Postbox] = []
    /// Letters in each postbox, by its id, as the network counts them.
    var counts: [String: Int] = [:]
    /// Letters of each postbox that were read, by its id, as far as this machine knows.
    private(set) var readCounts: [String: Int] = [:]
    /// Letters that were opened here.
    private(set) var opened = BoundedSet(limit: 4_096)
    /// Those among them that are still to be kept as read, with their postboxes.
    private var newlyRead: [ReadLetter] = []
    /// Letters that are known to be deleted: a list made a moment ago cannot bring them back.
    private(set) var tombstones = BoundedSet(limit: 4_096)
    /// The page on the screen.
    var letters: [PostboxMessage] = []
    /// The token after the page on the screen; nil on the last page.
    var nextToken: String?
    /// The tokens that led here, one per page; the first page has none.
    var trail: [String?] = [nil]
    /// The page being fetched; nil when none is.
    var fetch: Fetch?
    /// What the person has asked for meanwhile of that page, oldest first.
    private(set) var held: [Held] = []
    /// Why the last fetch failed.
    var failure: String?
    /// Whether the page holds what the network last said, or this machine keeps.
    var isLoaded = false
    /// That the page is what this machine keeps; nil where the network told it.
    var kept: Kept?
    /// The letters' ids in the order in which they were listed, or came later: their numbers stay when some are deleted.
    private(set) var numbered: [String] = []
    /// The selected row.
    var selected = 0
    /// The first row shown.
    var firstVisible = 0
    /// The marked letters.
    var marked: Set<String> = []
    /// The letter that is open in the reader.
    var open: String?
    /// Lines of the open letter above the reader's upper edge.
    var readerScroll = 0
    /// Letters being deleted.
    var deletion: Deletion?
    /// Whether letters came that the page has no room for.
    var hasNewer = false

    /// Letters on one page; also what one bulk deletion may take.
    static let pageSize = 25
    /// The most letters that stay on the screen when new ones are added to the last page.
    static let screenLimit = 100
    /// What is held for a page at most.
    static let heldLimit = 32
    /// Pages that can be walked back.
    static let trailLimit = 10_000

    /// What is known of a page that this machine keeps.
    struct Kept: Hashable, Sendable {
        /// When the network listed letters last; nil where it never did.
        let asOf: Timestamp?
    }

    /// A page on its way.
    struct Fetch: Equatable, Sendable {
        let request: UInt64
        /// The trail that will hold once the page is here.
        let trail: [String?]
    }

    /// Something that waits for the page that it is meant for.
    enum Held: Hashable, Sendable {
        case action(KeyAction)
        case scroll(up: Int)
    }

    /// A deletion under way, one chunk at a time.
    struct Deletion: Equatable, Sendable {
        let request: UInt64
        /// The letters of the chunk that is with the network.
        var current: [String]
        /// Those after it.
        var waiting: [String]
        var total: Int
        var deleted = 0
        /// Letters that could not be deleted, and why the last could not.
        var failed: [String] = []
        var lastFailure: String?

        /// Letters that are dealt with, one way or the other.
        var done: Int { deleted + failed.count }
    }

    /// The page's number, from 1.
    var pageNumber: Int { trail.count }

    /// Whether a later page exists.
    var hasMore: Bool { nextToken != nil || hasNewer }

    /// The selected letter.
    var selectedLetter: PostboxMessage? {
        letters.indices.contains(selected) ? letters[selected] : nil
    }

    /// The open letter.
    var openLetter: PostboxMessage? {
        guard let open else { return nil }
        return letters.first { $0.id == open }
    }

    /// Whether a letter was not opened here yet.
    func isUnread(_ letter: PostboxMessage) -> Bool { !opened.contains(letter.id) }

    /// Letters of a postbox that were not read.
    func unreadCount(ofBox id: String) -> Int { max(0, (counts[id] ?? 0) - (readCounts[id] ?? 0)) }

    /// Letters in all postboxes that were not read.
    var unreadCount: Int { counts.keys.reduce(0) { $0 &+ unreadCount(ofBox: $1) } }

    /// Whether a letter is on its way out.
    func isBeingDeleted(_ id: String) -> Bool {
        guard let deletion else { return false }
        return deletion.current.contains(id) || deletion.waiting.contains(id)
    }

    /// The postbox's name for its id; the id itself where the name is not known.
    func name(ofBox id: String) -> String {
        boxes.first { $0.id == id }?.name ?? id
    }

    /// Whether what is asked for now is meant for a page that is still on its way: the first, or another one than is here.
    var awaitsPage: Bool {
        guard let fetch else { return false }
        return !isLoaded || fetch.trail.count != trail.count || !held.isEmpty
    }

    // MARK: Changes

    /// Holds something until the page is here; false where there is no page to wait for.
    mutating func hold(_ next: Held) -> Bool {
        switch next {
        // A letter is begun without any page, and that one is being listed already.
        case .action(.write), .action(.refresh): return false
        // No two pages are fetched at once.
        case .action(.nextPage), .action(.previousPage): guard fetch != nil else { return false }
        case .action, .scroll: guard awaitsPage else { return false }
        }
        if held.count < Self.heldLimit { held.append(next) }
        return true
    }

    /// The next of what was held, once its page is here.
    mutating func takeHeld() -> Held? { fetch != nil || held.isEmpty ? nil : held.removeFirst() }

    /// Forgets what was held.
    mutating func dropHeld() { if !held.isEmpty { held = [] } }

    /// Opens the selected letter.
    mutating func openSelected() {
        guard let letter = selectedLetter else { return }
        open = letter.id
        readerScroll = 0
        guard isUnread(letter) else { return }
        opened.insert(letter.id)
        readCounts[letter.postboxId, default: 0] += 1
        newlyRead.append(ReadLetter(id: letter.id, postbox: letter.postboxId))
    }

    /// A letter that was read.
    struct ReadLetter: Hashable, Sendable {
        let id: String
        let postbox: String
    }

    /// What was read since this was asked last.
    mutating func takeNewlyRead() -> [ReadLetter] {
        defer { newlyRead = [] }
        return newlyRead
    }

    /// Takes in what the local store knows.
    ///
    /// - Parameter counts: how many were read of each postbox; nil where something was read since it was asked.
    mutating func noteRead(_ ids: Set<String>, counts: [String: Int]?) {
        for id in ids { opened.insert(id) }
        if let counts { readCounts = counts }
    }

    /// Takes in a page.
    mutating func show(_ output: ListOutput<PostboxMessage>, trail newTrail: [String?]) {
        letters = output.items.filter { !tombstones.contains($0.id) }
        nextToken = output.nextToken
        trail = newTrail
        fetch = nil
        failure = nil
        kept = nil
        isLoaded = true
        hasNewer = false
        numbered = letters.map(\.id)
        let present = Set(numbered)
        marked.formIntersection(present)
        if let open, !present.contains(open) { self.open = nil }
        clampSelection()
    }

    /// Takes in a letter that was just created; false when it was known.
    mutating func add(_ letter: PostboxMessage, shownBox: String?) -> Bool {
        guard !tombstones.contains(letter.id), !letters.contains(where: { $0.id == letter.id }) else { return false }
        guard isLoaded, nextToken == nil, shownBox == nil || shownBox == letter.postboxId else { return true }
        if letters.count < Self.screenLimit {
            letters.append(letter)
            numbered.append(letter.id)
        } else {
            hasNewer = true
        }
        return true
    }

    /// Takes letters away that are deleted.
    mutating func remove(_ ids: [String]) {
        let gone = Set(ids)
        for id in ids { tombstones.insert(id) }
        let wasSelected = selectedLetter?.id
        let before = letters.prefix(selected).count { gone.contains($0.id) }
        for letter in letters where gone.contains(letter.id) {
            if let count = counts[letter.postboxId] { counts[letter.postboxId] = max(0, count - 1) }
            guard !isUnread(letter), let count = readCounts[letter.postboxId] else { continue }
            readCounts[letter.postboxId] = max(0, count - 1)
        }
        letters.removeAll { gone.contains($0.id) }
        marked.subtract(gone)
        if let open, gone.contains(open) { self.open = nil }
        selected -= before
        if let wasSelected, !gone.contains(wasSelected), let index = letters.firstIndex(where: { $0.id == wasSelected })
        {
            selected = index
        }
        clampSelection()
    }

    /// Keeps the selection on a row.
    mutating func clampSelection() {
        selected = min(max(0, selected), max(0, letters.count - 1))
        firstVisible = min(max(0, firstVisible), max(0, letters.count - 1))
    }

    /// Forgets the page, as when another postbox is opened.
    mutating func reset() {
        letters = []
        numbered = []
        nextToken = nil
        trail = [nil]
        fetch = nil
        held = []
        failure = nil
        kept = nil
        isLoaded = false
        selected = 0
        firstVisible = 0
        marked = []
        open = nil
        hasNewer = false
    }
}

/// A set that forgets its oldest members beyond a limit.
struct BoundedSet: Equatable, Sendable {
    private var members: Set<String> = []
    private var order: [String] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    func contains(_ member: String) -> Bool { members.contains(member) }

    mutating func insert(_ member: String) {
        guard members.insert(member).inserted else { return }
        order.append(member)
        guard order.count > limit + limit / 8 else { return }
        for old in order.prefix(order.count - limit) { members.remove(old) }
        order.removeFirst(order.count - limit)
    }
}
