import Relay
import Terminal

/// The postbox's parts in the main pane: the table, the open letter and the progress of a deletion.
struct InboxLayout: Hashable {
    let filter: Rect?
    /// The letters' rows; empty if the open letter takes the whole pane.
    let table: Rect
    let divider: Rect?
    let readerHeading: Rect?
    let reader: Rect?
    let progress: Rect?
    let letterLines: [SafeText]

    /// The columns at a row's left edge in which a click marks.
    static let markColumns = 4
    /// The width from which the open letter is beside the table.
    static let besideFrom = 120
    /// The most lines shown of one letter.
    static let lineLimit = 2_000

    /// The height from which the table is above the open letter, unless that is beside it.
    private static let aboveFrom = 14

    init(model: ChatModel, area: Rect) {
        let rest: Rect
        (filter, rest, progress) = Self.parts(of: area, model)
        guard let letter = model.network.inbox.openLetter else {
            (table, divider, readerHeading, reader, letterLines) = (rest, nil, nil, nil, [])
            return
        }
        var below: Rect
        if rest.columns >= Self.besideFrom {
            (table, below) = rest.split(left: rest.columns / 2)
            (divider, below) = below.split(left: 1)
            letterLines = Self.wrapped(letter.shownText, columns: below.columns - 2)
        } else {
            letterLines = Self.wrapped(letter.shownText, columns: rest.columns - 2)
            divider = nil
            // A short letter leaves the rows that it does not need to the table.
            let least = rest.rows >= Self.aboveFrom ? max(4, rest.rows / 3) : 0
            let spare = rest.rows - 1 - letterLines.count
            let rows = least == 0 ? 0 : max(least, min(spare, model.network.inbox.letters.count))
            (table, below) = rest.split(top: rows)
        }
        let split = below.split(top: below.rows >= 2 ? 1 : 0)
        readerHeading = split.top.isEmpty ? nil : split.top
        reader = split.rest
    }

    private static func parts(of area: Rect, _ model: ChatModel) -> (filter: Rect?, rest: Rect, progress: Rect?) {
        var (rest, filter, progress): (Rect, Rect?, Rect?) = (area, nil, nil)
        if !model.network.inbox.deletion.isEmpty, area.rows >= 3 {
            (rest, progress) = rest.split(bottom: 1)
        }
        if model.network.inbox.filter != nil, rest.rows >= 2 { (filter, rest) = rest.split(top: 1) }
        return (filter, rest, progress)
    }

    /// The table's width, 0 if the open letter takes the whole pane. Does not wrap the letter.
    static func tableColumns(model: ChatModel, area: Rect) -> Int {
        let rest = parts(of: area, model).rest
        guard model.network.inbox.openLetter != nil else { return rest.columns }
        if rest.columns >= besideFrom { return rest.columns / 2 }
        return rest.rows >= aboveFrom ? rest.columns : 0
    }

    var lastReaderScroll: Int { max(0, letterLines.count - (reader?.rows ?? 0)) }

    static func wrapped(_ text: String, columns: Int) -> [SafeText] {
        let limit = 262_144
        let shown = text.utf8.count > limit ? String(text.prefix(limit)) : text
        let goesOn = [ConversationLayout.goesOn]
        var lines: [SafeText] = []
        for line in SafeText.lines(shown) {
            lines += line.wrapped(columns: max(1, columns))
            if lines.count > lineLimit { return lines.prefix(lineLimit) + goesOn }
        }
        return shown.utf8.count < text.utf8.count ? lines + goesOn : lines
    }
}

/// The columns of the letters' table: as wide as their contents, within limits. The words have the rest.
struct InboxColumns: Hashable {
    let persona: Int
    let box: Int
    let from: Int
    /// 0 if the subject precedes the words instead.
    let subject: Int
    let line: Int
    let age: Int

    /// The widest column of postboxes or personas.
    private static let nameLimit = 16

    /// The columns between the age and the pane's edge.
    static let margin = 1

    /// The narrowest column of letters' first words beside one of subjects.
    private static let lineLeast = 20

    static func showAge(on columns: Int) -> Bool { columns - InboxLayout.markColumns >= 40 }

    /// On a narrow pane the subject is dropped first, then the persona, the postbox and the age.
    init(columns: Int, showsBox: Bool, model: ChatModel) {
        let inbox = model.network.inbox
        let rest = columns - InboxLayout.markColumns
        func widest(_ limit: Int, _ width: (PostboxMessage) -> Int) -> Int {
            // A filter may have found a long list.
            min(limit, inbox.letters.prefix(Inbox.screenLimit).reduce(0) { max($0, width($1)) })
        }
        age = Self.showAge(on: columns) ? widest(12) { Self.age($0, model).utf8.count } : 0
        let hasBoxes = showsBox && inbox.boxes.count > 1
        box = hasBoxes && rest >= 56 ? widest(Self.nameLimit) { Self.boxName($0, inbox).width } : 0
        persona = inbox.hasPersonas && rest >= 70 ? widest(Self.nameLimit) { Self.persona($0).width } : 0
        from = max(1, widest(min(Conversation.nameColumnLimit, max(6, rest / 5))) { Self.sender($0).width })
        let used = [persona, box, from, age].reduce(age > 0 ? Self.margin : 0) { $0 + ($1 > 0 ? $1 + 2 : 0) }
        let wanted = rest >= 90 ? widest(rest / 4) { Self.subject($0).width } : 0
        subject = wanted > 0 && rest - used - wanted - 2 >= Self.lineLeast ? wanted : 0
        line = max(0, rest - used - (subject > 0 ? subject + 2 : 0))
    }

    static func age(_ letter: PostboxMessage, _ model: ChatModel) -> String {
        LetterAge.words(of: letter.createdAt, at: model.now.wall, zone: model.zone)
    }

    static func sender(_ letter: PostboxMessage) -> SafeText {
        NameBook.shown(letter.from.flatMap { $0.isEmpty ? nil : $0 } ?? "?")
    }

    static func subject(_ letter: PostboxMessage) -> SafeText { SafeText(LetterSubject.shown(letter.subject) ?? "") }

    static func boxName(_ letter: PostboxMessage, _ inbox: Inbox) -> SafeText {
        SafeText(String(inbox.title(ofBox: letter.postboxId).prefix(64)))
    }

    static func persona(_ letter: PostboxMessage) -> SafeText { SafeText(String(letter.sudoId.prefix(64))) }
}
