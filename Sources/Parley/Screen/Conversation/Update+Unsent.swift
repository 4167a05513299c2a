import Relay
import Terminal

// Own lines that wait for the network or for the person, including those of earlier runs.
extension ChatModel {
    // MARK: Earlier runs

    /// Restores what earlier runs left: what still waits to be sent, and what was not sent. Lines of topics that are
    /// not joined are shown once these are.
    func bringBack(_ kept: [KeptPublish]) {
        for publish in kept where network.outbox.messages[publish.message.id] == nil {
            let id = publish.message.id
            switch publish.message.destination {
            case .topic(let topic):
                if publish.waits { network.outbox.messages[id] = Outgoing(item: .line(conversation: topic)) }
                let line = PendingLine(
                    id: id, number: newNumber(), topic: topic, text: publish.text, composedAt: publish.since,
                    state: publish.lineState)
                network.outbox.unjoined[topic, default: []].append(line)
            case .postbox(let user, let postbox):
                guard publish.waits else { continue }
                network.outbox.messages[id] = Outgoing(
                    item: .letter(user: user, postbox: postbox, subject: publish.subject, text: publish.text))
            // A change of a key has no row, and its command is no longer known.
            case .key: continue
            }
        }
    }

    /// Handles news that arrived before its lines were known.
    func catchUpWithNews() -> ChatEffects {
        let known = network.outbox.early.values
        network.outbox.early = [:]
        return known.reduce(into: []) { $0 += published($1) }
    }

    /// Says how many unsent messages of earlier runs have no place on the screen.
    func tellOfHidden(_ kept: [KeptPublish]) {
        let hidden = kept.count { publish in
            guard case .topic(let topic) = publish.message.destination else { return !publish.waits }
            return !publish.waits && network.conversations.index(of: topic) == nil
        }
        guard hidden > 0 else { return }
        let words =
            hidden == 1
            ? "A message to another place was not sent; parley outbox list shows it."
            : "\(Wording.grouped(hidden)) messages to other places were not sent; parley outbox list shows them."
        say(words, .failure)
        note(words)
    }

    /// Shows the lines of a topic that is joined.
    func showUnsent(of name: String) {
        guard let lines = network.outbox.unjoined.removeValue(forKey: name) else { return }
        let user = network.identity.user
        let surplus = lines.filter { line in
            network.conversations.update(name) { $0.append(line, name: user) } != true
        }
        if !surplus.isEmpty { network.outbox.unjoined[name] = surplus }
    }

    /// Sets aside the lines of a topic that is left, until it is joined again.
    func setAsideUnsent(of name: String) {
        guard let lines = network.conversations.named(name)?.pending, !lines.isEmpty else { return }
        network.outbox.unjoined[name] = lines + (network.outbox.unjoined[name] ?? [])
    }

    /// Changes a line of a topic that is not joined; removes it if `state` is nil.
    func changeUnjoined(_ id: String, of name: String, _ state: PendingLine.State?) {
        guard let place = network.outbox.unjoined[name]?.firstIndex(where: { $0.id == id }) else { return }
        if let state {
            network.outbox.unjoined[name]?[place].state = state
        } else {
            network.outbox.unjoined[name]?.remove(at: place)
            if network.outbox.unjoined[name]?.isEmpty == true { network.outbox.unjoined[name] = nil }
        }
    }

    /// Forgets unsent lines that have arrived after all: no one needs to send them again.
    func delivered(_ messages: [TopicMessage], in name: String) -> ChatEffects {
        guard let pending = network.conversations.named(name)?.pending, !pending.isEmpty else { return [] }
        let failed = Set(pending.lazy.filter { !$0.isOutgoing }.map(\.id))
        guard !failed.isEmpty else { return [] }
        return forget(messages.filter { $0.topic == name && $0.mayBeFromHere && failed.contains($0.id) }.map(\.id))
    }

    /// Removes what the person no longer needs from the local store.
    func forget(_ ids: [String]) -> ChatEffects {
        network.keepsOutbox && !ids.isEmpty ? [.topics(.drop(ids: ids))] : []
    }

    // MARK: All of a topic

    /// The unsent lines as last listed, so that their numbers stay while some of them are sent.
    struct UnsentList: Hashable, Sendable {
        let place: String
        let ids: [String]
    }

    /// The most characters listed of a line.
    private static let unsentLength = 80

    func listUnsent() {
        guard let (name, failed) = unsentInView(nil) else { return }
        listed.unsent = UnsentList(place: name, ids: failed.map(\.id))
        let lines = failed.enumerated().map { place, line in
            let begin = line.text.prefix { !$0.breaksLine }.prefix(Self.unsentLength)
            let text = begin.endIndex == line.text.endIndex ? "\(begin)" : "\(begin) …"
            guard case .failed(let words) = line.state else { return HelpText.Line.entry("\(place + 1)", text) }
            return .entry("\(place + 1)", "\(text) (\(words))")
        }
        screen.overlay = .listing(Listing(title: "Unsent lines of \(name)", lines: lines))
    }

    /// The unsent lines of the topic in view, or the one with a number: in the list, if there is one, else counted from
    /// the oldest. Says so if there is none.
    private func unsentInView(_ number: Int?) -> (name: String, lines: [PendingLine])? {
        guard let topic = topicInView, !topic.failedLines.isEmpty else {
            say("Nothing is unsent here.")
            return nil
        }
        let (name, failed) = (topic.name, topic.failedLines)
        guard let number else { return (name, failed) }
        let ids = listed.unsent.flatMap { $0.place == name ? $0.ids : nil } ?? failed.map(\.id)
        guard ids.indices.contains(number - 1), let line = failed.first(where: { $0.id == ids[number - 1] }) else {
            say("There is no unsent line \(number). /unsent lists them.", .failure)
            return nil
        }
        return (name, [line])
    }

    /// Sends the unsent lines of the topic in view again, or the one with a number, with their old ids.
    func resend(_ number: Int? = nil) -> ChatEffects {
        guard let (name, lines) = unsentInView(number) else { return [] }
        return ChatEffects(core: lines.map { sendAgain($0, in: name) })
    }

    /// Drops the unsent lines of the topic in view, or the one with a number.
    func discard(_ number: Int? = nil) -> ChatEffects {
        guard let (name, failed) = unsentInView(number) else { return [] }
        for line in failed { network.conversations.update(name) { $0.discard(line.id) } }
        say("Dropped \(Wording.count(failed.count, "line")).")
        return forget(failed.map(\.id))
    }

    private func sendAgain(_ line: PendingLine, in name: String) -> CoreEffect {
        network.conversations.update(name) { _ = $0.setState(.queued, of: line.id) }
        network.outbox.messages[line.id] = Outgoing(item: .line(conversation: name))
        return .topics(.sendAgain(id: line.id, topic: name, text: line.text))
    }

    // MARK: One line

    /// The unsent line that keys act on; nil if there is none, or the conversation does not have the keys.
    var chosenLine: PendingLine? {
        guard screen.focus == .main, logScroll == nil, let topic = topicInView else { return nil }
        // Keys act on a selected message.
        if let selected = selectedRow {
            guard case .pending(let line) = selected, !line.isOutgoing else { return nil }
            return line
        }
        return topic.chosenLine
    }

    func sendChosenAgain() -> ChatEffects {
        guard let (name, line) = chosenInView() else { return [] }
        screen.marks.selection = nil
        network.conversations.update(name) { $0.chooseAfter(line.id) }
        return [sendAgain(line, in: name)]
    }

    func dropChosen() -> ChatEffects {
        guard let (name, line) = chosenInView() else { return [] }
        screen.marks.selection = nil
        network.conversations.update(name) { conversation in
            conversation.chooseAfter(line.id)
            conversation.discard(line.id)
        }
        return forget([line.id])
    }

    /// Goes to the unsent line above the chosen one, or below it. False if there is none in that direction or the
    /// chosen one is not in view, so that keys go from message to message.
    func chooseLine(by step: Int) -> Bool {
        guard selectedRow == nil, let name = screen.view.topic, let line = chosenLine, isInView(line) else {
            return false
        }
        guard let next = network.conversations.update(name, { $0.choose(by: step) }), let next else { return false }
        reveal(next, in: name)
        return true
    }

    func chooseLine(at row: Int) {
        guard let topic = topicInView else { return }
        let layout = layout(of: topic)
        let lines = layout.viewport
        // The lines end at the pane's lower edge.
        let place = row - (layout.area.rows - lines.count)
        guard lines.indices.contains(place), case .text(_, _, .pending(let line)) = lines[place] else { return }
        network.conversations.update(topic.name) { $0.choose(line.id) }
    }

    /// The chosen line if it is in view; otherwise only brings it into view.
    private func chosenInView() -> (name: String, line: PendingLine)? {
        guard let name = screen.view.topic, let line = chosenLine else { return nil }
        if isInView(line) { return (name, line) }
        reveal(line, in: name)
        return nil
    }

    private func isInView(_ line: PendingLine) -> Bool {
        guard let conversation = network.conversations.named(line.topic) else { return false }
        return layout(of: conversation).viewport.contains { shown in
            if case .text(_, _, .pending(let pending)) = shown { pending.id == line.id } else { false }
        }
    }

    private func reveal(_ line: PendingLine, in name: String) {
        guard !isInView(line) else { return }
        network.conversations.update(name) { conversation in
            let isNewest = conversation.pending.last?.id == line.id
            conversation.scroll = isNewest ? .bottom : .row(.pending(line.number), hiddenLines: 0)
        }
    }
}

extension TopicMessage {
    /// Whether its id may be that of a line of this machine, which is short. Looking up a long one takes time in the
    /// square of the number of combining marks on one letter.
    var mayBeFromHere: Bool { id.utf8.count <= 1_024 }
}
