import Relay
import Terminal

extension ChatModel {
    static let historyPage = 200

    /// Joins a topic, or goes to it if it is joined.
    func join(_ text: String, shows: Bool = true) -> ChatEffects {
        let pattern: TopicPattern
        do throws(TopicError) { pattern = try TopicPattern(text) } catch { return tell("\(error)", .failure) }
        let isNew = network.conversations.join(pattern.text, pattern: pattern)
        guard network.conversations.index(of: pattern.text) != nil else {
            let count = Wording.count(ConversationList.limit, "topic")
            return tell("\(count) are joined already. /leave one first.", .failure)
        }
        if isNew {
            let (mention, ignored) = (mention, network.quiet.ignored)
            network.conversations.update(pattern.text) {
                $0.ignore(ignored)
                $0.recognize(mention)
            }
            showUnsent(of: pattern.text)
        }
        if shows { show(.conversation(pattern.text)) }
        return isNew ? [.topics(.subscribe(topic: pattern.text))] : []
    }

    func leave(_ text: String?) -> ChatEffects {
        guard let name = text ?? screen.view.topic else { return tell("Name the topic: /leave TOPIC", .failure) }
        guard let place = network.conversations.place(of: name) else { return tell("\(name) is not joined.", .failure) }
        setAsideUnsent(of: name)
        network.conversations.leave(name)
        network.resting.topics.remove(name)
        if screen.view == .conversation(name) {
            let next = network.conversations.shown(at: min(place, network.conversations.count - 1))
            screen.view = next.map { .conversation($0.name) } ?? .welcome
        }
        say("Left \(name).")
        return [.topics(.unsubscribe(topic: name))]
    }

    /// Stops following topics out of view that have more unread messages than the configuration follows, and follows
    /// those in view again. Out of view the number of unread messages never falls, so a resting topic goes on resting.
    func topicsToFollow() -> ChatEffects {
        // Without a screen, everything is reported.
        let limit = hasScreen ? settings.followedUnread : nil
        guard limit != nil || !network.resting.topics.isEmpty else { return [] }
        let shown = screen.view.topic
        var effects: ChatEffects = []
        for conversation in network.conversations.all {
            let rests = limit.map { conversation.unread >= $0 && conversation.name != shown } ?? false
            guard rests != network.resting.topics.contains(conversation.name) else { continue }
            if rests {
                network.resting.topics.insert(conversation.name)
            } else {
                network.resting.topics.remove(conversation.name)
            }
            effects.core.append(.topics(.follow(topic: conversation.name, !rests)))
        }
        return effects
    }

    /// Stops following letters while the inbox is out of view, if so configured, and follows them again when it is in
    /// view.
    func lettersToFollow() -> ChatEffects {
        // Without a screen, everything is reported.
        guard hasScreen, !settings.followsLetters || network.resting.letters else { return [] }
        // A letter that is read, or its details, covers the inbox.
        let isInView = ([screen.view] + screen.trail).contains(where: \.isInbox)
        let rests = !settings.followsLetters && !isInView
        guard rests != network.resting.letters else { return [] }
        network.resting.letters = rests
        return [.letters(.follow(!rests))]
    }

    func show(_ newView: MainView) {
        screen.view = newView
        screen.trail = []
        (screen.marks.found, screen.marks.landing) = (nil, nil)
        closeLog()
        if screen.focus == .sidebar { screen.focus = .compose }
    }

    /// Shows something over what is in view; Escape leads back to that, or to what that itself was shown over.
    func showOver(_ newView: MainView) {
        let origin = screen.trail.first ?? screen.view
        show(newView)
        screen.trail = [origin]
        screen.focus = .main
    }

    /// Handles the events of a topic's subscription. Successive messages are handled together.
    func handle(_ events: [TopicEvent], of name: String) -> ChatEffects {
        guard network.conversations.index(of: name) != nil else { return [] }
        var effects: ChatEffects = []
        var messages: [TopicMessage] = []
        for event in events {
            if let message = event.shown(at: now.wall) {
                messages.append(message)
                continue
            }
            if !messages.isEmpty { effects += receive(messages, from: name) }
            messages = []
            effects += handle(event, of: name)
        }
        return messages.isEmpty ? effects : effects + receive(messages, from: name)
    }

    private func handle(_ event: TopicEvent, of name: String) -> ChatEffects {
        switch event {
        case .message, .unreadable: break
        case .live:
            network.conversations.update(name) { conversation in
                conversation.subscription = .live
                conversation.isCatchingUp = false
                // The network can be asked again.
                if conversation.history == .offline { conversation.history = .more }
            }
            attention.absence?.caughtUp(name)
            tellAbsence()
            guard let conversation = network.conversations.named(name) else { return [] }
            return conversation.lacksHistory ? loadHistory(name) : []
        case .gap(let lost):
            network.conversations.update(name) { $0.noteGap(lost: lost) }
            note("\(name): \(Wording.count(Int(clamping: lost), "message")) lost")
        case .restarted:
            network.conversations.update(name) { $0.restart() }
            note("\(name): made again on the network, or its newest messages are gone there")
        case .interrupted(let error, _):
            network.conversations.update(name) { $0.subscription = .failed(error.words) }
            note("\(name): \(error.words)")
        }
        return []
    }

    func handlePastNews(_ news: ChatEvent.PastNews, of name: String) -> ChatEffects {
        guard network.conversations.index(of: name) != nil else { return [] }
        switch news {
        case .kept(let kept):
            let known = shown(kept, in: name)
            return takePast(known.messages, of: name) { $0.restore(known, user: $1) }
        case .keptUnread(let kept):
            let known = shown(kept, in: name)
            return takePast(known.messages, of: name) { $0.restore(unread: known, user: $1) }
        case .keptHistory(let messages, let gaps, let place, let isComplete):
            let isLast = isComplete && isOffline
            let settled = takePage(messages, of: name, before: place) {
                $0.restore(older: messages, gaps, isComplete: isLast, user: $1)
            }
            notices.withdraw(about: .history(name))
            // The topic may have become live since then.
            guard !isOffline, let conversation = network.conversations.named(name), conversation.subscription == .live,
                conversation.lacksHistory
            else { return settled }
            return settled + loadHistory(name)
        case .history(let messages, let gaps, let place, let isComplete):
            let settled = takePage(messages, of: name, before: place) {
                $0.fill(messages, gaps, before: place, isComplete: isComplete, user: $1)
            }
            notices.withdraw(about: .history(name))
            // Holes left by reading offline are filled page by page.
            guard let conversation = network.conversations.named(name), conversation.hole != nil, conversation.canGrow,
                !messages.isEmpty
            else { return settled }
            return settled + loadHistory(name)
        case .historyFailed(let error):
            network.conversations.update(name) { $0.history = .more }
            if screen.view == .conversation(name) {
                say("Older messages could not be loaded. \(error.words)", .failure, about: .history(name))
            }
        }
        return []
    }

    /// Leaves out messages that another conversation shows: they are kept for that one.
    private func shown(_ kept: KeptTopic, in name: String) -> KeptTopic {
        var shown = kept
        shown.messages.removeAll { (network.conversations.home(of: $0.topic) ?? name) != name }
        return shown
    }

    private func takePast(
        _ messages: [TopicMessage], of name: String, _ take: (inout Conversation, _ user: String?) -> Void
    ) -> ChatEffects {
        let settled = delivered(messages, in: name)
        let user = network.identity.ownName
        network.conversations.update(name) { take(&$0, user) }
        settleDelivered(messages)
        return settled
    }

    /// Adds a page of older messages. One that does not adjoin the rows is dropped, and asked for again when someone
    /// looks.
    private func takePage(
        _ messages: [TopicMessage], of name: String, before place: UInt64?,
        _ take: (inout Conversation, _ user: String?) -> Void
    ) -> ChatEffects {
        guard network.conversations.named(name)?.isJoined(byPageBefore: place) != false else {
            network.conversations.update(name) { $0.history = .more }
            return []
        }
        return takePast(messages, of: name, take)
    }

    /// Asks for messages older than the oldest one here.
    func loadHistory(_ name: String) -> ChatEffects {
        guard let conversation = network.conversations.named(name) else { return [] }
        switch conversation.history {
        case .loading, .complete: return []
        case .offline where isOffline: return []
        case .unknown, .more, .offline: break
        }
        guard conversation.canGrow else {
            let count = Wording.grouped(Conversation.readingLimit)
            let further = network.keepsDesk ? "/search before:DATE leads further back" : "parley history has more"
            return tell("Parley shows \(count) messages at once; \(further).")
        }
        // With a connection, holes left by reading offline are filled first.
        let place = isOffline ? conversation.oldest?.sequence : conversation.historyPlace
        network.conversations.update(name) { $0.history = .loading }
        return [.topics(.loadHistory(topic: name, before: place, limit: Self.historyPage))]
    }

    /// Adds messages, each to the one conversation that shows it.
    private func receive(_ messages: [TopicMessage], from name: String) -> ChatEffects {
        var effects: ChatEffects = []
        var rings = false
        var homes: [(name: String, messages: [TopicMessage])] = []
        for message in messages {
            let home = network.conversations.home(of: message.topic) ?? name
            if homes.last?.name == home {
                homes[homes.count - 1].messages.append(message)
            } else {
                homes.append((home, [message]))
            }
        }
        let watched = isWatching ? lookedAt : nil
        let user = network.identity.ownName
        for (home, messages) in homes {
            effects += delivered(messages, in: home)
            let added = network.conversations.update(home) { conversation -> [StoredLine] in
                let isUnread = home != watched || conversation.isCatchingUp
                return conversation.receive(messages, countsUnread: isUnread, isLive: true, user: user)
            }
            if let added { countMissed(added, in: home) }
            guard let added, added.contains(where: \.isMention), home != watched || !isLooking,
                !network.conversations.isMuted(home)
            else { continue }
            // Messages missed since the last run are on the screen that has just been opened.
            guard network.conversations.named(home)?.isCatchingUp == false else { continue }
            rings = true
            effects += call(for: added, in: home)
        }
        settleDelivered(messages)
        return rings ? effects + ring() : effects
    }

    /// Counts messages that arrive during an absence, or were missed in it, except in muted topics.
    private func countMissed(_ added: [StoredLine], in name: String) {
        guard attention.absence?.isCounting == true, !network.conversations.isMuted(name),
            let conversation = network.conversations.named(name),
            !conversation.isCatchingUp
        else { return }
        attention.absence?.take(added.filter { !conversation.isHidden(.message($0)) }, in: name)
    }

    // MARK: Walking

    /// Shows the topic `step` places further, wrapping around.
    func walkTopics(by step: Int) {
        guard !network.conversations.isEmpty else { return }
        let count = network.conversations.count
        var place = step > 0 ? 0 : count - 1
        if let current = screen.view.topic.flatMap({ network.conversations.place(of: $0) }) {
            place = ((current + step) % count + count) % count
        }
        if let next = network.conversations.shown(at: place) { show(.conversation(next.name)) }
    }

    /// Goes to the next mention, else to the next topic with unread messages, and else back to where that began.
    func showNextUnread() -> ChatEffects {
        if let effects = showFirstOfAbsence() { return effects }
        let present = screen.visits.first
        let before = screen.jump?.present == present ? screen.jump : nil
        screen.jump = nil
        if showNextMention() {
            if let name = screen.view.topic, let origin = before?.origin ?? present {
                screen.jump = Jump(origin: origin, present: .topic(name))
            }
            return []
        }
        if let effects = goElsewhere(where: { $0.mentions > 0 }) { return effects }
        guard let name = nextTopic(from: 1, where: { $0.unread > 0 }) else {
            if let effects = goElsewhere(where: { $0.unread > 0 }) { return effects }
            if let before, before.origin != present { return go(to: before.origin) }
            if let origin = window.origin {
                window.origin = nil
                return .screen(.showChat(origin, .last))
            }
            return tell("Nothing is unread.")
        }
        network.conversations.update(name) { $0.scroll = .bottom }
        show(.conversation(name))
        if let origin = before?.origin ?? present { screen.jump = Jump(origin: origin, present: .topic(name)) }
        return []
    }

    /// Goes to the marker above what is new in the topic in view, where the person left off.
    func showFirstUnread() {
        guard let topic = topicInView else { return say("No topic is in view.") }
        guard let marker = topic.newMarker else { return say("Nothing is marked as new here.") }
        if layout(of: topic).showsMarker {
            land(at: marker, in: topic.name)
        } else {
            showRow(at: marker, in: topic.name)
        }
    }

    /// Whether the marker of the topic in view is above a pane of `rows`.
    func isFirstUnreadAbove(rows: Int) -> Bool {
        guard let conversation = topicInView, conversation.scroll == .bottom, let marker = conversation.newMarker
        else { return false }
        return conversation.count - conversation.index(atOrAfter: marker) >= rows
    }

    // MARK: Scrolling

    /// Scrolls the conversation in view up by lines, down if negative, and asks for older messages at its top.
    func scrollConversation(up lines: Int) -> ChatEffects {
        guard let topic = topicInView else { return [] }
        let layout = layout(of: topic)
        guard !layout.area.isEmpty else { return [] }
        scroll(to: layout.scrolled(up: lines))
        return lines > 0 && layout.showsBeginning ? loadHistory(topic.name) : []
    }

    func scrollConversation(toBeginning: Bool) -> ChatEffects {
        guard let topic = topicInView else { return [] }
        scroll(to: toBeginning ? layout(of: topic).beginning : .bottom)
        screen.marks.landing = nil
        return toBeginning ? loadHistory(topic.name) : []
    }

    /// Goes to the newest of what is shown, for the keys of the compose pane.
    func showNewest() -> ChatEffects {
        if let excerpt = screen.view.excerpt { return ExcerptPane(excerpt: excerpt).perform(.toEnd, on: self) }
        if let reader = screen.view.reader { return ReaderPane(reader: reader).perform(.toEnd, on: self) }
        return scrollConversation(toBeginning: false)
    }
}
