import Relay
import Terminal

/// The counts in the title, the most important first.
enum TitleCount: CaseIterable {
    case queued, mentions, unread, letters

    /// The symbol in the title, and its explanation in the help.
    var sign: (symbol: String, words: String) {
        switch self {
        case .queued: ("⇅", "lines and letters that are not sent yet")
        case .mentions: ("@", "messages that call you and that you have not seen")
        case .unread: ("#", "unread messages in all topics")
        case .letters: ("✉", "letters in your postboxes that you have not read")
        }
    }
}

struct TitleCounts: Hashable {
    var queued = 0
    var mentions = 0
    var unread = 0
    var letters = 0

    subscript(count: TitleCount) -> Int {
        switch count {
        case .queued: queued
        case .mentions: mentions
        case .unread: unread
        case .letters: letters
        }
    }
}

/// The title line: the user and the network on its left, the live status and the counts on its right.
///
/// A pure function of its width. The state and the user are always shown; the rest by its importance, as far as there
/// is room.
struct TitleLine: Hashable {
    let left: SafeText
    let status: SafeText
    /// The counts, each after a gap.
    let counts: SafeText
    let kind: StatusText.Kind

    struct Words: Hashable {
        let identity: Identity
        var isAway = false
        let status: StatusText
        let counts: TitleCounts
    }

    /// - Parameter columns: the line's columns, at least those of ``ScreenLayout/minimum``.
    init(_ words: Words, columns: Int) {
        let (figures, outage) = (words.status.figures, words.status.outage)
        var parts = Parts(words)
        // The first choices fit into the least columns.
        for name in 3...8 { parts.take(in: columns) { $0.nameColumns = name } }
        parts.take(in: columns) { $0.counted = 1 }
        if !figures.isEmpty { parts.take(in: columns) { $0.figures = figures.count - 1 } }
        for counted in 2...TitleCount.allCases.count { parts.take(in: columns) { $0.counted = counted } }
        if figures.count > 1 { parts.take(in: columns) { $0.figures = 0 } }
        for form in outage.indices.reversed() { parts.take(in: columns) { $0.outage = form } }
        parts.giveReason(in: columns) { $0.brief(columns: $1) }
        for gap in 2...3 { parts.take(in: columns) { $0.gap = gap } }
        parts.take(in: columns) { $0.nameColumns = 16 }
        parts.take(in: columns) { $0.showsNetwork = true }
        parts.giveReason(in: columns) { $0.fitting(columns: $1) }
        parts.take(in: columns) { $0.showsProgram = true }
        parts.take(in: columns) { $0.nameColumns = .max }
        left = parts.left
        status = parts.status
        counts = parts.counts
        kind = words.status.kind
    }

    /// The columns that it takes, with a blank at its end and one between its two sides.
    var width: Int { left.width + 1 + status.width + counts.width + 1 }
}

/// The choices for the line so far. Each part is made into text once, so that a choice costs a few additions.
private struct Parts {
    private let name: SafeText
    private let network: SafeText
    private let title: SafeText
    private let figureForms: [SafeText]
    private let outageForms: [SafeText]
    private let why: ReasonText?
    /// The text of each count, and how many counts have to be shown for it to be among them.
    private let countForms: [(text: SafeText, from: Int)]

    var nameColumns = 2
    var showsNetwork = false
    var showsProgram = false
    var figures: Int?
    var outage: Int?
    private var reason = SafeText.empty
    /// The number of counts that are shown, the first ones.
    var counted = 0
    var gap = 1

    private static let program = SafeText("parley  ")
    /// The most columns shown of a network's name; it may be an address.
    private static let networkColumns = 24

    init(_ words: TitleLine.Words) {
        let (identity, text, counts) = (words.identity, words.status, words.counts)
        let network = SafeText(String(identity.network.prefix(128)))
        let user = SafeText(String(identity.user.prefix(128)))
        // Until it is known who is signed in, only the network is shown.
        name = user.isEmpty ? network : user
        let place = user.isEmpty ? .empty : SafeText("@") + network.shortened(columns: Self.networkColumns)
        self.network = words.isAway ? place + SafeText(" (away)") : place
        title = SafeText(text.title)
        figureForms = text.figures.map { SafeText($0) }
        outageForms = text.outage.map { SafeText($0) }
        why = text.reason
        countForms = TitleCount.allCases.enumerated().compactMap { place, count in
            let value = counts[count]
            let from = value > 0 ? place + 1 : TitleCount.allCases.count
            // If there is room for all, zero unsent lines and zero unread letters are shown, too.
            guard value > 0 || count == .queued || count == .letters else { return nil }
            return (SafeText("\(count.sign.symbol) \(Wording.compact(value))"), from)
        }
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

    private var shownCounts: [SafeText] { countForms.filter { $0.from <= counted }.map(\.text) }

    private var width: Int {
        var width = 3 + min(nameColumns, name.width) + title.width + reason.width
        if showsNetwork { width += network.width }
        if showsProgram { width += Self.program.width }
        if let figures { width += figureForms[figures].width }
        if let outage { width += outageForms[outage].width }
        return shownCounts.reduce(width) { $0 + gap + $1.width }
    }
}
