import Relay

extension ChatModel {
    /// Sends a line to a topic: it is on the screen at once, and goes when the core can deliver it.
    mutating func publish(_ text: String, to name: String) -> [ChatEffect] {
        let local = LocalID(value: newNumber())
        let user = identity.user
        let line = PendingLine(
            local: local, id: nil, topic: name, text: text, composedAt: now.wall,
            state: status.state == .connected ? .sending : .queued)
        let isTaken = conversations.update(name) { conversation in
            guard conversation.append(line, name: user) else { return false }
            conversation.scroll = .bottom
            conversation.markRead()
            conversation.lookAway()
            return true
        }
        guard isTaken == true else {
            say("\(Wording.count(Conversation.pendingLimit, "line")) wait here already. /discard drops them.", .failure)
            return []
        }
        outgoing[local] = .line(conversation: name)
        return [.publish(local, topic: name, text: text, retryOf: nil)]
    }

    /// Sends the unsent lines of the topic in view again, each under its old id.
    mutating func resend() -> [ChatEffect] {
        guard case .conversation(let name) = view, let failed = conversations.named(name)?.failedLines,
            !failed.isEmpty
        else {
            say("Nothing is unsent here.")
            return []
        }
        for line in failed {
            conversations.update(name) { _ = $0.setState(.queued, of: line.local) }
            outgoing[line.local] = .line(conversation: name)
        }
        return failed.map { .publish($0.local, topic: name, text: $0.text, retryOf: $0.id) }
    }

    /// Drops the unsent lines of the topic in view.
    mutating func discard() {
        guard case .conversation(let name) = view, let failed = conversations.named(name)?.failedLines,
            !failed.isEmpty
        else {
            say("Nothing is unsent here.")
            return
        }
        for line in failed { conversations.update(name) { $0.discard(line.local) } }
        say("Dropped \(Wording.count(failed.count, "line")).")
    }

    /// Takes in news of an own line.
    mutating func take(_ news: ChatEvent.DeliveryNews, ofLine local: LocalID) {
        guard case .line(let name)? = outgoing[local] else { return }
        switch news {
        case .accepted(let id):
            conversations.update(name) { $0.setID(id, of: local) }
        case .sending:
            conversations.update(name) { _ = $0.setState(.sending, of: local) }
        case .queued:
            conversations.update(name) { _ = $0.setState(.queued, of: local) }
        case .outcome(let outcome):
            outgoing[local] = nil
            finish(local, in: name, outcome)
        }
    }

    private mutating func finish(_ local: LocalID, in name: String, _ outcome: PublishOutcome) {
        let user = identity.user
        switch outcome {
        case .acknowledged(let sequence, _):
            conversations.update(name) { $0.acknowledge(local, sequence: sequence, name: user) }
        case .failed(let error):
            fail(local, in: name, error.words)
        case .discarded(let reason):
            fail(local, in: name, reason.words)
        }
    }

    private mutating func fail(_ local: LocalID, in name: String, _ words: String) {
        if conversations.update(name, { $0.setState(.failed(words), of: local) }) == nil {
            say("A line to \(name) was not sent. \(words)", .failure)
        }
    }

    /// Own lines whose message has come back from the stream need no acknowledgement to be counted as sent.
    mutating func settleDelivered(_ messages: [Relay.TopicMessage]) {
        guard !outgoing.isEmpty, !messages.isEmpty else { return }
        let topics = Set(messages.map(\.topic))
        for (local, item) in outgoing {
            guard case .line(let name) = item, topics.contains(name), let conversation = conversations.named(name),
                !conversation.pending.contains(where: { $0.local == local })
            else { continue }
            outgoing[local] = nil
        }
    }

    // MARK: Letters

    /// Puts a letter into somebody's postbox.
    mutating func post(user: String, postbox: String, text: String) -> [ChatEffect] {
        let local = LocalID(value: newNumber())
        outgoing[local] = .letter(user: user, postbox: postbox, text: text)
        say(isOffline ? "The letter to \(user)/\(postbox) goes when connected." : "Sending to \(user)/\(postbox) …")
        return [.postLetter(local, user: user, postbox: postbox, text: text)]
    }

    /// Takes in news of an own letter.
    mutating func take(_ news: ChatEvent.DeliveryNews, ofLetter local: LocalID) {
        guard case .letter(let user, let postbox, let text)? = outgoing[local], case .outcome(let outcome) = news
        else { return }
        outgoing[local] = nil
        switch outcome {
        case .acknowledged: say("✓ \(user)/\(postbox) has the letter.")
        case .failed(let error): giveBack("/post \(user)/\(postbox) \(text)", error.words)
        case .discarded(let reason): giveBack("/post \(user)/\(postbox) \(text)", reason.words)
        }
    }

    /// A letter that was not sent is not lost: it stands in the compose pane again, or waits in its history.
    private mutating func giveBack(_ command: String, _ words: String) {
        if compose.isEmpty {
            compose.set(command)
            say("✗ The letter was not sent. \(words)", .failure)
        } else {
            say("✗ The letter was not sent; Up brings it back. \(words)", .failure)
        }
    }
}
