import Relay
import Terminal

/// The title line in words: who and where on its left, the live status and what is counted on its right.
///
/// A pure function of its width. The state and the user are always there; all else comes by its importance, as far as
/// there is room.
struct TitleLine: Hashable {
    let left: SafeText
    let status: SafeText
    /// What is counted, each behind a gap.
    let counts: SafeText
    let kind: StatusText.Kind

    struct Counts: Hashable {
        /// Lines and letters that are not sent yet.
        var queued = 0
        var mentions = 0
        var unread = 0
        var letters = 0
    }

    struct Words: Hashable {
        let identity: Identity
        var isAway = false
        let status: StatusText
        let counts: Counts
    }

    /// - Parameter columns: the line's columns, at least those of ``ScreenLayout/minimum``.
    init(_ words: Words, columns: Int) {
        let status = words.status
        var parts = Parts(words)
        // What comes first is there in the least columns.
        for name in 3...8 { parts.take(in: columns) { $0.nameColumns = name } }
        parts.take(in: columns) { $0.counted = .queued }
        if !status.figures.isEmpty { parts.take(in: columns) { $0.figures = status.figures.count - 1 } }
        parts.take(in: columns) { $0.counted = .mentions }
        parts.take(in: columns) { $0.counted = .unread }
        parts.take(in: columns) { $0.counted = .all }
        if status.figures.count > 1 { parts.take(in: columns) { $0.figures = 0 } }
        for form in status.outage.indices.reversed() { parts.take(in: columns) { $0.outage = form } }
        parts.giveReason(in: columns) { $0.brief(columns: $1) }
        for gap in 2...3 { parts.take(in: columns) { $0.gap = gap } }
        parts.take(in: columns) { $0.nameColumns = 16 }
        parts.take(in: columns) { $0.showsNetwork = true }
        parts.giveReason(in: columns) { $0.fitting(columns: $1) }
        parts.take(in: columns) { $0.showsProgram = true }
        parts.take(in: columns) { $0.nameColumns = .max }
        left = parts.left
        self.status = parts.status
        self.counts = parts.counts
        kind = status.kind
    }

    /// The columns that it takes: a blank at its end, and one between its two sides.
    var width: Int { left.width + 1 + status.width + counts.width + 1 }
}

/// What is chosen for the line so far. Each part is made into text once, so that a choice costs a few additions.
private struct Parts {
    /// What of the counts is shown: those of the first that are not zero, or all.
    enum Counted: Int {
        case none, queued, mentions, unread, all
    }

    private let name: SafeText
    private let network: SafeText
    private let title: SafeText
    private let figureForms: [SafeText]
    private let outageForms: [SafeText]
    private let why: ReasonText?
    private let queued: SafeText
    private let isQueued: Bool
    private let mentions, unread: SafeText?
    private let letters: SafeText

    var nameColumns = 2
    var showsNetwork = false
    var showsProgram = false
    var figures: Int?
    var outage: Int?
    private var reason = SafeText.empty
    var counted = Counted.none
    var gap = 1

    private static let program = SafeText("parley  ")
    /// Columns of a network's name that are shown at most; it may be an address.
    private static let networkColumns = 24

    init(_ words: TitleLine.Words) {
        let (identity, text, counts) = (words.identity, words.status, words.counts)
        let network = SafeText(String(identity.network.prefix(128)))
        let user = SafeText(String(identity.user.prefix(128)))
        // Until it is known who is signed in, the network alone says where.
        name = user.isEmpty ? network : user
        let place = user.isEmpty ? .empty : SafeText("@") + network.shortened(columns: Self.networkColumns)
        self.network = words.isAway ? place + SafeText(" (away)") : place
        title = SafeText(text.title)
        figureForms = text.figures.map { SafeText($0) }
        outageForms = text.outage.map { SafeText($0) }
        why = text.reason
        queued = SafeText("⇅ \(Wording.compact(counts.queued))")
        isQueued = counts.queued > 0
        mentions = counts.mentions > 0 ? SafeText("@ \(Wording.compact(counts.mentions))") : nil
        unread = counts.unread > 0 ? SafeText("# \(Wording.compact(counts.unread))") : nil
        letters = SafeText("✉ \(Wording.compact(counts.letters))")
    }

    mutating func take(in columns: Int, _ choice: (inout Parts) -> Void) {
        var chosen = self
        choice(&chosen)
        if chosen.width <= columns { self = chosen }
    }

    mutating func giveReason(in columns: Int, _ choice: (ReasonText, Int) -> SafeText?) {
        guard let why else { return }
        let room = columns - (width - reason.width)
        if let words = choice(why, room - 3) { reason = SafeText(" · ") + words }
    }

    var left: SafeText {
        var words = SafeText(" ")
        if showsProgram { words += Self.program }
        words += name.shortened(columns: nameColumns)
        return showsNetwork ? words + network : words
    }

    var status: SafeText {
        var words = title
        if let figures { words += figureForms[figures] }
        if let outage { words += outageForms[outage] }
        return words + reason
    }

    var counts: SafeText {
        shownCounts.reduce(.empty) { $0 + .spaces(gap) + $1 }
    }

    private var shownCounts: [SafeText] {
        var shown: [SafeText] = []
        if counted == .all || counted != .none && isQueued { shown.append(queued) }
        if counted.rawValue >= Counted.mentions.rawValue, let mentions { shown.append(mentions) }
        if counted.rawValue >= Counted.unread.rawValue, let unread { shown.append(unread) }
        if counted == .all { shown.append(letters) }
        return shown
    }

    private var width: Int {
        var width = 3 + min(nameColumns, name.width) + title.width + reason.width
        if showsNetwork { width += network.width }
        if showsProgram { width += Self.program.width }
        if let figures { width += figureForms[figures].width }
        if let outage { width += outageForms[outage].width }
        return shownCounts.reduce(width) { $0 + gap + $1.width }
    }
}
