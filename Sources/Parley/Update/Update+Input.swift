import Relay
import Terminal

extension ChatModel {
    /// Takes in what the terminal sent. Any input means that the person is here.
    mutating func handleInput(_ input: InputEvent) -> [ChatEffect] {
        let change = attention.handle(input)
        if let change {
            log.record(change ? input == .focusIn ? .focusReturned : .signOfLife : .focusLost, at: now)
        }
        var effects = noteAttention(change)
        switch input {
        case .focusIn, .focusOut, .reply:
            return effects
        case .paste(let text):
            effects += nudge()
            paste(text)
        case .key(let key):
            effects += nudge()
            effects += press(key)
        case .mouse(let mouse):
            effects += handleMouse(mouse)
        }
        return effects
    }

    /// The scope in which a key has its meaning.
    var keyScope: KeyBinding.Scope {
        if logScroll != nil { return .log }
        switch pane {
        case .compose: return .compose
        case .sidebar: return .sidebar
        case .main:
            if case .inbox = view { return .inbox }
            return .conversation
        }
    }

    private mutating func paste(_ text: String) {
        if case .help = overlay { overlay = nil }
        guard overlay == nil || logScroll != nil else { return }
        pane = .compose
        compose.editor.insert(text)
    }

    private mutating func press(_ key: Key) -> [ChatEffect] {
        let wasArmed = quitIsArmed
        quitIsArmed = false
        // Another key has made it untrue.
        withdrawNotice(about: .quitting)
        if logScroll != nil { return pressOverLog(key, isSecondInterrupt: wasArmed) }
        if let overlay { return press(key, over: overlay) }
        if pane == .compose, key == Key(.end), compose.isEmpty { return scrollConversation(toBeginning: false) }
        if let action = KeyBinding.action(of: key, in: keyScope) {
            return perform(action, isSecondInterrupt: wasArmed)
        }
        switch pane {
        case .compose:
            _ = compose.editor.handle(key)
        case .sidebar, .main:
            // Typing goes to the text wherever letters mean nothing else.
            guard keyScope != .inbox, key.modifiers.isEmpty, case .character = key.code else { break }
            pane = .compose
            _ = compose.editor.handle(key)
        }
        return []
    }

    private mutating func press(_ key: Key, over overlay: Overlay) -> [ChatEffect] {
        let action = KeyBinding.action(of: key, in: .conversation)
        if action == .redraw { return [.redraw] }
        if action == .suspend { return [.suspendProcess] }
        switch overlay {
        case .question(let question):
            switch key {
            case Key(.character("y")), Key(.character("Y")): return answerYes(question)
            case Key(.character("n")), Key(.character("N")), Key(.escape), Key(.enter), .control("c"):
                self.overlay = nil
            default: break
            }
        case .help(let scroll):
            let page = max(1, size.rows - 6)
            let last = max(0, HelpText.lines.count - 1)
            switch action {
            case .up: self.overlay = .help(scroll: max(0, scroll - 1))
            case .down: self.overlay = .help(scroll: min(last, scroll + 1))
            case .pageUp: self.overlay = .help(scroll: max(0, scroll - page))
            case .pageDown: self.overlay = .help(scroll: min(last, scroll + page))
            case .toBeginning: self.overlay = .help(scroll: 0)
            case .toEnd: self.overlay = .help(scroll: last)
            case .quit: return quit()
            case .escape, .help, .open, .interrupt: self.overlay = nil
            default:
                if key == Key(.character("q")) { self.overlay = nil }
            }
        case .log: break
        }
        return []
    }

    /// Carries out a key's action.
    mutating func perform(_ action: KeyAction, isSecondInterrupt: Bool) -> [ChatEffect] {
        switch action {
        case .help: overlay = .help(scroll: 0)
        case .focusTopics: pane = pane == .sidebar ? .compose : .sidebar
        case .openPostbox:
            let isInFront = pane == .main
            pane = .main
            if case .inbox(let box) = view, !isInFront { return openInbox(box) }
            return openInbox(nil)
        case .connectionLog: openLog()
        case .nextPane: return nextPane()
        case .previousPane: pane = pane == .compose ? .main : pane == .main ? .sidebar : .compose
        case .nextTopic: walkTopics(by: 1)
        case .previousTopic: walkTopics(by: -1)
        case .nextUnread: showNextUnread()
        case .pageUp: return scroll(up: pageRows)
        case .pageDown: return scroll(up: -pageRows)
        case .redraw: return [.redraw]
        case .suspend: return [.suspendProcess]
        case .interrupt: return interrupt(isSecond: isSecondInterrupt)
        case .quit: return quit()
        case .escape: escape()
        case .send: return submit()
        case .newLine: compose.editor.insert("\n")
        case .up, .down, .toBeginning, .toEnd, .open: return move(action)
        case .mark: toggleMark()
        case .markAll: markAll()
        case .delete: return deleteSelected()
        case .deleteMarked: askToDeleteMarked()
        case .reply: reply()
        case .write: beginLetter()
        case .nextPage: return nextPage()
        case .previousPage: return previousPage()
        case .refresh: return refreshInbox()
        }
        return []
    }

    // MARK: Panes

    /// What Tab would make of the text.
    var completion: Completion? { Completion.of(compose.text, topics: conversations.all.map(\.name)) }

    /// Tab: completes a command, else goes on to the next pane.
    private mutating func nextPane() -> [ChatEffect] {
        if pane == .compose, let completion {
            compose.set(completion.text)
            if !completion.choices.isEmpty { say(completion.choices.joined(separator: "  ")) }
            return []
        }
        pane = pane == .compose ? .sidebar : pane == .sidebar ? .main : .compose
        return []
    }

    private mutating func interrupt(isSecond: Bool) -> [ChatEffect] {
        if !compose.isEmpty {
            compose.editor.text = ""
            say("Cleared; ^_ brings the text back.")
            return []
        }
        if isSecond { return quit() }
        quitIsArmed = true
        say("^C again quits.", about: .quitting)
        return []
    }

    private mutating func escape() {
        if notice != nil { notice = nil }
        if stopDeletion() { return }
        if inbox.open != nil, case .inbox = view {
            inbox.open = nil
        } else {
            pane = .compose
        }
    }

    // MARK: Moving

    private var pageRows: Int { max(1, layout(on: size).main.rows - 1) }

    /// Scrolls the main pane: a conversation, an open letter, or the table.
    mutating func scroll(up lines: Int) -> [ChatEffect] {
        switch view {
        case .welcome: return []
        case .conversation: return scrollConversation(up: lines)
        case .inbox:
            if inbox.openLetter != nil {
                let last = InboxLayout(model: self, area: layout(on: size).main).lastReaderScroll
                inbox.readerScroll = min(max(0, inbox.readerScroll - lines), last)
            } else {
                inbox.selected -= lines
            }
            return []
        }
    }

    private mutating func move(_ action: KeyAction) -> [ChatEffect] {
        switch keyScope {
        case .sidebar: return moveInSidebar(action)
        case .inbox: return moveInInbox(action)
        case .compose:
            return action == .toEnd ? scrollConversation(toBeginning: false) : []
        case .conversation, .everywhere, .log:
            switch action {
            case .up: return scroll(up: 1)
            case .down: return scroll(up: -1)
            case .toBeginning: return scrollConversation(toBeginning: true)
            case .toEnd: return scrollConversation(toBeginning: false)
            default: pane = .compose
            }
            return []
        }
    }

    private mutating func moveInSidebar(_ action: KeyAction) -> [ChatEffect] {
        switch action {
        case .up: sidebar.cursor -= sidebarRow(at: sidebar.cursor - 1)?.isSelectable == true ? 1 : 0
        case .down: sidebar.cursor += sidebarRow(at: sidebar.cursor + 1)?.isSelectable == true ? 1 : 0
        case .toBeginning: sidebar.cursor = 1
        case .toEnd: sidebar.cursor = sidebarCount - 1
        default: return openSidebarRow(sidebar.cursor)
        }
        return []
    }

    /// Opens what a sidebar row names.
    mutating func openSidebarRow(_ index: Int) -> [ChatEffect] {
        switch view(ofSidebarRow: index) {
        case .inbox(let box):
            pane = .main
            return openInbox(box)
        case .conversation(let name):
            show(.conversation(name))
            pane = .compose
        case .welcome, nil: break
        }
        return []
    }

    private mutating func moveInInbox(_ action: KeyAction) -> [ChatEffect] {
        let before = inbox.selected
        switch action {
        case .up: inbox.selected -= 1
        case .down: inbox.selected += 1
        case .toBeginning: inbox.selected = 0
        case .toEnd: inbox.selected = inbox.letters.count - 1
        default:
            if inbox.open != nil, inbox.open == inbox.selectedLetter?.id {
                inbox.open = nil
            } else {
                inbox.openSelected()
            }
            return []
        }
        inbox.clampSelection()
        // An open reader follows the selection.
        if inbox.open != nil, inbox.selected != before { inbox.openSelected() }
        return []
    }

    private mutating func toggleMark() {
        guard let letter = inbox.selectedLetter else { return }
        if inbox.marked.remove(letter.id) == nil { inbox.marked.insert(letter.id) }
        inbox.selected = min(inbox.selected + 1, inbox.letters.count - 1)
    }

    private mutating func markAll() {
        let all = Set(inbox.letters.map(\.id))
        inbox.marked = inbox.marked == all ? [] : all
    }
}
