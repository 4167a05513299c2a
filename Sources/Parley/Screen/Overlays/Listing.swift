import Relay
import Terminal

/// A list over the panes, made when it is opened, such as a message's details or recent errors.
struct Listing: Equatable, Sendable {
    var title: String
    var lines: [HelpText.Line]
    var scroll = 0
    /// The line that Enter opens; nil for a list that is only read.
    var selected: Int?
    var content = Content.words

    enum Content: Hashable, Sendable {
        case words
        case sentLetters
        case postboxes([String])
        case topics([String])
        /// For each line, the place of its link among those listed last.
        case links([Int])
    }

    /// Selects a line and scrolls so that all of it is shown.
    mutating func select(_ index: Int, on size: Size) {
        selected = max(0, min(index, lines.count - 1))
        let list = HelpLayout(size: size, lines: lines)
        let rows = selectedRows(on: size)
        scroll = min(scroll, list.lastScroll)
        if rows.upperBound > scroll + list.inner.rows { scroll = rows.upperBound - list.inner.rows }
        if rows.lowerBound < scroll { scroll = rows.lowerBound }
    }

    func selectedRows(on size: Size) -> Range<Int> {
        guard let selected, lines.indices.contains(selected) else { return 0..<0 }
        let above = HelpLayout(size: size, lines: Array(lines.prefix(selected))).rows.count
        return above..<above + HelpLayout(size: size, lines: [lines[selected]]).rows.count
    }
}

extension ChatModel {
    private static let listLimit = 200

    func listTopics() {
        guard !network.conversations.isEmpty else { return say("No topic is joined. /join TOPIC joins one.") }
        let topics = (0..<network.conversations.count).compactMap { network.conversations.shown(at: $0) }
        let lines = topics.map { conversation in
            var words: [String] = []
            if screen.view == .conversation(conversation.name) { words.append("in view") }
            if conversation.unread > 0 { words.append("\(Wording.grouped(conversation.unread)) unread") }
            if !conversation.mentions.isEmpty {
                words.append("\(Wording.grouped(conversation.mentions.count)) to you")
            }
            if network.conversations.isMuted(conversation.name) { words.append("muted") }
            if writing.hasText(for: conversation.name) { words.append("something is being written there") }
            return HelpText.Line.entry(conversation.name, words.joined(separator: ", "))
        }
        let names = topics.map(\.name)
        var listing = Listing(title: "Your topics", lines: lines, content: .topics(names))
        listing.select(names.firstIndex { screen.view == .conversation($0) } ?? 0, on: size)
        screen.overlay = .listing(listing)
    }

    func showErrors() {
        let failures = network.log.entries.compactMap { entry in
            entry.event.mishap.map { NoteList.Entry(at: entry.at, words: $0) }
        }
        let lines = dated(notices.mistakes.merged(with: failures))
        guard !lines.isEmpty else { return say("Nothing has gone wrong since Parley was opened.") }
        screen.overlay = .listing(Listing(title: "Recent errors (newest first)", lines: lines))
    }

    func showKeyResults() {
        guard !notices.keyResults.entries.isEmpty else {
            return say("No key was asked for yet. \(KeyValueRequest.usage)")
        }
        screen.overlay = .listing(
            Listing(title: "Keys and values (newest first)", lines: dated(notices.keyResults.entries)))
    }

    /// Sentences with their times under their days, newest first.
    private func dated(_ entries: [NoteList.Entry]) -> [HelpText.Line] {
        let year = CivilTime(now.wall, zone: zone).year
        var lines: [HelpText.Line] = []
        var day: Int?
        for entry in entries.suffix(Self.listLimit).reversed() {
            let civil = CivilTime(entry.at, zone: zone)
            if day != civil.dayNumber {
                day = civil.dayNumber
                lines.append(.heading(civil.dateLine(currentYear: year)))
            }
            lines.append(.entry(civil.clock, entry.words))
        }
        return lines
    }
}

extension ConnectionLog.Event {
    /// What went wrong, in words; nil if nothing did.
    fileprivate var mishap: String? {
        switch self {
        case .failure(let words): words
        case .status(let change) where change.reason != nil && !change.repeatsReason && change.state != .connected:
            ([change.state.word] + change.details).joined(separator: " · ")
        case .status, .life, .remark: nil
        }
    }
}
