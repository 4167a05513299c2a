import Relay

extension ChatModel {
    /// The topic that is joined if there is no other.
    static let firstTopic = "chat.lobby"

    /// Restores the user's state: earlier topics, followed by those named now and in the configuration, drafts, unsent
    /// messages, and the line history.
    ///
    /// - Parameter desk: nil if nothing is stored.
    func opened(_ desk: KeptDesk?) -> ChatEffects {
        let named = network.opening ?? []
        network.opening = nil
        network.keepsDesk = desk.map { !$0.isReadOnly } ?? false
        network.keepsOutbox = network.keepsDesk
        let kept = desk ?? KeptDesk()
        // One tour is enough for a window.
        if network.keepsDesk, kept.isUntouched, window.place == 0 { screen.tour = Tour() }
        network.quiet.ignored.formUnion(kept.ignored)
        hideIgnored()
        bringBack(mutes: kept.muted)
        bringBack(kept.unsent)
        let known = kept.topics + named + settings.join
        var effects: ChatEffects = []
        let joined = known.isEmpty && network.conversations.isEmpty ? [Self.firstTopic] : known
        for topic in joined { effects += join(topic, shows: false) }
        effects += bringBack(kept.choices)
        effects += catchUpWithNews()
        tellOfHidden(kept.unsent)
        effects += bringBackWriting(kept, named)
        // Topics are loaded one at a time, so the one in view goes first.
        if let name = screen.view.topic,
            let place = effects.core.firstIndex(of: .topics(.subscribe(topic: name)))
        {
            effects.core.insert(effects.core.remove(at: place), at: 0)
        }
        noteVisit()
        if network.keepsDesk, let place = screen.visits.first,
            place != kept.place ?? network.conversations.all.first.map({ .topic($0.name) })
        {
            effects.core.append(.store(.keepPlace(place)))
        }
        let names = network.conversations.all.map(\.name)
        if network.keepsDesk, names != kept.topics { effects.core.append(.store(.keepJoined(names))) }
        return effects
    }

    /// Restores the drafts, and opens the first view. If the user is already typing, that text stays, and the draft
    /// moves to the line history.
    private func bringBackWriting(_ desk: KeptDesk, _ named: [String]) -> ChatEffects {
        let typed = compose
        writing.begin(with: desk.lines)
        for (name, text) in desk.drafts where !text.isEmpty { writing.bringBack(text, for: name) }
        let isOpening = screen.view == .welcome
        var effects: ChatEffects = []
        if isOpening { effects = open(placeAtStart(named, desk), isTyping: !typed.isEmpty) }
        guard isOpening, !typed.isEmpty else {
            if typed.isEmpty {
                compose = writing.move(compose, to: writing.place)
                _ = fits(compose.text)
            }
            compose.editor.history = writing.history
            writing.keptDraft = compose.text
            return effects
        }
        compose.editor.clear()
        _ = showWriting()
        if compose.hasContent {
            effects.core.append(.store(.keepLine(writing.add(compose.text))))
            compose.editor.clear()
        }
        compose.editor.history = writing.history
        compose.set(typed.text)
        writing.keptDraft = typed.text
        return effects + [.store(.keepDraft(Draft(conversation: writing.place, text: typed.text)))]
    }

    /// The first view: a topic named now, or else the last place, or else the first topic.
    private func placeAtStart(_ named: [String], _ desk: KeptDesk) -> Place? {
        if let first = named.first, network.conversations.index(of: first) != nil { return .topic(first) }
        switch desk.place {
        case .topic(let name): if network.conversations.index(of: name) != nil { return desk.place }
        // Without a screen the letters are listed only on request.
        case .letters: if hasScreen { return desk.place }
        case nil: break
        }
        return network.conversations.all.first.map { .topic($0.name) }
    }

    private func open(_ place: Place?, isTyping: Bool) -> ChatEffects {
        switch place {
        case .topic(let name): screen.view = .conversation(name)
        case .letters(let box):
            if !isTyping { screen.focus = .main }
            return openInbox(box)
        case nil: break
        }
        return []
    }

    /// Restores the choices, except those made again since the start.
    private func bringBack(_ kept: DeskChoices) -> ChatEffects {
        if kept[.topicsByActivity] == true, !network.conversations.isByActivity {
            network.conversations.show(byActivity: true)
        }
        if screen.sidebar.foldChoice == nil { screen.sidebar.foldChoice = kept[.topicsFolded] }
        // Without a screen there is no key to change these.
        if hasScreen {
            network.inbox.bringBack(
                kept[.lettersOldestFirst] == true ? .oldestFirst : .newestFirst, kept.letterSort,
                isUnreadAlone: kept[.unreadLettersAlone] == true)
        }
        if kept[.suspensionExplained] == true { attention.suspension.isExplained = true }
        guard attention.suspension.keeps == nil, let keeps = kept[.keepsConnection] else { return [] }
        attention.suspension.keeps = keeps
        return keeps ? [.connection(.setSuspension(attention.suspension.policy))] : []
    }

    // MARK: Saving

    var deskChoices: DeskChoices {
        var choices = DeskChoices()
        if network.conversations.isByActivity { choices[.topicsByActivity] = true }
        choices[.topicsFolded] = screen.sidebar.foldChoice
        if network.inbox.order == .oldestFirst { choices[.lettersOldestFirst] = true }
        choices.letterSort = network.inbox.sort
        if network.inbox.filter?.isUnreadAlone == true { choices[.unreadLettersAlone] = true }
        choices[.keepsConnection] = attention.suspension.keeps
        if attention.suspension.isExplained { choices[.suspensionExplained] = true }
        return choices
    }

    /// The parts of the model that are compared to find out what to save.
    struct DeskMark: Equatable, Sendable {
        let isKept: Bool
        /// The revision of the joined topics and their order.
        let topics: UInt64
        let lines: Int
        let choices: DeskChoices
        /// The place in view, or below the view.
        let place: Place?
    }

    var deskMark: DeskMark {
        DeskMark(
            isKept: network.keepsDesk, topics: network.conversations.revision, lines: compose.editor.keptCount,
            choices: deskChoices, place: screen.visits.first)
    }

    /// The requests to save what an event has changed.
    ///
    /// - Parameter isTyping: whether the event can have changed the draft.
    func changesToKeep(since mark: DeskMark, isTyping: Bool) -> ChatEffects {
        var effects: ChatEffects = []
        if compose.editor.keptCount > mark.lines {
            let typed = compose.editor.history.suffix(compose.editor.keptCount - mark.lines).map { writing.add($0) }
            effects.core = typed.map { .store(.keepLine($0)) }
        }
        guard mark.isKept, network.keepsDesk else { return [] }
        if network.conversations.revision != mark.topics {
            effects.core.append(.store(.keepJoined(network.conversations.all.map(\.name))))
        }
        let choices = deskChoices
        if choices != mark.choices {
            for name in DeskChoices.Name.allCases where choices[name] != mark.choices[name] {
                effects.core.append(.store(.keepChoice(name, choices[name])))
            }
        }
        if let place = screen.visits.first, place != mark.place { effects.core.append(.store(.keepPlace(place))) }
        if isTyping, case let text = compose.text, text != writing.keptDraft {
            writing.keptDraft = text
            effects.core.append(.store(.keepDraft(Draft(conversation: writing.place, text: text))))
        }
        if isWatching, let name = lookedAt, let read = network.conversations.update(name, { $0.noteRead() }),
            let sequence = read
        {
            effects.core.append(.topics(.keepReadMark(topic: name, sequence: sequence)))
        }
        return effects
    }
}
