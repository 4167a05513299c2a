import Relay
import Terminal

/// A joined topic or pattern of topics: its rows, what is unread, and where the person looks.
///
/// Rows are unique by stream sequence and in stream order, whatever order they arrive in. A message that was stored
/// twice, with the same id, name and text, is one row.
struct Conversation: Equatable, Sendable {
    let name: String
    /// Whether `name` contains a wildcard, so that nothing can be published to it.
    let isPattern: Bool
    /// The stream's rows in its order, with gap markers between them.
    private(set) var rows: [ConversationRow] = []
    /// Own lines that the stream does not hold, oldest first.
    private(set) var pending: [PendingLine] = []
    private var sequences: [MessageKey: UInt64] = [:]
    private(set) var unread = 0
    /// Unseen messages that mention the person, in order; at most `mentionLimit`, the newest.
    private(set) var mentions: [RowPosition] = []
    /// The names whose messages are hidden, in lowercase.
    private var ignored: Set<String> = []
    private var mention = Mention()
    /// The first message that arrived while the topic was out of view; "new" is shown above it.
    private(set) var newMarker: RowPosition? {
        didSet { if newMarker != oldValue { hasSeenMarker = false } }
    }
    var hasSeenMarker = false
    var subscription = Subscription.joining
    var history = History.unknown
    var scroll = Scroll.bottom {
        didSet { if scroll == .bottom { holdsMarker = false } }
    }
    /// Whether the person reads on from the marker, so that it stays while more arrives below it.
    private var holdsMarker = false
    private var chosen: String?
    /// The time of the newest message that the local store had at the start, by the server's clock; nil if it had none.
    private(set) var keptThrough: Timestamp?
    /// Whether messages may be missing between the newest row and what the subscription brings.
    private var isOpen = false
    /// Whether the oldest rows were dropped since the local store's newest ones were put here.
    private var hasDropped = false
    /// The sequence of the last message read, as saved.
    private var readThrough: UInt64 = 0
    /// The sequence of the newest message that a subscription has brought or the local store had. A later one is new
    /// even if history brings it first.
    private var arrivedThrough: UInt64 = 0
    /// Whether arriving messages were missed since the last run: they are new, though the person sees them arrive.
    var isCatchingUp = false
    /// The time up to which messages were missed while the program was suspended. They may still arrive and are new,
    /// though the person sees them arrive. Nil once a later one is here.
    private var missedThrough: Timestamp?
    /// The place of the last row before the present outage; nil while connected.
    private var lossPlace: RowPosition?
    private(set) var names = NameBook()

    /// The most rows while the newest one is in view; the stream has the older ones.
    static let rowLimit = 5_000
    /// The most rows while the person reads older ones.
    static let readingLimit = 50_000
    /// The most bytes of text in the rows, likewise.
    static let textLimit = 64 << 20
    static let readingTextLimit = 256 << 20
    private var textBytes = 0
    static let pendingLimit = 1_000
    static let mentionLimit = 1_000
    static let nameColumnLimit = 16

    /// The width of names in a pane of `columns`: a sixth at most, so that one long name does not push all lines aside.
    func nameColumns(in columns: Int) -> Int {
        let widest = max(NameCut.least, names.widest)
        return min(widest, Self.nameColumnLimit, max(NameCut.least, columns / 6))
    }

    enum Subscription: Hashable, Sendable {
        case joining
        case live
        case failed(String)
    }

    /// What is known of the messages before the first row.
    enum History: Hashable, Sendable {
        case unknown
        case loading
        /// There are older ones, not loaded.
        case more
        /// The first row is the oldest on this machine, and there is no connection to ask for older ones.
        case offline
        /// The first row is the stream's first.
        case complete
    }

    /// Where the person looks: the newest row, or a row that stays in place while others arrive.
    enum Scroll: Hashable, Sendable {
        case bottom
        /// The row at the pane's bottom edge, and how many of its lines are below that edge.
        case row(RowPosition, hiddenLines: Int)
    }

    /// Identifies a message. Compares bytes, as others choose the ids.
    private struct MessageKey: Hashable, Sendable {
        let topic: String
        let id: String

        static func == (left: MessageKey, right: MessageKey) -> Bool {
            left.id.utf8.elementsEqual(right.id.utf8) && left.topic.utf8.elementsEqual(right.topic.utf8)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(bytesOf: topic)
            hasher.combine(bytesOf: id)
        }
    }

    init(name: String, isPattern: Bool) {
        self.name = name
        self.isPattern = isPattern
    }

    // MARK: Reading

    /// The number of rows, unsent ones included.
    var count: Int { rows.count + pending.count }

    /// The row at `index`, 0 being the oldest; nil outside.
    func row(at index: Int) -> ConversationRow? {
        if index < 0 { return nil }
        if index < rows.count { return rows[index] }
        let offset = index - rows.count
        return offset < pending.count ? .pending(pending[offset]) : nil
    }

    /// The nearest row above the one at `index` that is not hidden; nil if there is none.
    func shownRow(above index: Int) -> ConversationRow? {
        var above = index - 1
        while let row = row(at: above), isHidden(row) { above -= 1 }
        return row(at: above)
    }

    /// The index of the first row at or after `position`; `count` if there is none.
    func index(atOrAfter position: RowPosition) -> Int {
        if position.sequence == .max {
            let offset = pending.firstIndex { $0.number >= position.order } ?? pending.count
            return rows.count + offset
        }
        return insertionIndex(position)
    }

    var failedLines: [PendingLine] { pending.filter { !$0.isOutgoing } }

    /// The failed line that keys act on: the one that the person went to, else the oldest.
    var chosenLine: PendingLine? {
        let failed = failedLines
        return failed.first { $0.id == chosen } ?? failed.first
    }

    /// The sequence before which messages may be missing that the network has; the newest such place.
    var hole: UInt64? {
        for case .gap(let position, let lost) in rows.reversed() where lost == 0 { return position.sequence &+ 1 }
        return nil
    }

    var canGrow: Bool { rows.count < Self.readingLimit && textBytes < Self.readingTextLimit }

    /// When the newest message was stored, or the newest own line written.
    var newestTime: Timestamp {
        let written = pending.last?.composedAt ?? Timestamp(milliseconds: .min)
        for case .message(let line) in rows.reversed() where !isHidden(line) { return max(written, line.time) }
        return written
    }

    /// The oldest message, where older history begins.
    var oldest: StoredLine? {
        for case .message(let line) in rows { return line }
        return nil
    }

    // MARK: Receiving

    /// Adds messages of the subscription or of history, in any order, each once.
    ///
    /// - Parameters:
    ///   - countsUnread: whether they are out of view now; false for history.
    ///   - isLive: whether a subscription brings them, so that missed ones are among them.
    ///   - user: who is signed in; a line with this name that is not known to be the user's own is marked. Nil if
    ///     others share the name.
    /// - Returns: the messages that are new here, and those of a subscription that history had already brought.
    @discardableResult
    mutating func receive(
        _ messages: [TopicMessage], countsUnread: Bool, isLive: Bool = false, user: String? = nil
    ) -> [StoredLine] {
        var fresh: [StoredLine] = []
        var shown: [StoredLine] = []
        for message in messages {
            let key = MessageKey(topic: message.topic, id: message.id)
            let known = sequences[key]
            if known == message.sequence {
                update(message.sequence) { $0.time = message.time }
                guard isLive, message.sequence > arrivedThrough, let line = line(message.sequence, among: fresh),
                    !line.isOwn
                else { continue }
                shown.append(line)
                continue
            }
            if let known, let line = line(known, among: fresh), line.isRepeated(by: message) { continue }
            let waiting = pending.firstIndex { message.id.isSame(as: $0.id) && $0.topic == message.topic }
            if let waiting { pending.remove(at: waiting) }
            // Anyone can reuse an id: of several messages with it, only the first in the stream can be the user's.
            let isFirst = known.map { message.sequence < $0 } ?? true
            if isFirst {
                sequences[key] = message.sequence
                if let known { disown(known, user, among: &fresh) }
            }
            let isOwn = isFirst && (waiting != nil || message.isOwn && message.from == user)
            let name = NameBook.cut(message.from ?? "")
            fresh.append(
                StoredLine(
                    id: message.id, topic: message.topic, sequence: message.sequence, name: name,
                    text: message.shownText, time: message.time, isOwn: isOwn,
                    isClaimed: !isOwn && Self.isClaim(name, user), isRecovered: message.isRecovered,
                    isMention: !isOwn && mention.isIn(message.text) && !isIgnored(name)
                )
            )
        }
        let added = merge(fresh)
        for line in added {
            textBytes += line.text.utf8.count
            names.meet(line.shownName)
        }
        let arrived = shown + added
        for line in arrived {
            let isMissed = isLive && wasMissed(line)
            if countsUnread || isMissed, !line.isOwn, !isHidden(line) { noteUnread(line) }
        }
        if isLive { arrivedThrough = max(arrivedThrough, messages.last?.sequence ?? 0) }
        trim()
        return arrived
    }

    /// Adds a gap after all that is here, where the stream's recovery found messages missing.
    mutating func noteGap(lost: UInt64) {
        guard lost > 0 else { return }
        let newest = rows.last?.position ?? .message(0)
        // The row of the present outage goes above it.
        let last = lossPlace.map { max($0, newest) } ?? newest
        rows.append(.gap(RowPosition(sequence: last.sequence, order: last.order &+ 1), lost: lost))
        trim()
    }

    /// Notes the loss of the connection: messages recovered later go below this place.
    mutating func connectionLost() {
        // In an empty conversation older messages may still be loading, and would end up below the rule.
        guard !rows.isEmpty || history == .complete else { return }
        let last = rows.last?.position ?? .message(0)
        lossPlace = RowPosition(sequence: last.sequence, order: max(1, last.order) &+ 1)
    }

    /// Adds a row for an outage that is over. Outages without a message between them share one.
    mutating func connectionBack(_ outage: Outage) {
        guard let place = lossPlace else { return }
        lossPlace = nil
        let index = insertionIndex(place)
        if index > 0, case .outage(let position, let earlier) = rows[index - 1] {
            var last = outage
            last.count = earlier.count + 1
            rows[index - 1] = .outage(position, last)
        } else {
            rows.insert(.outage(place, outage), at: index)
            trim()
        }
    }

    /// Starts over when the stream was recreated or lost its newest messages, so that sequences recur.
    mutating func restart() {
        rows = [.restart]
        textBytes = 0
        if lossPlace != nil { connectionLost() }
        sequences = [:]
        unread = 0
        mentions = []
        newMarker = nil
        readThrough = 0
        arrivedThrough = 0
        isOpen = false
        hasDropped = true
        history = .more
        scroll = .bottom
    }

    // MARK: What is kept

    /// Restores the local store's newest messages; those not read are marked as new.
    mutating func restore(_ kept: KeptTopic, user: String?) {
        let added = receive(kept.messages, countsUnread: false, user: user)
        for gap in kept.gaps { insert(gap) }
        for line in added where line.sequence > kept.readThrough && !line.isOwn && !isHidden(line) { noteUnread(line) }
        readThrough = kept.readThrough
        arrivedThrough = kept.messages.last?.sequence ?? 0
        isCatchingUp = true
        isOpen = kept.isOpen
        hasDropped = false
        keptThrough = kept.messages.last?.time
        // A store that has little is filled up from the network.
        let isShort = kept.isComplete && kept.messages.count < ChatModel.historyPage
        history = isShort ? .unknown : .more
    }

    /// Restores the messages before those, back to the last one read. Those that the person has read since are marked
    /// as new, but not counted. Does nothing if the rows after them were dropped.
    mutating func restore(unread kept: KeptTopic, user: String?) {
        guard !hasDropped else { return }
        let added = receive(kept.messages, countsUnread: false, user: user)
        for gap in kept.gaps { insert(gap) }
        for line in added where line.sequence > kept.readThrough && !line.isOwn && !isHidden(line) {
            if line.sequence > readThrough {
                noteUnread(line)
            } else if let marker = newMarker {
                newMarker = min(marker, .message(line.sequence))
            }
        }
    }

    /// Restores older messages of the local store.
    ///
    /// - Parameter isComplete: whether it has no others, so that only the network may.
    mutating func restore(older messages: [TopicMessage], _ gaps: [KeptGap], isComplete: Bool, user: String?) {
        if oldest == nil {
            isOpen = true
            keptThrough = messages.last?.time
        }
        receive(messages, countsUnread: false, user: user)
        for gap in gaps { insert(gap) }
        history = isComplete ? .offline : .more
    }

    /// Adds a page of all messages before a place; what is missing between them no longer exists.
    ///
    /// - Parameters:
    ///   - place: the sequence that follows them; nil for the stream's end.
    ///   - isComplete: whether there are none before them.
    mutating func fill(
        _ messages: [TopicMessage], _ gaps: [KeptGap], before place: UInt64?, isComplete: Bool, user: String?
    ) {
        let oldest = messages.first?.sequence
        // The local store's messages may end before this page.
        let isApart = place == nil && !isComplete && oldest.map { isBehindAll($0) } == true
        if place == nil { isOpen = false }
        if let hole, hole == place {
            rows.removeAll { $0.position == RowPosition(sequence: hole - 1, order: 1) }
            // Messages read offline may have more holes before this page.
            if !isComplete, let oldest, let first = self.oldest?.sequence, first < oldest {
                insert(KeptGap(end: oldest, lost: 0))
            }
        }
        receive(messages, countsUnread: false, user: user)
        for gap in gaps { insert(gap) }
        if isApart, let oldest { insert(KeptGap(end: oldest, lost: 0)) }
        history = isComplete ? .complete : .more
    }

    /// Whether a page of messages before a place adjoins the rows: those after it may have been dropped while it was
    /// loading, and no row would show the gap.
    func isJoined(byPageBefore place: UInt64?) -> Bool {
        guard let place, place != hole, let oldest else { return true }
        return oldest.sequence <= place
    }

    /// Whether older messages than that of a sequence are here, but not that one.
    private func isBehindAll(_ sequence: UInt64) -> Bool {
        guard let first = oldest?.sequence, first < sequence else { return false }
        return row(of: .message(sequence)) == nil
    }

    /// Whether messages are missing that the network should be asked for, even if no one is looking.
    var lacksHistory: Bool { history == .unknown || history == .more && oldest == nil || isOpen || hole != nil }

    /// The sequence before which the network is asked for messages; nil for the stream's end.
    var historyPlace: UInt64? { isOpen ? nil : hole ?? oldest?.sequence }

    /// Marks the newest message as read; returns its sequence if that is new.
    mutating func noteRead() -> UInt64? {
        for case .message(let line) in rows.reversed() {
            guard line.sequence != readThrough else { return nil }
            readThrough = line.sequence
            return line.sequence
        }
        return nil
    }

    private mutating func insert(_ gap: KeptGap) {
        guard gap.end > 0 else { return }
        let position = RowPosition(sequence: gap.end - 1, order: 1)
        let index = insertionIndex(position)
        // The row before it may have been dropped.
        guard index > 0, index < rows.count else { return }
        if rows[index].position == position {
            // The network's figure takes precedence.
            if gap.lost > 0 { rows[index] = .gap(position, lost: gap.lost) }
        } else {
            rows.insert(.gap(position, lost: gap.lost), at: index)
        }
    }

    // MARK: Own lines

    /// Adds an unsent own line; false if too many are waiting.
    mutating func append(_ line: PendingLine, name: String) -> Bool {
        guard pending.count < Self.pendingLimit else { return false }
        pending.append(line)
        names.meet(name)
        return true
    }

    /// Changes the state of an unsent own line; false if it is no longer unsent.
    @discardableResult
    mutating func setState(_ state: PendingLine.State, of id: String) -> Bool {
        guard let index = pending.firstIndex(where: { $0.id == id }) else { return false }
        pending[index].state = state
        return true
    }

    /// Moves an own line that the stream holds at `sequence` to its place.
    mutating func acknowledge(_ id: String, sequence: UInt64, name: String) {
        guard let index = pending.firstIndex(where: { $0.id == id }) else { return }
        let own = pending.remove(at: index)
        let line = StoredLine(
            id: id, topic: own.topic, sequence: sequence, name: name, text: own.text,
            time: own.composedAt, isOwn: true, isRecovered: false
        )
        if insert(line) {
            sequences[MessageKey(topic: line.topic, id: id)] = sequence
            textBytes += line.text.utf8.count
            names.meet(name)
        } else {
            update(sequence) { ($0.isOwn, $0.isClaimed, $0.isMention) = (true, false, false) }
        }
        trim()
    }

    /// Removes an own line that was not sent.
    mutating func discard(_ id: String) {
        pending.removeAll { $0.id == id && !$0.isOutgoing }
    }

    /// Goes to the unsent line `step` places from the chosen one; nil if there is none.
    mutating func choose(by step: Int) -> PendingLine? {
        let failed = failedLines
        guard let place = failed.firstIndex(where: { $0.id == chosenLine?.id }),
            failed.indices.contains(place + step)
        else { return nil }
        chosen = failed[place + step].id
        return failed[place + step]
    }

    mutating func choose(_ id: String) { chosen = id }

    /// Goes on from an unsent line that is about to change.
    mutating func chooseAfter(_ id: String) {
        let failed = failedLines
        guard let place = failed.firstIndex(where: { $0.id == id }) else { return }
        chosen = place + 1 < failed.count ? failed[place + 1].id : nil
    }

    // MARK: Reading marks

    /// Notes that the newest row is in view.
    mutating func markRead() {
        unread = 0
        mentions = []
    }

    /// Drops the mentions up to a row that the person has seen.
    mutating func seeMentions(through position: RowPosition) { mentions.removeAll { $0 <= position } }

    /// Hides messages of these people, also those that are here; the names are in lowercase.
    mutating func ignore(_ names: Set<String>) {
        guard names != ignored else { return }
        ignored = names
        findMentions()
    }

    /// Whether a row is from someone ignored.
    func isHidden(_ row: ConversationRow) -> Bool {
        if case .message(let line) = row { isHidden(line) } else { false }
    }

    private func isHidden(_ line: StoredLine) -> Bool { !line.isOwn && isIgnored(line.name) }

    private func isIgnored(_ name: String) -> Bool {
        !ignored.isEmpty && ignored.contains(ChatModel.folded(name))
    }

    /// Marks mentions, also in messages that are here.
    mutating func recognize(_ mention: Mention) {
        guard mention != self.mention else { return }
        self.mention = mention
        findMentions()
    }

    private mutating func findMentions() {
        var unseen: [RowPosition] = []
        for (index, row) in rows.enumerated() {
            guard case .message(var line) = row else { continue }
            line.isMention = !line.isOwn && !isHidden(line) && mention.isIn(line.text)
            rows[index] = .message(line)
            if line.isMention, unread > 0, let newMarker, row.position >= newMarker { unseen.append(row.position) }
        }
        mentions = unseen.suffix(Self.mentionLimit)
    }

    /// Keeps the marker while the person reads on from it.
    mutating func holdMarker() { holdsMarker = scroll != .bottom }

    var awaitsMarkerSeen: Bool { newMarker != nil && !hasSeenMarker }

    /// Whether the marker can be in view in a pane of `rows`: fewer messages are between it and the pane's end. If some
    /// are hidden, only measuring can tell.
    func mayShowMarker(rows: Int) -> Bool {
        guard let newMarker else { return false }
        var end = count
        if case .row(let edge, _) = scroll { end = min(count, index(atOrAfter: edge) + 1) }
        let place = index(atOrAfter: newMarker)
        return place <= end && (end - place < rows || !ignored.isEmpty)
    }

    /// The person looks away: what comes next is new.
    ///
    /// - Parameter isLeft: whether they went to something else: a marker that they have seen, and read from to the end,
    ///   goes then.
    mutating func lookAway(isLeft: Bool = true) {
        holdsMarker = false
        if isLeft, unread == 0, newMarker != nil, hasSeenMarker { newMarker = nil }
    }

    /// The person has answered, so nothing is new any more.
    mutating func answered() {
        holdsMarker = false
        newMarker = nil
    }

    /// Notes that the program was suspended until `time`: messages sent meanwhile are still to arrive.
    mutating func resume(at time: Timestamp) {
        missedThrough = Timestamp(milliseconds: time.milliseconds &+ Self.clockSlack)
    }

    /// How far the network's clock may be ahead, in milliseconds, without missed messages being taken for live ones.
    private static let clockSlack: Int64 = 1_000

    // MARK: Inside

    private mutating func wasMissed(_ line: StoredLine) -> Bool {
        guard let missedThrough else { return false }
        if line.time <= missedThrough { return true }
        self.missedThrough = nil
        return false
    }

    private mutating func noteUnread(_ line: StoredLine) {
        let position = RowPosition.message(line.sequence)
        let staysThere = isCatchingUp || missedThrough != nil || holdsMarker || awaitsMarkerSeen && canShowMarker
        let isFirst = unread == 0 && !(staysThere && newMarker != nil)
        if isFirst { newMarker = position } else if let marker = newMarker { newMarker = min(marker, position) }
        unread += 1
        if line.isMention { noteMention(position) }
    }

    /// Whether the message below the marker is here and not hidden; else no one would ever see the marker.
    private var canShowMarker: Bool {
        guard let newMarker, let row = row(of: newMarker) else { return false }
        return !isHidden(row)
    }

    private mutating func noteMention(_ position: RowPosition) {
        let place = mentions.lastIndex { $0 < position }.map { $0 + 1 } ?? 0
        mentions.insert(position, at: place)
        if mentions.count > Self.mentionLimit { mentions.removeFirst() }
    }

    /// Puts lines in their places: a page before or after all others at once, strays one by one.
    private mutating func merge(_ fresh: [StoredLine]) -> [StoredLine] {
        guard let first = fresh.first, let last = fresh.last else { return [] }
        let isAscending = zip(fresh, fresh.dropFirst()).allSatisfy { $0.sequence < $1.sequence }
        if isAscending, rows.last.map({ $0.position < .message(first.sequence) }) ?? true {
            rows.append(contentsOf: fresh.map(ConversationRow.message))
            return fresh
        }
        if isAscending, let front = rows.first?.position, .message(last.sequence) < front {
            let room = max(0, Self.readingLimit - rows.count)
            let kept = Array(fresh.suffix(room))
            for line in fresh.dropLast(kept.count) { forget(line) }
            rows.insert(contentsOf: kept.map(ConversationRow.message), at: 0)
            return kept
        }
        return fresh.filter { insert($0) }
    }

    private mutating func insert(_ line: StoredLine) -> Bool {
        let position = RowPosition.message(line.sequence)
        let index = insertionIndex(position)
        if index < rows.count, rows[index].position == position { return false }
        if index == 0, rows.count >= Self.readingLimit {
            forget(line)
            return false
        }
        rows.insert(.message(line), at: index)
        return true
    }

    private mutating func forget(_ line: StoredLine) {
        sequences[MessageKey(topic: line.topic, id: line.id)] = nil
    }

    private func insertionIndex(_ position: RowPosition) -> Int {
        guard let last = rows.last, last.position >= position else { return rows.count }
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].position < position { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// A line that is here, or about to be.
    private func line(_ sequence: UInt64, among fresh: [StoredLine]) -> StoredLine? {
        if let line = fresh.last(where: { $0.sequence == sequence }) { return line }
        if case .message(let line)? = row(of: .message(sequence)) { return line }
        return nil
    }

    /// Marks a message as not the user's own, because an earlier one with its id has arrived.
    private mutating func disown(_ sequence: UInt64, _ user: String?, among fresh: inout [StoredLine]) {
        func disown(_ line: inout StoredLine) { (line.isOwn, line.isClaimed) = (false, Self.isClaim(line.name, user)) }
        if let index = fresh.lastIndex(where: { $0.sequence == sequence }) { return disown(&fresh[index]) }
        update(sequence, disown)
        if let line = line(sequence, among: fresh) { names.meet(line.shownName) }
    }

    /// Whether the name of a message that is not the user's own claims to be the user, or the network, whose names
    /// begin with `~`.
    private static func isClaim(_ name: String, _ user: String?) -> Bool { name == user || name.hasPrefix("~") }

    private mutating func update(_ sequence: UInt64, _ change: (inout StoredLine) -> Void) {
        let index = insertionIndex(.message(sequence))
        guard index < rows.count, case .message(var line) = rows[index], line.sequence == sequence else { return }
        change(&line)
        rows[index] = .message(line)
    }

    /// Drops the oldest rows above the limit, many at once so that it is not done for every message. What the person
    /// reads stays in place.
    private mutating func trim() {
        let (limit, textLimit) =
            scroll == .bottom ? (Self.rowLimit, Self.textLimit) : (Self.readingLimit, Self.readingTextLimit)
        guard rows.count > limit || textBytes > textLimit else { return }
        let surplus = rows.count > limit ? rows.count - limit + limit / 16 : 0
        var count = 0
        // The newest stays, however long it is.
        while count < rows.count - 1, count < surplus || textBytes > textLimit {
            if case .message(let line) = rows[count] {
                textBytes -= line.text.utf8.count
                forget(line)
            }
            count += 1
        }
        rows.removeFirst(count)
        hasDropped = true
        if let first = rows.first?.position { mentions.removeAll { $0 < first } }
        if history == .complete || history == .offline { history = .more }
    }
}
