import Relay

extension ChatModel {
    /// Sends a line to a topic: it is on the screen at once, with a mark as soon as the core has it, and goes when the core
    /// can deliver it.
    mutating func publish(_ text: String, to name: String) -> [ChatEffect] {
        let (id, number) = newMessage()
        let user = identity.user
        let line = PendingLine(
            id: id, number: number, topic: name, text: text, composedAt: now.wall, state: .typed)
        let isTaken = conversations.update(name) { conversation in
            guard conversation.append(line, name: user) else { return false }
            conversation.scroll = .bottom
            conversation.markRead()
            conversation.answered()
            return true
        }
        guard isTaken == true else {
            say("\(Wording.count(Conversation.pendingLimit, "line")) wait here already. /discard drops them.", .failure)
            return []
        }
        switch view {
        case .excerpt, .reader: show(.conversation(name))
        case .welcome, .conversation, .inbox, .search, .lab: break
        }
        landing = nil
        hand(.line(conversation: name), id)
        return [.publish(id: id, topic: name, text: text)]
    }

    /// Notes what goes to the core. Until the core has accepted it, which is told as it comes further on its way, nothing
    /// keeps it, and nothing is said of it that a power cut would make untrue.
    private mutating func hand(_ item: Outgoing, _ id: String) {
        outgoing[id] = item
        unaccepted.insert(id)
    }

    /// An own line, letter or change of a key has come further on its way, or to its end.
    mutating func published(_ news: PublishNews) -> [ChatEffect] {
        guard let item = outgoing[news.id] else {
            if opening != nil, news.state.isFinal, early.count < Self.earlyLimit { early[news.id] = news.state }
            return []
        }
        let isNew = unaccepted.remove(news.id) != nil
        if news.state.isFinal { outgoing[news.id] = nil }
        switch item {
        case .line(let name):
            linePublished(news.id, in: name, news.state)
            return []
        case .letter(let user, let postbox, let subject, let text):
            let recipient = "\(user)/\(postbox)"
            if isNew, news.state == .queued, isOffline { say("The letter to \(recipient) goes when connected.") }
            return letterPublished(news.id, to: recipient, LetterSubject.joined(subject, text), news.state)
        case .key(let change):
            if isNew, news.state == .queued, isOffline { say(change.waitingWords) }
            return keyPublished(news.id, change, news.state)
        }
    }

    private mutating func linePublished(_ id: String, in name: String, _ state: PublishState) {
        let user = identity.user
        if case .acknowledged = state { changeUnjoined(id, of: name, nil) }
        switch state {
        case .queued: conversations.update(name) { _ = $0.setState(.queued, of: id) }
        case .sending: conversations.update(name) { _ = $0.setState(.sending, of: id) }
        case .acknowledged(let sequence):
            conversations.update(name) { $0.acknowledge(id, sequence: sequence, name: user) }
        case .failed(let error): lineFailed(id, in: name, "not sent: \(error.words)")
        case .discarded(let reason): lineFailed(id, in: name, "not sent: \(reason.words)")
        case .uncertain: lineFailed(id, in: name, "perhaps sent: \(Self.uncertain)")
        }
    }

    private static let uncertain =
        "The answer was lost. Sent again, it may be there twice."

    private mutating func lineFailed(_ id: String, in name: String, _ words: String) {
        let isShown = conversations.update(name) { $0.setState(.failed(words), of: id) }
        if isShown != true { changeUnjoined(id, of: name, .failed(words)) }
        if isShown == nil { say("A line to \(name): \(words)", .failure) }
    }

    /// Own lines whose message has come back from the stream need no acknowledgement to be counted as sent.
    mutating func settleDelivered(_ messages: [Relay.TopicMessage]) {
        guard !outgoing.isEmpty else { return }
        for message in messages {
            guard case .line(let name)? = outgoing[message.id], name == message.topic,
                let conversation = conversations.named(message.topic),
                !conversation.pending.contains(where: { $0.id == message.id })
            else { continue }
            outgoing[message.id] = nil
            unaccepted.remove(message.id)
        }
    }

    // MARK: Letters

    /// Puts a letter into somebody's postbox.
    mutating func post(user: String, postbox: String, subject: String? = nil, text: String) -> [ChatEffect] {
        let (id, _) = newMessage()
        hand(.letter(user: user, postbox: postbox, subject: subject, text: text), id)
        if !isOffline { say("Sending to \(user)/\(postbox) …") }
        return [.postLetter(id: id, user: user, postbox: postbox, subject: subject, text: text)]
    }

    /// - Parameter letter: the letter as it was written, with its subject.
    private mutating func letterPublished(
        _ id: String, to recipient: String, _ letter: String, _ state: PublishState
    ) -> [ChatEffect] {
        switch state {
        case .queued, .sending: return []
        case .acknowledged:
            say("✓ \(recipient) has the letter.")
            return []
        case .failed(let error): letterFailed("/post \(recipient) \(letter)", error.words)
        case .discarded(let reason): letterFailed("/post \(recipient) \(letter)", reason.words)
        case .uncertain: letterFailed("/post \(recipient) \(letter)", Self.uncertain)
        }
        // The person has it back: sent once more, it would be another letter.
        return forget([id])
    }

    private mutating func letterFailed(_ command: String, _ words: String) {
        giveBack(command, "The letter was not sent", words)
    }

    /// What was not sent is not lost: it is put back into the compose pane, or waits in its history.
    private mutating func giveBack(_ command: String, _ what: String, _ words: String) {
        if compose.isEmpty {
            compose.set(command)
            // Whoever writes something else now does not write it behind this.
            say("✗ \(what). \(words)", .failure, about: .mistake)
        } else {
            say("✗ \(what); Up brings it back. \(words)", .failure)
        }
    }

    // MARK: Keys and values

    /// Sets or deletes a key of the network's key-value store.
    mutating func changeKey(_ change: KeyValueRequest.Change) -> [ChatEffect] {
        let (id, _) = newMessage()
        hand(.key(change), id)
        return [.changeKey(id: id, change)]
    }

    private mutating func keyPublished(
        _ id: String, _ change: KeyValueRequest.Change, _ state: PublishState
    ) -> [ChatEffect] {
        switch state {
        case .queued, .sending: return []
        case .acknowledged(let revision):
            tellOfKeys(change.doneWords(revision))
            return []
        case .failed(let error): keyFailed(change, error.words)
        case .discarded(let reason): keyFailed(change, reason.words)
        case .uncertain: keyFailed(change, "The answer was lost. Look at the key, then decide anew.")
        }
        // The person has the command back.
        return forget([id])
    }

    /// Says what a request about keys came to; `/kv` lists it from then on.
    mutating func tellOfKeys(_ text: String, isFailure: Bool = false) {
        say(text, isFailure ? .failure : .information, about: .keys)
        keyResults.record(text, at: now.wall)
    }

    private mutating func keyFailed(_ change: KeyValueRequest.Change, _ words: String) {
        giveBack(change.command, "\(change.key) was not changed", words)
    }
}
