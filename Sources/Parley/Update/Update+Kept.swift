import Relay

extension ChatModel {
    /// The topic that is joined where none is named or known.
    static let firstTopic = "chat.lobby"

    /// Takes in what the person was at: the topics as they were, behind them those that the person has named now and
    /// those that the configuration joins, the text that was typed and not sent, and the lines before it.
    ///
    /// - Parameter desk: nil where nothing is kept.
    mutating func opened(_ desk: KeptDesk?) -> [ChatEffect] {
        let named = opening ?? []
        opening = nil
        keepsDesk = desk != nil
        let kept = desk ?? KeptDesk()
        if keepsDesk, kept.isUntouched { tour = Tour() }
        ignored.formUnion(kept.ignored)
        hideIgnored()
        bringBack(kept.unsent)
        let known = kept.topics + named + settings.join
        var effects: [ChatEffect] = []
        let isNothingKnown = known.isEmpty && conversations.isEmpty
        let joined = isNothingKnown ? [Self.firstTopic] : known
        for topic in joined { effects += join(topic, shows: false) }
        effects += catchUpWithNews()
        tellOfHidden(kept.unsent)
        let left = draft(of: kept)
        keptDraft = left
        var lines = kept.lines
        if !left.text.isEmpty {
            // Whoever types already finds it among the lines.
            if compose.isEmpty { compose.set(left.text) } else { lines.append(left.text) }
        }
        compose.editor.history = lines + compose.editor.history
        if view == .welcome { view = viewAtStart(named, left) }
        let names = conversations.all.map(\.name)
        if keepsDesk, names != kept.topics { effects.append(.keepJoined(names)) }
        return effects
    }

    /// The draft that comes back: that of the first conversation that has one.
    private func draft(of desk: KeptDesk) -> Draft {
        for name in desk.topics + [""] {
            if let text = desk.drafts[name], !text.isEmpty { return Draft(conversation: name, text: text) }
        }
        return Draft()
    }

    /// What is in view at the start: what the person has named, else where they were typing, else the first topic.
    private func viewAtStart(_ named: [String], _ left: Draft) -> MainView {
        if let first = named.first, conversations.index(of: first) != nil { return .conversation(first) }
        if conversations.index(of: left.conversation) != nil { return .conversation(left.conversation) }
        return fallbackView
    }

    // MARK: Keeping

    /// What of the model is compared to find out what is to be kept.
    struct DeskMark: Equatable, Sendable {
        let isKept: Bool
        /// The revision of which topics are joined, in which order.
        let topics: UInt64
        let line: String?
    }

    var deskMark: DeskMark {
        DeskMark(isKept: keepsDesk, topics: conversations.revision, line: compose.editor.history.last)
    }

    /// What an event has changed of what is kept.
    ///
    /// - Parameters:
    ///   - mark: what was before the event.
    ///   - isTyping: whether the event can have changed the text that is being written.
    mutating func changesToKeep(since mark: DeskMark, isTyping: Bool) -> [ChatEffect] {
        guard mark.isKept, keepsDesk else { return [] }
        var effects: [ChatEffect] = []
        // A line that is the same as the one before it is not kept twice.
        if let line = compose.editor.history.last, line != mark.line { effects.append(.keepLine(line)) }
        if conversations.revision != mark.topics { effects.append(.keepJoined(conversations.all.map(\.name))) }
        if isTyping { effects += draftToKeep() }
        if isWatching, let name = lookedAt, let read = conversations.update(name, { $0.noteRead() }),
            let sequence = read
        {
            effects.append(.keepReadMark(topic: name, sequence: sequence))
        }
        return effects
    }

    private mutating func draftToKeep() -> [ChatEffect] {
        var present = Draft(conversation: "", text: compose.text)
        if case .conversation(let name) = view { present.conversation = name }
        let before = keptDraft
        guard present != before else { return [] }
        keptDraft = present
        var effects: [ChatEffect] = []
        if before.conversation != present.conversation, !before.text.isEmpty {
            effects.append(.keepDraft(Draft(conversation: before.conversation)))
        }
        if before.conversation == present.conversation || !present.text.isEmpty { effects.append(.keepDraft(present)) }
        return effects
    }
}
