import Relay

extension ChatModel {
    /// The topic that is joined where none is named or known.
    static let firstTopic = "chat.lobby"

    /// Takes in what the person was at: the topics as they were, behind them those that the person has named now and
    /// those that the configuration joins, the text that was typed and not sent, and the lines before it.
    ///
    /// - Parameter desk: nil where nothing is kept.
    func opened(_ desk: KeptDesk?) -> ChatEffects {
        let named = network.opening ?? []
        network.opening = nil
        network.keepsDesk = desk.map { !$0.isReadOnly } ?? false
        network.keepsOutbox = network.keepsDesk
        let kept = desk ?? KeptDesk()
        // One network's steps are enough for all that are in the window.
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
        // Each topic is read from the store behind the one before it: the one in view waits for no other.
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

    /// Takes in what was being written in each conversation, and opens one at the start. Whoever types already goes on
    /// there, and finds what was left there among its lines.
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

    /// What is in view at the start: what the person has named, else where they left, else the first topic.
    private func placeAtStart(_ named: [String], _ desk: KeptDesk) -> Place? {
        if let first = named.first, network.conversations.index(of: first) != nil { return .topic(first) }
        switch desk.place {
        case .topic(let name): if network.conversations.index(of: name) != nil { return desk.place }
        // Without a screen nobody has asked for the list.
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

    /// Takes in what was chosen about the screen, but for what was chosen again since the program began.
    private func bringBack(_ kept: DeskChoices) -> ChatEffects {
        if kept[.topicsByActivity] == true, !network.conversations.isByActivity {
            network.conversations.show(byActivity: true)
        }
        if screen.sidebar.foldChoice == nil { screen.sidebar.foldChoice = kept[.topicsFolded] }
        // Without a screen no key would change it again.
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

    // MARK: Keeping

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

    /// What of the model is compared to find out what is to be kept.
    struct DeskMark: Equatable, Sendable {
        let isKept: Bool
        /// The revision of which topics are joined, in which order.
        let topics: UInt64
        /// How many lines the editor has kept.
        let lines: Int
        let choices: DeskChoices
        /// What is in view, or lies below it.
        let place: Place?
    }

    /// What is compared, as it is now.
    var deskMark: DeskMark {
        DeskMark(
            isKept: network.keepsDesk, topics: network.conversations.revision, lines: compose.editor.keptCount,
            choices: deskChoices, place: screen.visits.first)
    }

    /// What an event has changed of what is kept.
    ///
    /// - Parameter isTyping: whether it can have changed the text that is being written.
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
