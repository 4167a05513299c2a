import Relay
import Terminal

// Lists in sentences: letters, search results, older messages, and overlays.
extension PlainAnnouncer {
    /// The characters of a letter in a list.
    private static let lineLimit = 200
    /// The older messages announced at once.
    static let portion = 50
    /// The messages announced on each side of a search result.
    private static let around = 5

    // MARK: Older messages

    /// Announces what `/history` or `/more` asks for, or notes that it is still to arrive.
    mutating func further(_ command: SlashCommand?, _ model: ChatModel) -> [String] {
        if let excerpt = model.screen.view.excerpt {
            return excerpt.request == nil ? further(around: excerpt, isOlder: command == .history, model) : []
        }
        guard command == .history, let name = model.screen.view.topic else { return [] }
        let lines = older(in: name, model)
        if lines.isEmpty, model.network.conversations.named(name)?.history == .loading { awaitedHistory = name }
        return lines
    }

    /// Announces a topic's older messages that have arrived on request.
    mutating func older(of name: String, _ model: ChatModel) -> [String] {
        guard awaitedHistory == name, model.screen.view == .conversation(name) else { return [] }
        awaitedHistory = nil
        // The first page is announced by `view`.
        guard said[name] != nil else { return [] }
        let lines = older(in: name, model)
        guard lines.isEmpty, model.notices.shown == nil else { return lines }
        return ["There is no older message of \(name)."]
    }

    /// The next older messages of a topic that are loaded but not announced yet, in order.
    private func older(in name: String, _ model: ChatModel) -> [String] {
        guard let conversation = model.network.conversations.named(name) else { return [] }
        let end = model.spoken?.oldest[name].map { conversation.index(atOrAfter: $0) } ?? conversation.count
        let (rows, first) = Self.rows(of: conversation, before: end)
        guard let first else { return [] }
        model.spoken?.oldest[name] = first
        let count = rows.count { $0.isMessage }
        let isFirst = conversation.history == .complete && conversation.message(from: first, by: -1) == nil
        let heading = Wording.count(count, isFirst ? "message" : "older message")
        return ["\(isFirst ? "The first " : "")\(heading) of \(name):"] + said(rows, model, in: name)
    }

    /// A portion of the rows before an index, and the position of the oldest message among them.
    private static func rows(
        of conversation: Conversation, before end: Int
    ) -> (rows: [ConversationRow], first: RowPosition?) {
        var rows: [ConversationRow] = []
        var first: RowPosition?
        var index = end - 1
        var left = portion
        while left > 0, let row = conversation.row(at: index) {
            index -= 1
            guard !conversation.isHidden(row) else { continue }
            rows.append(row)
            guard case .message = row else { continue }
            left -= 1
            first = row.position
        }
        return (rows.reversed(), first)
    }

    private func said(_ rows: [ConversationRow], _ model: ChatModel, in name: String) -> [String] {
        rows.compactMap { row in
            switch row {
            case .message(let line): words(line, model, in: name)
            case .gap(_, let lost) where lost > 0:
                "\(Wording.count(Int(clamping: lost), "message")) \(lost == 1 ? "is" : "are") gone here."
            case .gap, .restart, .outage, .pending: nil
            }
        }
    }

    // MARK: Search results

    private func around(_ excerpt: Excerpt, _ model: ChatModel) -> [String] {
        if let failure = excerpt.failure { return [failure] }
        let conversation = excerpt.conversation
        let place = conversation.index(atOrAfter: .message(excerpt.message.place.sequence))
        let rows = (place - Self.around...place + Self.around).compactMap { conversation.row(at: $0) }
            .filter { $0.isMessage && !conversation.isHidden($0) }
        guard let first = rows.first?.position, let last = rows.last?.position else { return [] }
        model.spoken?.excerpt = first...last
        return ["Around what was found in \(conversation.name):"] + said(rows, model, in: conversation.name)
            + ["/history goes on to older ones, /more to newer ones, /open NUMBER to another result."]
    }

    /// The next older or newer messages around a search result that are loaded but not announced yet.
    private func further(around excerpt: Excerpt, isOlder: Bool, _ model: ChatModel) -> [String] {
        let conversation = excerpt.conversation
        guard let said = model.spoken?.excerpt else { return [] }
        let (rows, end): ([ConversationRow], RowPosition?)
        if isOlder {
            (rows, end) = Self.rows(of: conversation, before: conversation.index(atOrAfter: said.lowerBound))
        } else {
            let newer = (conversation.index(atOrAfter: said.upperBound)..<conversation.count).dropFirst().lazy
                .compactMap { conversation.row(at: $0) }.filter { $0.isMessage && !conversation.isHidden($0) }
            rows = Array(newer.prefix(Self.portion))
            end = rows.last?.position
        }
        guard let end else { return [] }
        model.spoken?.excerpt = isOlder ? end...said.upperBound : said.lowerBound...end
        let heading = Wording.count(rows.count { $0.isMessage }, isOlder ? "older message" : "newer message")
        return ["\(heading):"] + self.said(rows, model, in: conversation.name)
    }

    mutating func search(_ news: ChatEvent.SearchNews, _ model: ChatModel) -> [String] {
        switch news {
        case .found, .foundElsewhere: return found(model)
        case .failed(_, let words, _): return [words]
        // Without a failure of its own, the excerpt has messages already.
        case .aroundFailed(_, let words):
            guard let excerpt = model.screen.view.excerpt else { return [] }
            return excerpt.failure == nil ? [] : [words]
        case .around(_, let part):
            guard let excerpt = model.screen.view.excerpt else { return [] }
            let lines =
                switch part.direction {
                case .around: around(excerpt, model)
                case .before, .after: further(around: excerpt, isOlder: part.direction == .before, model)
                }
            guard lines.isEmpty else { return lines }
            return ["There is no \(part.direction == .after ? "newer" : "older") stored message."]
        }
    }

    /// The search results not announced yet, with their numbers in the list.
    private mutating func found(_ model: ChatModel) -> [String] {
        guard let search = model.search else { return [] }
        let new = search.items.dropFirst(saidFound)
        guard !new.isEmpty else {
            return [saidFound == 0 ? "Nothing was found on this machine." : "That is all that was found."]
        }
        let heading =
            saidFound == 0
            ? "\(Wording.count(new.count, "thing")) found, the newest first:" : "\(Wording.grouped(new.count)) more:"
        saidFound = search.items.count
        let items = zip(new.indices, new).map { place, item in
            let stamp = CivilTime(item.time, zone: model.zone).shortStamp.drop { $0 == " " }
            return switch item {
            case .message(let message):
                "\(place + 1). \(stamp), \(message.topic), \(SafeText(name: message.from)): \(Self.cut(message.text))"
            case .letter(let letter):
                "\(place + 1). \(stamp), letter, \(SafeText(name: letter.person ?? "somebody")): "
                    + LetterSubject.prefix(letter.subject) + Self.cut(letter.text)
            }
        }
        let more = search.hasMore ? "There may be more; /more lists it. " : ""
        return [heading] + items + ["\(more)/open NUMBER goes to one."]
    }

    // MARK: Letters

    func postbox(_ news: ChatEvent.PostboxNews, _ model: ChatModel) -> [String] {
        switch news {
        case .created(let letter):
            let begin = letter.shownText.prefix { !$0.breaksLine }.prefix(80)
            let about = LetterSubject.prefix(letter.subject)
            return ["A letter from \(Self.sender(letter)): \(about)\(begin). /inbox reads them."]
        case .page(let request, _): return request == awaitedPage ? letters(model) : []
        case .keptPage(let request, _):
            return request == awaitedPage ? ["Offline, as stored here:"] + letters(model) : []
        case .pageFailed(_, let error): return ["The letters could not be listed. \(error.words)"]
        case .boxes, .keptBoxes, .counts, .read, .portion, .portionFailed, .deleting, .deleted, .saving,
            .subscription:
            return []
        }
    }

    /// The page of letters in view, each with its number.
    func letters(_ model: ChatModel) -> [String] {
        // An emptied page is about to be replaced by the next one.
        guard model.screen.view.isInbox, model.network.inbox.fetch == nil else { return [] }
        let inbox = model.network.inbox
        if inbox.letters.isEmpty { return ["There is no letter."] }
        let lines = inbox.letters.map { letter in
            let number = inbox.numbered.firstIndex(of: letter.id).map { "\($0 + 1). " } ?? ""
            let stamp = CivilTime(letter.createdAt, zone: model.zone).shortStamp.drop { $0 == " " }
            let begin = letter.shownText.prefix { !$0.breaksLine }.prefix(Self.lineLimit)
            let rest = begin.endIndex == letter.shownText.endIndex ? "" : " …"
            let box = inbox.title(ofBox: letter.postboxId)
            let about = LetterSubject.prefix(letter.subject)
            return "\(number)\(stamp), \(Self.sender(letter)) to \(box): \(about)\(begin)\(rest)"
        }
        let page = inbox.trail.count > 1 ? "Page \(inbox.trail.count), " : ""
        let more = inbox.hasMore ? "There are more; /more lists them. " : ""
        return ["\(page)\(Wording.count(inbox.letters.count, "letter")):"] + lines
            + ["\(more)/read NUMBER reads one, /delete NUMBER deletes it."]
    }

    private static func sender(_ letter: PostboxMessage) -> String {
        letter.from.flatMap { $0.isEmpty ? nil : SafeText(name: $0).description } ?? "somebody"
    }

    // MARK: Lists and questions

    /// Announces an overlay and closes it, unless it is a question.
    func overlay(_ model: ChatModel) -> [String] {
        let lines: [String]
        switch model.screen.overlay {
        case .question(let question): return ["\(question.text) (y/n)"]
        case .help: lines = Self.words(HelpLayout(size: model.size, keys: model.settings.keys).rows)
        case .people:
            lines =
                ["Who is in \(model.network.people.topic ?? ""):"]
                + model.network.people.lines(for: model.network.identity.user).compactMap(\.spoken)
        case .listing(let listing): lines = ["\(listing.title):"] + listing.lines.compactMap(\.spoken)
        case .log:
            let log = model.logLayout(columns: model.size.columns)
            lines = (max(0, log.rowCount - 50)..<log.rowCount).flatMap { log.lines(ofRow: $0) }.map { line in
                switch line {
                case .date(let words): words
                case .head(let time, let text, _, _): "\(time) \(text.dropSymbol)"
                case .rest(let text): "    \(text)"
                }
            }
        case .palette: lines = []
        case nil: return []
        }
        model.screen.overlay = nil
        return lines
    }

    private static func words(_ rows: [HelpLayout.Row]) -> [String] {
        rows.compactMap { row in
            switch row {
            case .blank: nil
            case .heading(let words): "\(words):"
            case .entry(let keys, let words, _):
                keys.isEmpty ? "    \(words)" : words.isEmpty ? "\(keys)" : "\(keys): \(words)"
            }
        }
    }
}

extension HelpText.Line {
    /// The spoken line; nil for an empty one. It is never cut, since it may contain a link.
    fileprivate var spoken: String? {
        switch self {
        case .blank: nil
        case .heading(let words): "\(words):"
        case .entry(let keys, let words): keys.isEmpty ? "    \(words)" : words.isEmpty ? keys : "\(keys): \(words)"
        }
    }
}

extension SafeText {
    /// The text without a leading symbol, which a screen reader would read out.
    fileprivate var dropSymbol: String {
        let text = description
        guard let first = text.first, !first.isLetter, !first.isNumber else { return text }
        return String(text.dropFirst().drop { $0 == " " })
    }
}
