import Relay

/// The postbox as the person sees it: its boxes with their counts, one page of letters, marks, and a running deletion.
struct Inbox: Equatable, Sendable {
    private(set) var boxes: [Postbox] = []
    /// When the network last reported them; nil if it never did.
    private(set) var boxesAsOf: Timestamp?
    /// Whether they are from an earlier run, or the network did not answer.
    private(set) var areBoxesOld = false
    /// The number of letters in each postbox, by its id, as the network counts them.
    var counts: [String: Int] = [:]
    /// The number of letters read in each postbox, by its id, as far as this machine knows.
    private(set) var readCounts: [String: Int] = [:]
    /// Letters that were opened here.
    private(set) var opened = RecentSet<String>(capacity: 4_096)
    private var newlyRead: [PostboxMessage] = []
    /// The page in the order of the list, with letters that arrived since.
    private(set) var page: [PostboxMessage] = []
    /// The letters shown: those that the filter lets through, sorted.
    private(set) var letters: [PostboxMessage] = []
    /// The token of the next page along the trail; nil at its end.
    private(set) var nextToken: String?
    private(set) var trail = Trail()
    /// The number of letters that this page was requested with.
    private(set) var pageSize = 25
    var fetch: Fetch?
    /// Whether the page, or the one being fetched, may have been listed before a deletion ended.
    private var isOutdated = false
    /// Whether letters of the page were deleted, so that there is room for others.
    private var isThinned = false
    /// Letters that arrived while a page was being fetched, oldest first: it may have been listed before.
    private(set) var arrivals: [PostboxMessage] = []
    /// The number of letters that arrived since, and are on other pages.
    private(set) var newer = 0
    /// What the person has asked for of the page being fetched, oldest first.
    private(set) var held: [Held] = []
    var failure: String?
    /// Whether there is a page, from the network or from this machine.
    private(set) var isLoaded = false
    /// Set if the page is what this machine keeps; nil if it is from the network.
    var kept: Kept?
    /// The letters' ids in the order listed or arrived, so that numbers stay when some are deleted. These are the
    /// numbers where letters are printed; on a screen a number is that of a row.
    private(set) var numbered: [String] = []
    private(set) var selected = 0
    /// Whether the person has chosen the selected letter, or does something with it. Until then the first row is
    /// selected, whichever letter is there.
    private var isChosen = false
    var firstVisible = 0
    private(set) var filter: Filter?
    private(set) var sort = Sort.list
    /// The postboxes of the marked letters, on any page, by the letters' ids.
    private(set) var marks: [String: String] = [:]
    private(set) var lastMark: String?
    var open: String?
    /// The number of lines of the open letter above the reader's edge.
    var readerScroll = 0
    var deletion = Deletion()
    /// The postbox that was listed last; nil for all.
    private var listed: String?
    /// The pass that marks letters on any page; nil if there is none.
    var marking: Sweep?
    /// What the filter finds on any page; nil if it looks through this page only.
    var finding: Matches?

    /// The most letters on the screen when new ones are added to a page.
    static let screenLimit = 100
    static let boxLimit = 1_000
    static let heldLimit = 32
    static let trailLimit = 10_000
    static let markLimit = 10_000

    struct Kept: Hashable, Sendable {
        /// When the network last listed letters, or the newest one arrived; nil if neither is known.
        let asOf: Timestamp?
    }

    struct Fetch: Equatable, Sendable {
        let request: UInt64
        /// The trail once the page is here.
        let trail: Trail
        let limit: Int
    }

    /// Something that waits for the page that it applies to.
    enum Held: Hashable, Sendable {
        case action(InboxPane.Action)
        case scroll(up: Int)
    }

    /// Whether something waits for a page that is being fetched.
    enum PageWait: Hashable, Sendable {
        /// It needs no page, or that one is being listed already.
        case never
        /// Two pages are never fetched at once.
        case forAnyPage
        /// It applies to what the page will show.
        case forItsPage
    }

    // MARK: The postboxes

    mutating func take(_ boxes: [Postbox], at moment: Timestamp) {
        self.boxes = Array(boxes.prefix(Self.boxLimit))
        boxesAsOf = moment
        areBoxesOld = false
    }

    /// Adds what this machine keeps of the postboxes and their letter counts, unless the network has reported them.
    mutating func take(_ kept: KeptPostboxes?, counts: [String: Int]) {
        if self.counts.isEmpty { self.counts = counts }
        guard boxesAsOf == nil, let kept else { return }
        take(kept.items, at: kept.asOf)
        areBoxesOld = true
    }

    /// Notes that the network did not answer a request for the postboxes.
    mutating func boxesWereNotTold() { areBoxesOld = boxesAsOf != nil }

    func title(ofBox id: String) -> String {
        boxes.first { $0.id == id }?.title ?? id
    }

    /// The postbox's title, with its name if that differs; the id if neither is known.
    func fullName(ofBox id: String) -> String {
        boxes.first { $0.id == id }?.fullName ?? id
    }

    /// The postboxes after a change to one of them, if the network has not listed them since.
    func boxes(after act: PostboxAct, _ changed: Postbox) -> [Postbox] {
        let others = boxes.filter { $0.id != changed.id }
        if case .delete = act { return others }
        guard let place = boxes.firstIndex(where: { $0.id == changed.id }) else { return others + [changed] }
        var after = boxes
        after[place] = changed
        return after
    }

    var hasPersonas: Bool {
        guard let first = boxes.first?.sudoId else { return false }
        return boxes.contains { $0.sudoId != first }
    }

    // MARK: What is known

    var selectedLetter: PostboxMessage? {
        letters.indices.contains(selected) ? letters[selected] : nil
    }

    var openLetter: PostboxMessage? {
        guard let open else { return nil }
        return letters.first { $0.id == open } ?? page.first { $0.id == open }
    }

    func isUnread(_ letter: PostboxMessage) -> Bool { !opened.contains(letter.id) }

    func unreadCount(ofBox id: String) -> Int { max(0, (counts[id] ?? 0) - (readCounts[id] ?? 0)) }

    var unreadCount: Int { counts.keys.reduce(0) { $0 &+ unreadCount(ofBox: $1) } }

    func isBeingDeleted(_ id: String) -> Bool { deletion.contains(id) }

    /// Whether a request now applies to a page that is still being fetched: the first, or another one than is here.
    var awaitsPage: Bool {
        guard let fetch else { return false }
        return !isLoaded || fetch.trail != trail || !held.isEmpty
    }

    // MARK: Waiting for a page

    /// Holds something until its page is here; false if there is none to wait for.
    mutating func hold(_ next: Held) -> Bool {
        let wait = if case .action(let action) = next { action.wait } else { PageWait.forItsPage }
        switch wait {
        case .never: return false
        case .forAnyPage: guard fetch != nil else { return false }
        case .forItsPage: guard awaitsPage else { return false }
        }
        if held.count < Self.heldLimit { held.append(next) }
        return true
    }

    mutating func takeHeld() -> Held? { fetch != nil || held.isEmpty ? nil : held.removeFirst() }

    mutating func dropHeld() { if !held.isEmpty { held = [] } }

    mutating func openSelected() {
        guard let letter = selectedLetter else { return }
        isChosen = true
        open = letter.id
        readerScroll = 0
        guard isUnread(letter) else { return }
        opened.insert(letter.id)
        readCounts[letter.postboxId, default: 0] += 1
        newlyRead.append(letter)
    }

    /// Selects a letter, or the nearest one; an open reader follows.
    mutating func select(_ index: Int) {
        let before = selected
        choose(index)
        if open != nil, selected != before { openSelected() }
    }

    /// Makes a letter, or the nearest one, the person's choice: it stays selected while others arrive.
    mutating func choose(_ index: Int) {
        selected = index
        clampSelection()
        isChosen = selectedLetter != nil
    }

    /// Selects the first row, whichever letter is there, until the person chooses one.
    mutating func selectFirst() { (selected, firstVisible, isChosen) = (0, 0, false) }

    /// Returns the letters read since the last call.
    mutating func takeNewlyRead() -> [PostboxMessage] {
        defer { newlyRead = [] }
        return newlyRead
    }

    /// Adds what the local store knows; `counts` is nil if a letter was read since it was asked.
    mutating func noteRead(_ ids: Set<String>, counts: [String: Int]?) {
        // A letter that is being read stays; one read in an earlier run only looked unread.
        let isOld = selectedLetter.map { isUnread($0) && ids.contains($0.id) } ?? false
        for id in ids { opened.insert(id) }
        if let counts { readCounts = counts }
        if filter?.isUnread == true { arrange(keepsSelected: !isOld) }
    }

    // MARK: The page

    /// Notes that a page is being fetched. It will not have what is deleted by now: the core leaves out what a lagging
    /// server still lists.
    mutating func begin(_ fetch: Fetch) {
        self.fetch = fetch
        (isOutdated, isThinned) = (false, false)
    }

    /// Whether the page has to be listed again, be it only to have as many letters as were requested (`fillsRows`).
    func needsListing(fillsRows: Bool) -> Bool {
        if isOutdated { return isLoaded || fetch != nil }
        guard isThinned, isLoaded, fetch == nil, finding == nil else { return false }
        if page.isEmpty, trail.count > 1 { return true }
        guard nextToken != nil || isAtNewest && newer > 0 else { return false }
        return page.isEmpty || fillsRows && page.count < pageSize
    }

    /// Shows a page. Letters that arrived while it was being fetched are added if it lacks them.
    ///
    /// - Parameter isFromNetwork: whether it is from the network. What this machine keeps does not tell what was
    ///   deleted.
    mutating func show(_ output: ListOutput<PostboxMessage>, by fetch: Fetch, isFromNetwork: Bool = true) {
        let before = isFromNetwork && isLoaded && fetch.trail == trail ? page : []
        trail = fetch.trail
        page = trail.isFromEnd ? output.items.reversed() : output.items
        nextToken = output.nextToken
        pageSize = fetch.limit
        self.fetch = nil
        failure = nil
        kept = nil
        isLoaded = true
        finding = nil
        newer = 0
        numbered = page.map(\.id)
        let present = Set(numbered)
        // A letter that the list lacks, though it arrived before one that the list has, was deleted meanwhile.
        let known = arrivals.lastIndex { present.contains($0.id) }.map { $0 + 1 } ?? 0
        let missing = arrivals[known...]
        arrivals = []
        for letter in missing { place(letter) }
        unmarkGone(before, since: output)
        if let open, !page.contains(where: { $0.id == open }) { self.open = nil }
        arrange()
    }

    /// Unmarks letters that were on this page and would be on the new one if they still existed. One that has only
    /// moved to the next page keeps its mark.
    private mutating func unmarkGone(_ before: [PostboxMessage], since output: ListOutput<PostboxMessage>) {
        guard !marks.isEmpty, !before.isEmpty else { return }
        let present = Set(page.map(\.id))
        let end = output.nextToken == nil ? nil : output.items.last?.createdAt
        if output.nextToken != nil, end == nil { return }
        let isNewestFirst = trail.listOrder == .newestFirst
        let gone = before.filter { letter in
            guard !present.contains(letter.id) else { return false }
            guard let end else { return true }
            return isNewestFirst ? letter.createdAt > end : letter.createdAt < end
        }
        unmark(gone.map(\.id))
    }

    /// Adds a letter that was just created; false if it was known.
    mutating func add(_ letter: PostboxMessage, shownBox: String?) -> Bool {
        let isKnown = page.contains { $0.id == letter.id } || arrivals.contains { $0.id == letter.id }
        guard !isKnown else { return false }
        guard shownBox == nil || shownBox == letter.postboxId else { return true }
        if fetch != nil {
            arrivals.append(letter)
            if arrivals.count > Self.screenLimit { arrivals.removeFirst() }
        }
        guard isLoaded else { return true }
        place(letter)
        if let filter, filter.lets(through: letter, of: self) { finding?.add(letter, trail.order) }
        arrange()
        return true
    }

    private mutating func place(_ letter: PostboxMessage) {
        guard isAtNewest, page.count < Self.screenLimit else { return newer += 1 }
        if trail.order == .newestFirst { page.insert(letter, at: 0) } else { page.append(letter) }
        numbered.append(letter.id)
    }

    /// Cuts the page to the length that it was listed with, however many letters have arrived: the rest is on the next
    /// page. The chosen letter and the open one stay.
    mutating func keepLength() {
        // A list that was begun at its end has its next pages already.
        guard !trail.isFromEnd else { return }
        let chosen = isChosen ? selectedLetter?.id : nil
        let before = page.count
        while page.count > pageSize, let last = page.last, last.id != open, last.id != chosen,
            let place = PostboxMessageID(last.id)
        {
            page.removeLast()
            nextToken =
                PageToken(incarnation: place.incarnation, sequence: place.sequence, order: trail.listOrder).text
            if trail.order == .oldestFirst { newer += 1 }
        }
        if page.count < before { arrange() }
    }

    /// Applies the result of a deletion: what is gone is removed, and what stays is marked as before. Lists that were
    /// requested earlier are requested again. False if no deletion was running.
    mutating func endDeletion(_ result: BulkDeletion) -> Bool {
        guard let run = deletion.end() else { return false }
        let gone = Set(result.gone)
        unmark(gone)
        markAgain(run.marks.filter { !gone.contains($0.key) })
        isOutdated = isOutdated || !result.unknown.isEmpty || fetch != nil && !gone.isEmpty
        guard !gone.isEmpty else { return true }
        for letter in page where gone.contains(letter.id) {
            isThinned = true
            if let count = counts[letter.postboxId] { counts[letter.postboxId] = max(0, count - 1) }
            guard !isUnread(letter), let count = readCounts[letter.postboxId] else { continue }
            readCounts[letter.postboxId] = max(0, count - 1)
        }
        page.removeAll { gone.contains($0.id) }
        arrivals.removeAll { gone.contains($0.id) }
        marking?.isOutdated = true
        finding?.remove(gone)
        if let open, gone.contains(open) { self.open = nil }
        arrange()
        return true
    }

    mutating func clampSelection() {
        selected = min(max(0, selected), max(0, letters.count - 1))
        firstVisible = min(max(0, firstVisible), max(0, letters.count - 1))
    }

    /// Forgets the page, as when another postbox is opened. The order of letters stays, and so does a filter for unread
    /// ones alone; one still being typed is then kept.
    mutating func reset() {
        var new = Inbox()
        (new.boxes, new.boxesAsOf, new.areBoxesOld) = (boxes, boxesAsOf, areBoxesOld)
        (new.counts, new.readCounts, new.opened, new.newlyRead) = (counts, readCounts, opened, newlyRead)
        (new.deletion, new.listed) = (deletion, listed)
        (new.trail.order, new.sort, new.pageSize) = (trail.order, sort, pageSize)
        new.filter = filter?.terms == [.unread] ? .unread : nil
        new.readerScroll = readerScroll
        self = new
    }

    // MARK: Filter and sort

    /// Restores the choices of an earlier run, except those that were made again, or are being listed, since the start.
    mutating func bringBack(_ order: LetterOrder, _ sort: Sort, isUnreadAlone: Bool) {
        if !isLoaded, fetch == nil { trail = Trail(order: order) }
        if self.sort == .list { self.sort = sort }
        if filter == nil, isUnreadAlone { filter = .unread }
        arrange()
    }

    mutating func setFilter(_ new: Filter?) {
        let isSame = filter?.terms == new?.terms
        filter = new
        guard !isSame else { return }
        if let new, !new.terms.isEmpty, let found = finding?.letters {
            // Until the filter has searched for itself, it shows what it lets through of the earlier results.
            let stays = found.filter { new.lets(through: $0, of: self) }
            finding?.letters = stays
        }
        let before = selectedLetter?.id
        arrange(keepsSelected: false)
        // The letter next to one that the filter hides was not chosen.
        if selectedLetter?.id != before { selectFirst() }
        if let open, !letters.contains(where: { $0.id == open }) { self.open = nil }
    }

    mutating func sortNext() {
        sort = sort.next
        arrange()
    }

    /// Computes the rows. The selection stays on the letter that the person has chosen, or goes to the next one left.
    /// If none was chosen, it stays on the first row.
    ///
    /// - Parameter keepsSelected: whether the selected letter stays even if the filter would hide it by now, such as an
    ///   unread one that is being read.
    private mutating func arrange(keepsSelected: Bool = true) {
        let (before, place) = (letters, selected)
        let shown = shown(keeping: keepsSelected ? selectedLetter?.id : nil)
        letters = sort.sorted(shown, in: self)
        guard isChosen, !letters.isEmpty else { return selectFirst() }
        let rows = Dictionary(letters.enumerated().map { ($1.id, $0) }) { first, _ in first }
        let following = before.dropFirst(place).lazy.compactMap { rows[$0.id] }.first
        selected = following ?? place
        // Rows do not move under the eyes of a person who has gone down the list.
        if firstVisible > 0 { firstVisible += selected - place }
        clampSelection()
    }

    /// The letters that the filter lets through, in the order of the list: those of this page, and those found
    /// elsewhere. One letter stays even if the filter would hide it by now.
    private func shown(keeping id: String?) -> [PostboxMessage] {
        guard let filter else { return page }
        var found: [PostboxMessage] = []
        if !filter.terms.isEmpty, let finding {
            found = filter.isUnread ? finding.letters.filter { isUnread($0) || $0.id == id } : finding.letters
            // Until the search has ended, the page may have letters that it has not reached.
            if finding.isList(for: filter) { return found }
        }
        let ids = Set(found.map(\.id))
        return found
            + page.filter { !ids.contains($0.id) && ($0.id == id || filter.lets(through: $0, of: self)) }
    }

    mutating func found(_ letters: [PostboxMessage], in portion: LetterPortion) {
        finding?.take(letters, portion)
        arrange()
    }

    mutating func endFinding(_ end: Sweep.End) {
        finding?.end = end
        arrange()
    }

    mutating func dropFinding() {
        guard finding != nil else { return }
        finding = nil
        arrange()
    }

    // MARK: Marks

    var marked: Set<String> { Set(marks.keys) }

    func isMarked(_ id: String) -> Bool { marks[id] != nil }

    /// The postboxes of the marked letters among `ids`, by the letters' ids.
    func marks(of ids: [String]) -> [String: String] {
        ids.reduce(into: [:]) { $0[$1] = marks[$1] }
    }

    /// Marks letters; false if there are too many.
    mutating func mark(_ letters: [PostboxMessage]) -> Bool {
        let new = letters.filter { !isBeingDeleted($0.id) && !isMarked($0.id) }
        guard marks.count + new.count <= Self.markLimit else { return false }
        for letter in new { marks[letter.id] = letter.postboxId }
        lastMark = letters.last?.id ?? lastMark
        return true
    }

    mutating func unmark(_ ids: some Sequence<String>) { for id in ids { marks[id] = nil } }

    /// Marks letters again that were to be deleted and stay; if there are too many, the first ones.
    mutating func markAgain(_ stays: [String: String]) {
        let room = max(0, Self.markLimit - marks.count)
        let new = stays.filter { !isMarked($0.key) && !isBeingDeleted($0.key) }
        // Which ones are left out must not depend on a dictionary's order.
        let kept = new.count <= room ? Array(new) : Array(new.sorted { $0.key < $1.key }.prefix(room))
        for (id, box) in kept { marks[id] = box }
    }

    /// Notes the postbox that is listed; nil for all. Letters of another list are not marked again in this one.
    mutating func list(_ box: String?) {
        if listed != box { deletion.forgetMarks() }
        listed = box
    }

    mutating func unmarkAll() {
        marks = [:]
        lastMark = nil
        marking = nil
    }

    /// The rows from the letter that was marked last to the selected one; nil if that letter is not shown.
    var rangeFromLastMark: [PostboxMessage]? {
        guard let lastMark, let start = letters.firstIndex(where: { $0.id == lastMark }),
            letters.indices.contains(selected)
        else { return nil }
        return Array(letters[min(start, selected)...max(start, selected)])
    }

    /// The letters that a key deletes: the marked ones, those shown first, or the selected one if none is marked.
    var lettersToDelete: [String] {
        guard !marks.isEmpty else {
            return letters.dropFirst(selected).prefix(1).map(\.id).filter { !isBeingDeleted($0) }
        }
        let shown = letters.map(\.id).filter { isMarked($0) }
        return shown + marked.subtracting(shown).sorted()
    }

    /// The number of marked letters that are shown.
    var markedShown: Int { letters.count { isMarked($0.id) } }
}

extension Postbox {
    var fullName: String { hasTitle ? "\(title) (\(name))" : name }
}
