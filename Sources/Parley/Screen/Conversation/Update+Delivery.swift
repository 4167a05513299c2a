import Relay

extension ChatModel {
    /// Sends a line to a topic: it appears at once, is marked as soon as the core has it, and leaves when the core can
    /// deliver it.
    func publish(_ text: String, to name: String) -> ChatEffects {
        let (id, number) = newMessage()
        let user = network.identity.user
        let line = PendingLine(
            id: id, number: number, topic: name, text: text, composedAt: now.wall, state: .typed)
        let isTaken = network.conversations.update(name) { conversation in
            guard conversation.append(line, name: user) else { return false }
            conversation.scroll = .bottom
            conversation.markRead()
            conversation.answered()
            return true
        }
        guard isTaken == true else {
            let lines = Wording.count(Conversation.pendingLimit, "line")
            return tell("\(lines) wait here already. /discard drops them.", .failure)
        }
        if screen.view.excerpt != nil || screen.view.reader != nil { show(.conversation(name)) }
        screen.marks.landing = nil
        hand(.line(conversation: name), id)
        return [.topics(.publish(id: id, topic: name, text: text))]
    }

    /// Notes what goes to the core. Until the core accepts it, which its first news tells, nothing keeps it, and
    /// nothing is said of it that a power cut would make untrue.
    private func hand(_ item: Outgoing.Item, _ id: String) {
        network.outbox.messages[id] = Outgoing(item: item, isAccepted: false)
    }

    /// Handles the progress, or the end, of an own line, letter or change of a key.
    func published(_ news: PublishNews) -> ChatEffects {
        guard let handed = network.outbox.messages[news.id] else {
            if network.opening != nil, news.state.isFinal,
                network.outbox.early.count < NetworkState.OutboxState.earlyLimit
            {
                network.outbox.early[news.id] = news
            }
            return []
        }
        let isNew = !handed.isAccepted
        network.outbox.messages[news.id] = news.state.isFinal ? nil : Outgoing(item: handed.item)
        switch handed.item {
        case .line(let name):
            linePublished(news, in: name)
            return []
        case .letter(let user, let postbox, let subject, let text):
            let recipient = "\(user)/\(postbox)"
            if isNew, news.state == .queued, isOffline { say("The letter to \(recipient) goes when connected.") }
            return letterPublished(news, to: recipient, LetterSubject.joined(subject, text))
        case .key(let change):
            if isNew, news.state == .queued, isOffline { say(change.waitingWords) }
            return keyPublished(news, change)
        }
    }

    private func linePublished(_ news: PublishNews, in name: String) {
        let (id, user) = (news.id, network.identity.user)
        if let (verdict, reason) = news.givenUp { return lineFailed(id, in: name, "\(verdict) sent: \(reason)") }
        if case .acknowledged(let sequence, _) = news.state {
            changeUnjoined(id, of: name, nil)
            network.conversations.update(name) { $0.acknowledge(id, sequence: sequence, name: user) }
        } else {
            network.conversations.update(name) { _ = $0.setState(news.state == .queued ? .queued : .sending, of: id) }
        }
    }

    private func lineFailed(_ id: String, in name: String, _ words: String) {
        let isShown = network.conversations.update(name) { $0.setState(.failed(words), of: id) }
        if isShown != true { changeUnjoined(id, of: name, .failed(words)) }
        if isShown == nil { say("A line to \(name): \(words)", .failure) }
    }

    /// Own lines that have come back from the stream count as sent without an acknowledgement.
    func settleDelivered(_ messages: [Relay.TopicMessage]) {
        guard !network.outbox.messages.isEmpty else { return }
        for message in messages where message.mayBeFromHere {
            guard case .line(let name)? = network.outbox.messages[message.id]?.item, name == message.topic,
                let conversation = network.conversations.named(message.topic),
                !conversation.pending.contains(where: { $0.id == message.id })
            else { continue }
            network.outbox.messages[message.id] = nil
        }
    }

    // MARK: Letters

    func post(user: String, postbox: String, subject: String? = nil, text: String) -> ChatEffects {
        let (id, _) = newMessage()
        hand(.letter(user: user, postbox: postbox, subject: subject, text: text), id)
        if !isOffline { say("Sending to \(user)/\(postbox) …") }
        return [.letters(.post(id: id, user: user, postbox: postbox, subject: subject, text: text))]
    }

    /// - Parameter letter: the letter as written, with its subject.
    private func letterPublished(_ news: PublishNews, to recipient: String, _ letter: String) -> ChatEffects {
        if case .acknowledged = news.state { say("✓ \(recipient) has the letter.") }
        // Without a screen the failure is reported with the text, and kept with the reason, as a line is.
        guard hasScreen, let (verdict, reason) = news.givenUp else { return [] }
        giveBack("/post \(recipient) \(letter)", "The letter was \(verdict) sent", reason)
        // The person has it back: sent again, it is another letter.
        return forget([news.id])
    }

    /// Puts what was not sent back into the compose pane, or into its history. Without a screen no one would see it
    /// there.
    private func giveBack(_ command: String, _ what: String, _ words: String) {
        if hasScreen, compose.isEmpty {
            compose.set(command)
            // So that other text typed now does not end up after it.
            say("\(what). \(words)", .failure, about: .mistake)
        } else {
            say("\(what)\(hasScreen ? "; Up brings it back" : ""). \(words)", .failure)
        }
    }

    // MARK: Keys and values

    func changeKey(_ change: KeyValueRequest.Change) -> ChatEffects {
        let (id, _) = newMessage()
        hand(.key(change), id)
        return [.keys(.change(id: id, change))]
    }

    private func keyPublished(_ news: PublishNews, _ change: KeyValueRequest.Change) -> ChatEffects {
        if case .acknowledged(let revision, _) = news.state { tellOfKeys(change.doneWords(revision)) }
        guard let (outcome, reason) = news.givenUp else { return [] }
        // The key was looked up, and has another value.
        var verdict = outcome
        if case .failed(.conflict) = news.state { verdict = "not" }
        let words = news.state == .uncertain ? "The answer was lost. Look at the key, then decide anew." : reason
        giveBack(change.command, "\(change.key) was \(verdict) changed", words)
        // The person has the command back.
        return forget([news.id])
    }

    /// Says what a request about keys led to; `/kv` lists it from then on.
    func tellOfKeys(_ text: String, isFailure: Bool = false) {
        say(text, isFailure ? .failure : .information, about: .keys)
        notices.keyResults.record(text, at: now.wall)
    }
}

extension PublishNews {
    /// For a message that was given up: whether it was "not" or "perhaps" sent, and why.
    var givenUp: (verdict: String, reason: String)? {
        let reason: String
        switch state {
        case .queued, .sending, .acknowledged: return nil
        case .failed(let error): reason = error.words
        case .discarded(let cause): reason = cause.words
        case .uncertain: reason = "The answer was lost. Sent again, it may be there twice."
        }
        return (mayBeStored ? "perhaps" : "not", reason)
    }
}
