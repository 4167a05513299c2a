import Relay

// Mentions of the person: they are marked and counted, and ring the bell if the person is not looking.
extension ChatModel {
    /// A person who did nothing for this long may not be looking, whatever the terminal says of its focus.
    static let lookingTime = Duration.seconds(60)
    /// The shortest time between two bells. For a person elsewhere it is that between two notifications.
    private static let bellPause = Duration.seconds(3)

    var mention: Mention { Mention(name: network.identity.user, words: settings.highlights) }

    func recognizeMentions() {
        let mention = mention
        network.conversations.updateAll { $0.recognize(mention) }
    }

    /// Whether the person is presumably looking at the screen.
    var isLooking: Bool {
        guard attention.tracker.isForeground, let lastInput = attention.lastInput else { return false }
        return lastInput.duration(to: now.instant) < Self.lookingTime
    }

    /// Rings the bell, unless it rang a moment ago or the person wants none.
    func ring() -> ChatEffects {
        guard settings.bell != .nothing else { return [] }
        let pause = isElsewhere ? CallPacer.pause : Self.bellPause
        if let lastBell = attention.lastBell, lastBell.duration(to: now.instant) < pause { return [] }
        attention.lastBell = now.instant
        return .screen(.bell)
    }

    /// Goes to the next mention: in view first, then in the topics after it; false if there is none.
    func showNextMention() -> Bool {
        guard let name = nextTopic(from: 0, where: { !$0.mentions.isEmpty }),
            let position = network.conversations.named(name)?.mentions.first
        else { return false }
        show(.conversation(name))
        showRow(at: position, in: name)
        return true
    }

    func showRow(at position: RowPosition, in name: String) {
        guard let conversation = network.conversations.named(name) else { return }
        let layout = layout(of: conversation)
        let scroll = layout.area.isEmpty || !hasScreen ? .bottom : layout.showing(position)
        network.conversations.update(name) { conversation in
            conversation.scroll = scroll
            // What is above the pane's edge has been in view.
            var seen = position
            if case .row(let edge, _) = scroll { seen = max(seen, edge) }
            conversation.seeMentions(through: seen)
            conversation.holdMarker()
        }
        land(at: position, in: name)
    }

    /// The next topic, in the order of the sidebar, that is wanted and not muted.
    ///
    /// - Parameter distance: where the search begins, relative to the topic in view.
    func nextTopic(from distance: Int, where isWanted: (Conversation) -> Bool) -> String? {
        let current = screen.view.topic.flatMap { network.conversations.place(of: $0) }
        let start = current.map { $0 + distance } ?? 0
        let count = network.conversations.count
        for offset in 0..<count {
            guard let conversation = network.conversations.shown(at: (start + offset) % count) else { continue }
            if isWanted(conversation), !network.conversations.isMuted(conversation.name) { return conversation.name }
        }
        return nil
    }
}
