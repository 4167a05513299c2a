import Relay
import Terminal

/// Says in lines of text what the screen would show: for a screen reader, which follows what is written, and for pipes.
/// Each thing is said once, when it happens, and nothing is ever written over.
///
/// A pure value. What it is given has passed `update`; what lists and questions would cover the screen with is said, and
/// closed.
struct PlainAnnouncer {
    /// Messages of a topic that are said when it comes into view.
    static let recent = 10
    /// Characters of a message or letter that are said.
    private static let textLimit = 16_384
    /// Characters of a letter in a list.
    private static let lineLimit = 200
    /// Own messages whose end is waited for; beyond it the oldest are forgotten.
    private static let ownLimit = 1_000

    private var state: ConnectionStatus.State?
    private var wasLong = false
    private var notice: ChatModel.Notice?
    private var view: MainView?
    /// Up to where each topic was said.
    private var said: [String: UInt64] = [:]
    /// Topics out of view of which it was said that they have something new.
    private var stirring: Set<String> = []
    /// What was written here, by its identifier: the beginning of it, and whether it was said to wait.
    private var own: [String: (text: String, waits: Bool)] = [:]
    private var ownOrder: [String] = []
    private var selection: ChatModel.Selection?

    /// What there is to say after an event.
    mutating func lines(
        after event: ChatEvent, _ effects: [ChatEffect], _ model: inout ChatModel
    ) -> [String] {
        for effect in effects { note(effect) }
        var lines: [String] = []
        switch event {
        case .topic(let name, .messages(let messages)): lines += self.messages(messages, in: name, model)
        case .topic(let name, .gap(let lost)):
            lines.append("\(name): \(Wording.count(Int(clamping: lost), "message")) \(lost == 1 ? "is" : "are") gone.")
        case .published(let news): lines += published(news, model)
        case .postbox(let news): lines += postbox(news, model)
        case .search(let news): lines += search(news, model)
        default: break
        }
        lines = connection(model) + lines
        lines += self.view(model)
        lines += selected(model)
        lines += overlay(&model)
        lines += told(model)
        return lines.flatMap(Self.safe)
    }

    /// A line as it may be written: without characters that a terminal obeys. One that has breaks goes on below, indented.
    private static func safe(_ text: String) -> [String] {
        let lines = SafeText.lines(text).map(\.description)
        return lines.prefix(1) + lines.dropFirst().map { "    \($0)" }
    }

    // MARK: Messages

    private mutating func messages(_ messages: [TopicMessage], in name: String, _ model: ChatModel) -> [String] {
        var lines: [String] = []
        for message in messages {
            let home = model.conversations.home(of: message.topic) ?? name
            guard let conversation = model.conversations.named(home),
                let row = conversation.row(at: conversation.index(atOrAfter: .message(message.sequence))),
                case .message(let line) = row, line.id == message.id, !conversation.isHidden(row),
                own[message.id] == nil
            else { continue }
            if model.view == .conversation(home) {
                guard said[home].map({ message.sequence > $0 }) ?? false else { continue }
                said[home] = message.sequence
                lines.append(words(line, model, in: home))
            } else if line.isMention {
                lines.append(words(line, model, in: home, names: true))
            } else if !line.isOwn, !model.conversations.isMuted(home), stirring.insert(home).inserted {
                lines.append("\(home) has something new.")
            }
        }
        return lines
    }

    private func words(_ line: StoredLine, _ model: ChatModel, in home: String, names: Bool = false) -> String {
        let clock = CivilTime(line.time, zone: model.zone).clock
        let name = line.isOwn ? "you" : line.name.isEmpty ? "somebody" : String(line.name.prefix(64))
        let place = names || line.topic != home ? "\(line.topic), " : ""
        return "\(clock) \(place)\(name)\(line.isMention ? ", to you" : ""): \(Self.cut(line.text))"
    }

    private static func cut(_ text: String) -> String {
        let shown = text.prefix(textLimit)
        return shown.endIndex < text.endIndex ? shown + " … the rest is left out" : text
    }

    /// What is in view, where that has changed or has just been read.
    private mutating func view(_ model: ChatModel) -> [String] {
        var lines: [String] = []
        if model.view != view {
            switch model.view {
            case .conversation(let name):
                if case .conversation(name)? = view {} else { lines.append("Now in \(name).") }
                said[name] = nil
                stirring.remove(name)
            case .reader(let reader): lines += [reader.heading] + reader.parts.map(String.init)
            case .welcome, .inbox, .search, .excerpt: break
            }
            view = model.view
        }
        guard case .conversation(let name) = model.view, said[name] == nil,
            let conversation = model.conversations.named(name), conversation.history != .unknown,
            conversation.history != .loading || conversation.count > 0
        else { return lines }
        let rows = (0..<conversation.count).suffix(200).compactMap { conversation.row(at: $0) }
        let stored = rows.compactMap { row -> StoredLine? in
            guard case .message(let line) = row, !conversation.isHidden(row) else { return nil }
            return line
        }
        said[name] = stored.last?.sequence ?? 0
        let recent = stored.suffix(Self.recent)
        if recent.isEmpty { return lines }
        return lines + ["The last \(Wording.count(recent.count, "message")):"]
            + recent.map { words($0, model, in: name) }
    }

    /// The message that a search in view has led to.
    private mutating func selected(_ model: ChatModel) -> [String] {
        guard model.selection != selection else { return [] }
        selection = model.selection
        guard let selection, case .message(let line)? = model.selectedRow else { return [] }
        return [words(line, model, in: selection.conversation)]
    }

    // MARK: What was written here

    private mutating func note(_ effect: ChatEffect) {
        let (id, text): (String, String)
        switch effect {
        case .publish(let publish, _, let line), .sendAgain(let publish, _, let line): (id, text) = (publish, line)
        case .postLetter(let letter, _, _, let line): (id, text) = (letter, line)
        default: return
        }
        let begin = text.prefix { !$0.isNewline }.prefix(40)
        own[id] = (begin.count < text.count ? begin + " …" : text, false)
        ownOrder.append(id)
        if ownOrder.count > Self.ownLimit { own[ownOrder.removeFirst()] = nil }
    }

    private mutating func published(_ news: PublishNews, _ model: ChatModel) -> [String] {
        guard let (text, waits) = own[news.id] else { return [] }
        switch news.state {
        case .queued:
            guard !waits, model.isOffline else { return [] }
            own[news.id]?.waits = true
            return ["Waits for a connection: \(text)"]
        case .sending: return []
        case .acknowledged: return waits ? ["Sent: \(text)"] : []
        case .failed(let error): return ["Not sent: \(text). \(error.words) /resend sends it again, /discard drops it."]
        case .discarded(let reason):
            return ["Not sent: \(text). \(reason.words) /resend sends it again, /discard drops it."]
        case .uncertain: return ["Perhaps sent: \(text). The answer was lost. /resend sends it again."]
        }
    }

    // MARK: The connection

    private mutating func connection(_ model: ChatModel) -> [String] {
        let status = model.status
        defer { (state, wasLong) = (status.state, status.isLongOutage) }
        let reason = status.reason.map { " \($0.words)" } ?? ""
        guard status.state != state else {
            return status.isLongOutage && !wasLong ? ["There is still no connection.\(reason)"] : []
        }
        switch status.state {
        case .initialized, .connecting: return []
        case .connected: return ["Connected."]
        case .reconnecting: return ["The connection is lost.\(reason) What you write waits."]
        case .suspended: return ["The connection rests."]
        case .disconnected: return ["Disconnected.\(reason) /reconnect connects again."]
        }
    }

    private mutating func told(_ model: ChatModel) -> [String] {
        guard model.notice != notice else { return [] }
        notice = model.notice
        // The connection's own failures are said with its states.
        return notice.flatMap { $0.subject == .connection ? nil : [$0.text] } ?? []
    }

    // MARK: Letters and what was found

    private func postbox(_ news: ChatEvent.PostboxNews, _ model: ChatModel) -> [String] {
        switch news {
        case .created(let letter):
            let begin = letter.message.prefix { !$0.isNewline }.prefix(80)
            return ["A letter from \(Self.sender(letter)): \(begin). /inbox reads them."]
        case .page(_, let page): return letters(page.items, page.nextToken != nil, model)
        case .keptPage(_, let kept):
            return ["Without a connection, as kept here:"] + letters(kept.page.items, kept.page.nextToken != nil, model)
        case .pageFailed(_, let error): return ["The letters could not be listed. \(error.words)"]
        case .boxes, .counts, .read, .deletion, .deletionFailed, .saving, .subscription: return []
        }
    }

    private func letters(_ letters: [PostboxMessage], _ hasMore: Bool, _ model: ChatModel) -> [String] {
        guard case .inbox = model.view else { return [] }
        if letters.isEmpty { return ["There is no letter."] }
        let lines = letters.enumerated().map { place, letter in
            let stamp = CivilTime(letter.createdAt, zone: model.zone).shortStamp.drop { $0 == " " }
            let box = model.inbox.name(ofBox: letter.postboxId)
            let begin = letter.message.prefix { !$0.isNewline }.prefix(Self.lineLimit)
            let isWhole = begin.endIndex == letter.message.endIndex
            return "\(place + 1). \(stamp), \(Self.sender(letter)) to \(box): \(begin)\(isWhole ? "" : " …")"
        }
        let hint = "/read NUMBER reads one, /delete NUMBER deletes it."
        return ["\(Wording.count(letters.count, "letter")):"] + lines
            + [hasMore ? "There are more; parley inbox list --all has all of them. \(hint)" : hint]
    }

    private static func sender(_ letter: PostboxMessage) -> String {
        letter.from.flatMap { $0.isEmpty ? nil : String($0.prefix(64)) } ?? "somebody"
    }

    private func search(_ news: ChatEvent.SearchNews, _ model: ChatModel) -> [String] {
        switch news {
        case .found(_, let items, _):
            guard !items.isEmpty else { return ["Nothing was found on this machine."] }
            return ["\(Wording.count(items.count, "thing")) found, the newest first:"]
                + items.map { item in
                    let stamp = CivilTime(item.time, zone: model.zone).shortStamp.drop { $0 == " " }
                    switch item {
                    case .message(let message):
                        return "\(stamp), \(message.topic), \(message.from.prefix(64)): \(Self.cut(message.text))"
                    case .letter(let letter):
                        return "\(stamp), letter, \((letter.person ?? "somebody").prefix(64)): \(Self.cut(letter.text))"
                    }
                }
        case .failed(_, let words), .aroundFailed(_, let words): return [words]
        case .around: return []
        }
    }

    // MARK: Lists and questions

    private func overlay(_ model: inout ChatModel) -> [String] {
        let lines: [String]
        switch model.overlay {
        case .question(let question): return ["\(question.text) (y/n)"]
        case .help(let scroll):
            let rows = HelpLayout(size: model.size, keys: model.settings.keys).rows
            lines = Self.words(rows.dropFirst(scroll).prefix(scroll > 0 ? 24 : rows.count))
        case .people:
            let list = HelpLayout(size: model.size, lines: model.people.lines(for: model.identity.user))
            lines = ["Who is in \(model.people.topic ?? ""):"] + Self.words(list.rows[...])
        case .listing(let listing):
            lines = ["\(listing.title):"] + Self.words(HelpLayout(size: model.size, lines: listing.lines).rows[...])
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
        model.overlay = nil
        return lines
    }

    private static func words(_ rows: ArraySlice<HelpLayout.Row>) -> [String] {
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

extension SafeText {
    /// The text without the sign at its beginning, which a voice would read out.
    fileprivate var dropSymbol: String {
        let text = description
        guard let first = text.first, !first.isLetter, !first.isNumber else { return text }
        return String(text.dropFirst().drop { $0 == " " })
    }
}
