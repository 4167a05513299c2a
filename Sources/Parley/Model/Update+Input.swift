import Relay
import Terminal

extension ChatModel {
    /// Handles input from the terminal, which shows that the user is present.
    func handleInput(_ input: InputEvent) -> ChatEffects {
        var effects = noteSign(input)
        if input.isTyped || input == .focusIn { attention.lastInput = now.instant }
        if input.isTyped {
            notices.pass(at: now.instant)
            attention.absence?.personTypes()
        }
        switch input {
        case .focusIn, .focusOut, .reply:
            return effects
        case .paste(let text):
            screen.chord = []
            effects += nudge()
            paste(text)
        case .pasteCut:
            say(
                "The end of the paste is missing: a paste can have \(Wording.grouped(InputParser.pasteLimit)) bytes.",
                .failure)
        case .key(let key):
            effects += nudge()
            effects += press(key)
        case .mouse(let mouse):
            screen.chord = []
            effects += handleMouse(mouse)
        }
        return effects
    }

    /// Notes what an input says about the user's presence.
    func noteSign(_ input: InputEvent) -> ChatEffects {
        // Focus reports that another program has switched on do not count unless this one asks for them.
        let change = attention.isWatched || input.isTyped ? attention.tracker.handle(input) : nil
        if let change {
            network.log.record(change ? input == .focusIn ? .focusReturned : .signOfLife : .focusLost, at: now)
        }
        return noteAttention(change)
    }

    private func paste(_ text: String) {
        switch screen.overlay {
        case .help, .people, .listing: screen.overlay = nil
        case .palette(var palette):
            palette.insert(text)
            screen.overlay = .palette(palette)
            return
        case .log, .question, nil: break
        }
        guard screen.overlay == nil || logScroll != nil else { return }
        if screen.overlay == nil, screen.focus == .main, screen.view.isInbox, var filter = network.inbox.filter,
            filter.isTyped
        {
            filter.insert(text)
            return network.inbox.setFilter(filter)
        }
        screen.focus = .compose
        let isAtEnd = compose.editor.cursor == compose.editor.count
        let whole = isAtEnd ? breaksBeforeRest + text : text
        var pasted = Substring(whole)
        // Copied lines end with a break, which belongs to the text only if more follows.
        if isAtEnd { while pasted.last?.breaksLine == true { pasted.removeLast() } }
        let cut = compose.editor.insert(String(pasted))
        let breaks = String(whole[pasted.endIndex...])
        writing.omittedBreaks = OmittedBreaks(breaks: breaks, bytes: compose.editor.utf8Count, at: now.instant)
        if cut > 0 {
            sayFull("The last \(Wording.count(cut, "character")) of the paste \(cut == 1 ? "is" : "are") missing")
        }
    }

    /// The breaks omitted from the end of the last paste, if this continues it: a long paste, or one over a slow link,
    /// arrives in parts.
    private var breaksBeforeRest: String {
        guard let omitted = writing.omittedBreaks, omitted.bytes > 0, omitted.bytes == compose.editor.utf8Count,
            omitted.at.duration(to: now.instant) <= PasteWatch.reach
        else { return "" }
        return omitted.breaks
    }

    func sayFull(_ words: String) {
        say("\(words): the text can have \(Wording.grouped(compose.editor.limit)) characters.", .failure)
    }

    private func press(_ key: Key) -> ChatEffects {
        let wasArmed = screen.quitIsArmed
        screen.quitIsArmed = false
        notices.withdraw(about: .quitting)
        if logScroll == nil, palette == nil, let overlay = screen.overlay { return press(key, over: overlay) }
        if screen.chord.isEmpty, screen.overlay == nil {
            if undoesDeletion(key) {
                undoDeletion()
                return []
            }
            // The key is the argument of the one before.
            if screen.focus == .compose, compose.editor.awaitsKey { return ComposePane().type(key, on: self) }
        }
        let pane = pane
        let keys = screen.chord + [key]
        screen.chord = []
        noteSlash(key)
        return pane.press(keys, isSecondInterrupt: wasArmed, on: self)
    }

    private func press(_ key: Key, over overlay: Overlay) -> ChatEffects {
        let everywhere = settings.keys.action(of: key)
        if everywhere == .redraw { return .screen(.redraw) }
        if everywhere == .suspend { return .screen(.suspendProcess) }
        let step = ListKey(key, settings.keys)
        switch overlay {
        case .question(let question):
            switch key {
            case Key(.character("y")), Key(.character("Y")): return answerYes(question)
            case Key(.character("n")), Key(.character("N")), Key(.escape), Key(.enter), .control("c"):
                screen.overlay = nil
                // The time to undo continues.
                if question.act == .quitDeleting { network.inbox.deletion.release(now: now.instant) }
            default: break
            }
        case _ where everywhere == .quit: return quit()
        case .help(let scroll):
            let help = HelpLayout(size: size, keys: settings.keys)
            screen.overlay = scrolled(scroll, by: step, in: help).map { .help(scroll: $0) }
        case .people(let scroll):
            let list = HelpLayout(size: size, lines: network.people.lines(for: network.identity.user))
            screen.overlay = scrolled(scroll, by: step, in: list).map { .people(scroll: $0) }
        case .listing(var listing):
            if let selected = listing.selected { return press(key, as: step, over: listing, selected) }
            let list = HelpLayout(size: size, lines: listing.lines)
            let scroll = scrolled(listing.scroll, by: step, in: list)
            listing.scroll = scroll ?? 0
            screen.overlay = scroll == nil ? nil : .listing(listing)
        case .log, .palette: break
        }
        return []
    }

    private func press(
        _ key: Key, as step: ListKey?, over listing: Listing, _ selected: Int
    ) -> ChatEffects {
        var listing = listing
        let page = max(1, HelpLayout(size: size, lines: listing.lines).pageRows / 2)
        switch step {
        case .up: listing.select(selected - 1, on: size)
        case .down: listing.select(selected + 1, on: size)
        case .pageUp: listing.select(selected - page, on: size)
        case .pageDown: listing.select(selected + page, on: size)
        case .toBeginning: listing.select(0, on: size)
        case .toEnd: listing.select(listing.lines.count - 1, on: size)
        case .open: return openListed(selected)
        case .close:
            screen.overlay = nil
            return []
        case nil:
            guard case .postboxes(let names) = listing.content, names.indices.contains(selected) else { return [] }
            return manage(names[selected], by: key) ?? []
        }
        screen.overlay = .listing(listing)
        return []
    }

    /// The scroll position of a list over the panes after a key; nil if the key closes the list.
    private func scrolled(_ scroll: Int, by step: ListKey?, in list: HelpLayout) -> Int? {
        let (page, last) = (list.pageRows, list.lastScroll)
        // The screen may have grown since.
        let first = min(scroll, last)
        return switch step {
        case .up: max(0, first - 1)
        case .down: min(last, first + 1)
        case .pageUp: max(0, first - page)
        case .pageDown: min(last, first + page)
        case .toBeginning: 0
        case .toEnd: last
        case .open, .close: nil
        case nil: scroll
        }
    }

    func perform(_ action: EverywhereKey, isSecondInterrupt: Bool = false) -> ChatEffects {
        switch action {
        case .commands: togglePalette(.commands)
        case .quickSwitch: togglePalette(.places)
        case .previousPlace: return goToPreviousPlace()
        case .help: screen.overlay = .help(scroll: 0)
        case .focusTopics: screen.focus = screen.focus == .sidebar ? .compose : .sidebar
        case .openPostbox:
            let isInFront = screen.focus == .main
            screen.focus = .main
            if case .inbox(let box) = screen.view, !isInFront { return openInbox(box) }
            return openInbox(nil)
        case .foldTopics: foldTopics()
        case .connectionLog: if logScroll == nil { openLog() } else { closeLog() }
        case .openLab: toggleLab()
        case .nextPane: nextPane()
        case .previousPane: screen.focus = isSidebarHidden && screen.focus == .main ? .compose : screen.focus.previous
        case .nextTopic: walkTopics(by: 1)
        case .previousTopic: walkTopics(by: -1)
        case .nextUnread: return showNextUnread()
        case .firstUnread: showFirstUnread()
        case .pageUp: return mainPane.scroll(up: pageRows, on: self)
        case .pageDown: return mainPane.scroll(up: -pageRows, on: self)
        case .readWhole: readWhole()
        case .redraw: return .screen(.redraw)
        case .suspend: return .screen(.suspendProcess)
        case .interrupt: return interrupt(isSecond: isSecondInterrupt)
        case .quit: return quit()
        case .escape: escape()
        case .topic1, .topic2, .topic3, .topic4, .topic5, .topic6, .topic7, .topic8, .topic9:
            return action.topicNumber.map { goToTopic($0) } ?? []
        }
        return []
    }

    // MARK: Panes

    private func nextPane() {
        screen.focus = isSidebarHidden && screen.focus == .compose ? .main : screen.focus.next
    }

    /// Whether the sidebar is folded on a screen with room for it; switching panes then skips it.
    private var isSidebarHidden: Bool { screen.sidebar.foldChoice == true && size.columns >= ScreenLayout.sidebarFrom }

    private func foldTopics() {
        guard size.columns >= ScreenLayout.sidebarFrom else {
            let shown = settings.keys.label(of: .focusTopics).map { "; \($0) shows them" } ?? ""
            return say("The topics have no room beside the text here\(shown).")
        }
        let isFolded = !areTopicsFolded
        // Agreeing with the configuration is no choice, so that its later changes take effect.
        screen.sidebar.foldChoice = isFolded == settings.layout.foldsSidebar ? nil : isFolded
        if screen.focus == .sidebar { screen.focus = .compose }
    }

    private func interrupt(isSecond: Bool) -> ChatEffects {
        if !compose.isEmpty {
            compose.editor.discard()
            let undo = settings.keys.label(of: .undoEdit).map { "; \($0) brings the text back." }
            return tell("Cleared" + (undo ?? "."), for: Notice.glance)
        }
        if isSecond { return quit() }
        screen.quitIsArmed = true
        return tell("\(settings.keys.label(of: .interrupt) ?? "The same") again quits.", about: .quitting)
    }

    /// Goes back: stops or closes something, returns to an earlier view, or else to the text.
    ///
    /// - Returns: false if it only returned to the text.
    @discardableResult
    func escape() -> Bool {
        notices.shown = nil
        dismissAbsence()
        screen.tour = nil
        if stopDeletion() || stopMarking() || screen.view.pane.escape(on: self) { return true }
        let back = screen.trail.popLast()
        if let back {
            if let found = screen.marks.found, let scroll = found.scrollBefore {
                network.conversations.update(found.conversation) { $0.scroll = scroll }
            }
            screen.view = back
            (screen.marks.found, screen.marks.landing) = (nil, nil)
        }
        screen.focus = screen.trail.isEmpty ? .compose : .main
        return back != nil
    }

    private var pageRows: Int { max(1, layout(on: size).main.rows - 1) }
}

extension Pane {
    func press(_ keys: [Key], isSecondInterrupt: Bool, on model: ChatModel) -> ChatEffects {
        guard let key = keys.last else { return [] }
        let map = model.settings.keys
        if keys.count == 1, !map.begins(with: key, in: Self.self) { return type(key, on: model) }
        switch map.meaning(of: keys, in: Self.self, where: { use(of: $0, by: key, in: model) != .notTaken }) {
        case .own(let action): return perform(action, on: model)
        case .everywhere(let action):
            if keys.count == 1, let edits = map.editorKey(for: key), keeps(edits, in: model) {
                return edit(edits, for: keys, on: model)
            }
            if model.screen.overlay?.survives(action) == false { model.screen.overlay = nil }
            return model.perform(action, isSecondInterrupt: isSecondInterrupt)
        case .editing(let edits): return edit(edits, for: keys, on: model)
        case .beginning:
            model.screen.chord = keys
            model.screen.quitIsArmed = isSecondInterrupt
        // Nil for a standard key of the editor that the configuration has removed.
        case .nothing where keys.count == 1:
            return map.editorKey(for: key).map { type($0, on: model) } ?? []
        // Escape only ends the chord.
        case .nothing where key == Key(.escape): break
        case .nothing: model.say("\(KeySequence(keys).label) is no key of this pane.")
        }
        return []
    }
}

/// The actions in a list over the panes, by the conversation's keys and those that work everywhere.
private enum ListKey {
    case up, down, pageUp, pageDown, toBeginning, toEnd, open, close

    init?(_ key: Key, _ keys: KeyMap) {
        switch (keys.action(of: key, in: ConversationPane.self), keys.action(of: key)) {
        case (.up, _): self = .up
        case (.down, _): self = .down
        case (.toBeginning, _): self = .toBeginning
        case (.toEnd, _): self = .toEnd
        case (.open, _): self = .open
        case (.escape, _): self = .close
        case (_, .pageUp): self = .pageUp
        case (_, .pageDown): self = .pageDown
        case (_, .escape), (_, .help), (_, .interrupt): self = .close
        // Always work, whatever the configuration.
        case _ where key == Key(.enter): self = .open
        case _ where key == Key(.escape) || key == .plain("q"): self = .close
        default: return nil
        }
    }
}

struct OmittedBreaks: Hashable, Sendable {
    let breaks: String
    /// The length of the text then, to detect changes.
    let bytes: Int
    let at: ContinuousClock.Instant
}

extension InputEvent {
    fileprivate var isTyped: Bool {
        switch self {
        case .key, .paste, .pasteCut, .mouse: true
        case .focusIn, .focusOut, .reply: false
        }
    }
}
