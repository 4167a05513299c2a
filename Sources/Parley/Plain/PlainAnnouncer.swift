import Relay
import Terminal

/// Announces in lines of text what the screen would show, for screen readers and pipes. Each thing is announced once,
/// when it happens, and nothing is ever overwritten.
///
/// A value that is fed after `update`. Lists are announced and closed instead of covering a screen.
struct PlainAnnouncer {
    /// The messages announced when a topic comes into view.
    static let recent = 10
    /// The longest announcement of a message or letter, in characters.
    private static let textLimit = 16_384
    /// The most messages announced when a topic with something new comes into view.
    private static let newLimit = 100
    /// An address longer than this is hard to listen to, in characters.
    private static let longAddress = 60
    /// The most matching lines announced from a letter.
    private static let foundLimit = 20
    /// The most own messages whose outcome is awaited; beyond that the oldest are forgotten.
    private static let ownLimit = 1_000

    /// The last announced connection status.
    private var status: ConnectionStatus?
    private var wasCutOff = false
    private var notice: Notice?
    /// The view, or the one below the reader.
    private var place: MainView?
    /// The last announced reader, while it is open.
    private var reader: Reader?
    /// The last announced sequence of each topic.
    private(set) var said: [String: UInt64] = [:]
    /// The topics out of view that were announced to have something new.
    private var stirring: Set<String> = []
    /// The user's messages by id: the beginning of each, and whether it was announced as waiting.
    private var own: [String: (text: String, waits: Bool, isLetter: Bool)] = [:]
    private var ownOrder: [String] = []
    private var selection: ChatModel.Selection?
    /// The topic in view that was announced as read-only.
    private var readOnly: String?
    /// The topic whose older messages to announce on arrival.
    var awaitedHistory: String?
    /// The page of letters to announce on arrival.
    var awaitedPage: UInt64?
    /// The number of search results announced.
    var saidFound = 0

    mutating func lines(
        after event: ChatEvent, _ effects: [CoreEffect], _ model: ChatModel
    ) -> [String] {
        var lines = effects.flatMap { note($0, model) }
        var command: SlashCommand?
        if case .line(let text) = event { command = (try? SlashCommand.parse(text)) ?? nil }
        switch event {
        case .line where command == .history || command == .more: lines += further(command, model)
        case .past(let name, .history(let messages, gaps: _, before: _, isComplete: _)):
            lines += older(of: name, model)
            // The network may have messages newer than those announced offline.
            if model.screen.viewBelowReader == .conversation(name) {
                let shown = messages.filter { model.network.conversations.home(of: $0.topic) ?? name == name }
                lines += self.messages(shown, in: name, model)
            }
        case .past(let name, .keptHistory), .past(let name, .historyFailed): lines += older(of: name, model)
        case .topic(let name, let events):
            for event in events {
                switch event {
                case .message, .unreadable:
                    if let message = event.shown(at: model.now.wall) { lines += messages([message], in: name, model) }
                // Sequences start over.
                case .restarted: if said[name] != nil { said[name] = 0 }
                case .gap(let lost):
                    let count = Wording.count(Int(clamping: lost), "message")
                    lines.append("\(name): \(count) \(lost == 1 ? "is" : "are") gone.")
                case .live, .interrupted: break
                }
            }
        case .published(let news): lines += published(news, model)
        case .postbox(let news): lines += postbox(news, model)
        case .search(let news): lines += search(news, model)
        default: break
        }
        lines = connection(model) + lines
        lines += read(command, model)
        lines += view(model)
        lines += selected(model)
        lines += overlay(model)
        lines += told(model)
        if lines.isEmpty, let command { lines = unchanged(command, model) }
        return lines.flatMap(Self.safe)
    }

    /// The answer to a command that has changed nothing.
    private func unchanged(_ command: SlashCommand, _ model: ChatModel) -> [String] {
        switch command {
        case .join:
            guard let name = model.screen.view.topic else { return [] }
            return ["You are in \(name)."]
        case .inbox: return model.network.inbox.isLoaded ? letters(model) : []
        case .reconnect: return ["Connecting …"]
        case .disconnect where model.network.status.state == .disconnected:
            return ["Disconnected already. /reconnect connects again."]
        case .log: return ["Nothing has happened to the connection yet."]
        default: return []
        }
    }

    /// The lines of a text without control characters, indented after the first.
    private static func safe(_ text: String) -> [String] {
        let lines = SafeText.lines(text).map(\.description)
        return lines.prefix(1) + lines.dropFirst().map { "    \($0)" }
    }

    // MARK: Messages

    private mutating func messages(_ messages: [TopicMessage], in name: String, _ model: ChatModel) -> [String] {
        var lines: [String] = []
        for message in messages {
            let home = model.network.conversations.home(of: message.topic) ?? name
            guard let conversation = model.network.conversations.named(home),
                let row = conversation.row(at: conversation.index(atOrAfter: .message(message.sequence))),
                case .message(let line) = row, line.id == message.id, !conversation.isHidden(row),
                !message.mayBeFromHere || own[message.id] == nil
            else { continue }
            if model.screen.viewBelowReader == .conversation(home) {
                guard said[home].map({ message.sequence > $0 }) ?? false else { continue }
                said[home] = message.sequence
                lines.append(words(line, model, in: home))
            } else if line.isMention {
                lines.append(words(line, model, in: home, names: true))
            } else if !line.isOwn, !model.network.conversations.isMuted(home), stirring.insert(home).inserted {
                lines.append("\(home) has something new.")
            }
        }
        return lines
    }

    func words(_ line: StoredLine, _ model: ChatModel, in home: String, names: Bool = false) -> String {
        let clock = CivilTime(line.time, zone: model.zone).clock
        var name = line.isOwn ? "you" : line.name.isEmpty ? "somebody" : SafeText(name: line.name).description
        if line.isClaimed { name += "? (not sent by you)" }
        let place = names || line.topic != home ? "\(line.topic), " : ""
        let text = Self.cut(line.text) + Self.files(in: line.text)
        return "\(clock) \(place)\(name)\(line.isMention ? ", to you" : ""): \(text)"
    }

    /// The names of linked files whose addresses are too long to listen to.
    private static func files(in text: String) -> String {
        guard text.utf8.count > longAddress else { return "" }
        let links = SafeText.lines(String(text.prefix(textLimit))).flatMap { Link.places(in: $0).map(\.link) }
        let files = links.filter { $0.text.count > longAddress }.compactMap(\.file)
        return files.isEmpty ? "" : " (\(files.prefix(8).joined(separator: ", ")))"
    }

    static func cut(_ text: String) -> String {
        let shown = text.prefix(textLimit)
        return shown.endIndex < text.endIndex ? shown + " … it goes on; /read says all of it" : text
    }

    /// Announces what the reader shows, if it is new or was asked for again.
    private mutating func read(_ command: SlashCommand?, _ model: ChatModel) -> [String] {
        guard let shown = model.screen.view.reader else {
            reader = nil
            return []
        }
        defer { reader = shown }
        if case .find(let words)? = command {
            // If there is no further match, a notice says so.
            guard let find = shown.find, let line = find.line, !words.isEmpty || find != reader?.find else { return [] }
            let found = shown.parts[line.part...].lazy.map { String($0) }.filter { find.text.isIn($0) }
            return Array(found.prefix(Self.foundLimit))
        }
        let isAsked =
            switch command {
            case .read, .sent, .open: true
            default: false
            }
        return isAsked || shown != reader ? [shown.heading] + shown.parts.map(String.init) : []
    }

    /// Announces the view if it has changed or has just been loaded.
    private mutating func view(_ model: ChatModel) -> [String] {
        var lines: [String] = []
        // The reader covers nothing here.
        let place = model.screen.viewBelowReader
        if place != self.place {
            if let name = place.topic {
                lines.append("Now in \(name).")
                said[name] = nil
                stirring.remove(name)
            }
            self.place = place
        }
        lines += access(to: place, model)
        guard let name = place.topic, said[name] == nil,
            let conversation = model.network.conversations.named(name), Self.isKnown(conversation, model)
        else { return lines }
        let rows = (0..<conversation.count).suffix(200).compactMap { conversation.row(at: $0) }
        let stored = rows.compactMap { row -> StoredLine? in
            guard case .message(let line) = row, !conversation.isHidden(row) else { return nil }
            return line
        }
        said[name] = stored.last?.sequence ?? 0
        // Includes all new messages, up to the limit.
        let new = conversation.newMarker.map { marker in stored.count { .message($0.sequence) >= marker } } ?? 0
        let recent = stored.suffix(max(Self.recent, min(new, Self.newLimit)))
        model.spoken?.oldest[name] = recent.first.map { .message($0.sequence) }
        if recent.isEmpty { return lines }
        return lines + ["The last \(Wording.count(recent.count, "message")):"]
            + recent.map { words($0, model, in: name) }
    }

    /// Announces whether the topic in view is read-only, if that has changed.
    private mutating func access(to place: MainView, _ model: ChatModel) -> [String] {
        guard let name = place.topic else { return [] }
        let words = model.readOnlyWords(of: name)
        let before = exchange(&readOnly, with: words == nil ? nil : name)
        if let words { return before == name ? [] : ["\(words)."] }
        return before == name ? ["You can write to \(name) now."] : []
    }

    /// Whether a topic's newest messages are loaded. Offline, those in the store are all there is.
    private static func isKnown(_ conversation: Conversation, _ model: ChatModel) -> Bool {
        switch conversation.history {
        case .unknown: model.isCutOff && conversation.oldest != nil
        case .loading: conversation.count > 0
        case .more, .offline, .complete: true
        }
    }

    private mutating func selected(_ model: ChatModel) -> [String] {
        guard model.screen.marks.selection != selection else { return [] }
        selection = model.screen.marks.selection
        guard let selection, case .message(let line)? = model.selectedRow else { return [] }
        return [words(line, model, in: selection.conversation)]
    }

    // MARK: Own messages

    /// Notes a request, and announces a message that is sent again.
    private mutating func note(_ effect: CoreEffect, _ model: ChatModel) -> [String] {
        let (id, text): (String, String)
        var (isAgain, isLetter) = (false, false)
        switch effect {
        case .topics(.publish(let publish, _, let line)): (id, text) = (publish, line)
        case .topics(.sendAgain(let publish, _, let line)): (id, text, isAgain) = (publish, line, true)
        case .letters(.post(let letter, _, _, _, let line)): (id, text, isLetter) = (letter, line, true)
        case .letters(.listPage(let request, _, _, _, _)):
            awaitedPage = request
            return []
        case .search:
            // A new search starts counting at zero.
            if model.search?.items.isEmpty ?? true { saidFound = 0 }
            return []
        default: return []
        }
        let begin = text.prefix { !$0.breaksLine }.prefix(40)
        let words = begin.count < text.count ? begin + " …" : text
        if own.updateValue((words, isAgain, isLetter), forKey: id) == nil { ownOrder.append(id) }
        if ownOrder.count > Self.ownLimit { own[ownOrder.removeFirst()] = nil }
        return isAgain ? ["Sending again: \(words)"] : []
    }

    private mutating func published(_ news: PublishNews, _ model: ChatModel) -> [String] {
        guard let (text, waits, isLetter) = own[news.id] else { return [] }
        if let (_, reason) = news.givenUp {
            var next = "/resend sends it again, /discard drops it."
            if isLetter { next = model.network.keepsOutbox ? "parley outbox send \(news.id) sends it again." : "" }
            return ["\(news.mayBeStored ? "Perhaps" : "Not") sent: \(text). \(reason) \(next)"]
        }
        switch news.state {
        case .queued:
            guard !waits, model.isOffline else { return [] }
            own[news.id]?.waits = true
            return ["Waits for a connection: \(text)"]
        case .acknowledged: return waits ? ["Sent: \(text)"] : []
        case .sending, .failed, .discarded, .uncertain: return []
        }
    }

    // MARK: The connection

    private mutating func connection(_ model: ChatModel) -> [String] {
        let status = model.network.status
        let (before, wasCutOff) = (self.status, wasCutOff)
        (self.status, self.wasCutOff) = (status, model.isCutOff)
        let reason = status.reason.map { " \($0.words)" } ?? ""
        if status.state == .connecting, model.isCutOff, !wasCutOff {
            return ["There is no connection yet.\(reason) What you write waits."]
        }
        if status.state == before?.state {
            let isSilent = status.silentSince != nil
            if isSilent != (before?.silentSince != nil) {
                return [isSilent ? "The server is not answering. What you write waits." : "The server answers again."]
            }
            let isNews = status.isLongOutage && before?.isLongOutage == false
            return isNews ? ["There is still no connection.\(reason)"] : []
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
        guard model.notices.shown != notice else { return [] }
        notice = model.notices.shown
        // The connection's own failures are announced with its states.
        return notice.flatMap { $0.subject == .connection ? nil : [$0.text] } ?? []
    }
}
