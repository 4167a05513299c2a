import Relay
import Terminal

/// Applies an event to the model and returns the effects to carry out. It never blocks, fails or does anything else.
func update(_ model: ChatModel, _ event: ChatEvent) -> ChatEffects {
    var effects: ChatEffects = []
    let lookedAt = model.lookedAt
    let mark = model.deskMark
    let textBefore = model.compose.editor.utf8Count
    let noticeBefore = model.notices.shown
    let traits = event.traits
    model.notices.answerPerson = traits.isPersons
    switch event {
    case .front(let destination):
        effects = model.comeToFront(destination)
    case .inputElsewhere(let input):
        model.attention.lastInput = model.now.instant
        effects = model.noteSign(input)
    case .behindOthers:
        model.goBehind()
    case .others(let chats, let place):
        model.take(chats, place: place)
    case .leave:
        effects = model.quit()
    case .start(let topics, keeps: true):
        // Joined once the local store is open, which knows how far each was received.
        model.network.opening = topics
        effects = [.store(.open), .letters(.open)]
    case .start(let topics, keeps: false):
        effects = model.start(topics)
    case .opened(let desk):
        effects = model.opened(desk)
    case .tick(let moment, let isSign):
        let passed = model.pass(moment, isSign: isSign, since: mark)
        guard passed.movesOthers else { return passed.effects }
        effects = passed.effects
    case .input(let input):
        effects = model.handleInput(input)
    case .line(let line):
        effects = model.takeLine(line)
    case .resized(let size):
        model.size = size
    case .suspending:
        model.network.log.record(.stopped, at: model.now)
        effects = model.noteAttention(model.attention.tracker.handle(FocusTracker.Event.suspended))
        model.attention.absence?.rests(.stopped)
        model.network.inbox.deletion.hold()
    case .resumed:
        // Deletions that a question is about wait for its answer.
        if !model.asksToDeleteAndQuit { model.network.inbox.deletion.release(now: model.now.instant) }
        model.network.log.record(.continued, at: model.now)
        let time = model.now.wall
        model.network.conversations.updateAll { $0.resume(at: time) }
        // The user has not seen what they missed.
        model.attention.lastInput = nil
        // After SIGSTOP, which cannot be noticed, the connection may be dead by now.
        let change = model.attention.tracker.handle(FocusTracker.Event.resumed)
        effects = (change == nil ? [.connection(.probe)] : model.noteAttention(change)) + .screen(.redraw)
    case .attached(let isAttached):
        effects = model.terminalChanged(isAttached: isAttached)
    case .edited(let outcome):
        model.handleEdited(outcome)
    case .notified(let methods):
        model.notified(by: methods)
    case .identified(let identity):
        model.network.identity = identity
        model.recognizeMentions()
    case .bounded(let bytes):
        model.network.messageBytes = min(Compose.messageBytes, bytes)
    case .permitted(let rights):
        model.network.rights = rights
    case .statusChanged(let status):
        effects = model.statusChanged(status)
    case .topic(let name, let events):
        effects = model.handle(events, of: name)
    case .past(let name, let news):
        effects = model.handlePastNews(news, of: name)
    case .published(let news):
        effects = model.published(news)
    case .postbox(let news):
        effects = model.handlePostboxNews(news)
    case .postboxes(let news):
        effects = model.handlePostboxesNews(news)
    case .people(let topic, let roster):
        model.network.people.take(roster, of: topic)
    case .search(let news):
        model.handleSearchNews(news)
    case .lab(let news):
        effects = model.handleLabNews(news)
    case .configuration(let news):
        effects = model.handleConfigurationNews(news)
    case .behind(let isBehind):
        model.screen.isBehind = isBehind
    case .keys(let text, let isFailure):
        model.tellOfKeys(text, isFailure: isFailure)
    case .log(let text):
        model.note(text)
    case .notice(let text, let isFailure):
        model.say(text, isFailure ? .failure : .information)
    }
    // Typing nearly always changes the text's length; the next key corrects an exception.
    let hasTyped = traits.isWriting && model.compose.editor.utf8Count != textBefore
    model.followTour(effects)
    if hasTyped, model.notices.shown == noticeBefore { model.notices.passAnswer() }
    model.notices.answerPerson = false
    effects += model.network.inbox.deletion.takeEffects(at: model.now.instant)
    model.settle(lookedAtBefore: lookedAt)
    let read = model.network.inbox.takeNewlyRead()
    if model.network.keepsDesk { effects.core += read.map { .letters(.keepRead(id: $0.id, postbox: $0.postboxId)) } }
    // First, so that the text is saved before it is sent.
    effects = model.changesToKeep(since: mark, isTyping: traits.changesText) + effects
    if model.showWriting() {
        // A restored draft did not begin with Alt-/.
        if !model.compose.isEmpty { model.writing.mayLackSlash = false }
        model.keepCursorsVisible()
    }
    effects += model.topicsToFollow()
    effects += model.lettersToFollow()
    effects += model.lettersToFind()
    effects += model.lettersToList()
    effects += model.labToWatch()
    effects += model.peopleToFollow()
    effects += model.typingToTell(hasTyped: hasTyped)
    return effects + model.titleToSet()
}

extension ChatEvent {
    /// Whether it is the user's action; whether a change of the text is the user's typing; whether it can change the
    /// text or its conversation. In one property, since each switch copies the event.
    fileprivate var traits: (isPersons: Bool, isWriting: Bool, changesText: Bool) {
        switch self {
        case .input: (true, true, true)
        case .line: (true, false, true)
        case .edited: (false, true, true)
        case .published: (false, false, true)
        default: (false, false, false)
        }
    }
}

extension ChatModel {
    /// The conversation in view, regardless of scrolling; nil while the user is away.
    var lookedAt: String? {
        window.isInFront && attention.tracker.isForeground ? screen.view.topic : nil
    }

    /// The parts of the terminal's title.
    struct TitleWords: Hashable, Sendable {
        let identity: Identity
        let unread: Int
        let mentions: Int

        var text: String {
            let called = mentions > 0 ? "@\(Wording.compact(mentions)), " : ""
            let count = unread > 0 ? "(\(called)\(Wording.compact(unread))) " : ""
            return SafeText("\(count)parley \(identity.user)@\(identity.network)").prefix(columns: 80).description
        }
    }

    /// Sets the terminal's title if it has changed. The parts are compared first, since few events change them.
    fileprivate func titleToSet() -> ChatEffects {
        let others = window.others
        let words = TitleWords(
            identity: shownIdentity, unread: others.reduce(unreadMessages) { $0 + $1.chat.unread },
            mentions: others.reduce(unseenMentions) { $0 + $1.chat.mentions })
        guard words != screen.titleWords else { return [] }
        screen.titleWords = words
        let text = words.text
        guard text != screen.title else { return [] }
        screen.title = text
        return .screen(.setTitle(text))
    }

    fileprivate func start(_ topics: [String]) -> ChatEffects {
        var effects: ChatEffects = []
        for topic in topics + settings.join { effects += join(topic, shows: false) }
        if let first = network.conversations.all.first { screen.view = .conversation(first.name) }
        return effects + [.letters(.open)]
    }

    /// Restores invariants after any event: what is in view counts as read, and cursors are valid.
    fileprivate func settle(lookedAtBefore: String?) {
        if let before = lookedAtBefore, before != lookedAt { leaveBehind(before) }
        if let name = lookedAt { noteMarker(in: name) }
        if isWatching, let name = lookedAt { network.conversations.update(name) { $0.markRead() } }
        if let name = screen.view.topic, network.conversations.index(of: name) == nil { screen.view = fallbackView }
        if let found = screen.marks.found, !shows(found) { screen.marks.found = nil }
        dropStaleSelection()
        noteVisit()
        // Topics are not sorted while the cursor is among them.
        if screen.focus != .sidebar { network.conversations.arrange() }
        network.inbox.clampSelection()
        if screen.focus != .compose { compose.editor.endSearch() }
        keepCursorsVisible()
    }

    /// Notes that a conversation is no longer in view. A search, the reader or another window do not count as leaving
    /// it, so that its "new" marker stays.
    private func leaveBehind(_ name: String) {
        let isLeft = screen.view.place != nil && attention.tracker.isForeground
        network.conversations.update(name) { $0.lookAway(isLeft: isLeft) }
    }

    private func noteMarker(in name: String) {
        guard screen.overlay == nil, network.conversations.awaitsMarkerSeen(name),
            let conversation = network.conversations.named(name), showsMarker(of: conversation)
        else { return }
        network.conversations.update(name) { $0.hasSeenMarker = true }
    }

    private func showsMarker(of conversation: Conversation) -> Bool {
        // Without a screen everything is announced.
        guard hasScreen else { return true }
        let area = layout(on: size).main
        return conversation.mayShowMarker(rows: area.rows) && layout(of: conversation, in: area).showsMarker
    }

    private func shows(_ found: FoundMark) -> Bool {
        let shown = screen.viewBelowReader
        return shown.excerpt != nil || shown.topic == found.conversation
    }

    var fallbackView: MainView {
        network.conversations.all.first.map { .conversation($0.name) } ?? .welcome
    }

    fileprivate func keepCursorsVisible() {
        let layout = layout(on: size)
        SidebarPane().settle(layout, on: self)
        screen.view.pane.settle(layout, on: self)
        if palette != nil { pane.settle(layout, on: self) }
    }

    /// The first row of a window of `rows` that contains `cursor`, moved as little as possible.
    static func window(around cursor: Int, from first: Int, rows: Int, count: Int) -> Int {
        guard rows > 0 else { return 0 }
        let lowest = max(0, cursor - rows + 1)
        let highest = min(cursor, max(0, count - rows))
        return min(max(first, lowest), max(lowest, highest))
    }
}
