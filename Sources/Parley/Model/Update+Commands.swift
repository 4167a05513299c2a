import Relay
import Terminal

extension ChatModel {
    /// Enter in the compose pane: runs a command, or sends a message to the topic in view.
    func submit() -> ChatEffects {
        compose.editor.endSearch()
        guard compose.hasContent else { return [] }
        // The last notice was about the text before this one.
        notices.shown = nil
        dismissAbsence()
        if mendSlash() { return [] }
        let text = compose.text
        do {
            if let command = try SlashCommand.parse(text) {
                guard mayRun(command, writtenAs: text) else { return [] }
                _ = compose.editor.take()
                return run(command)
            }
        } catch {
            compose.editor.remember()
            return tell(error.words, .failure, about: .mistake)
        }
        guard !hidesCommand(text) else { return [] }
        // A text after // also keeps its emoji codes.
        let message = SlashCommand.message(in: text)
        return send(text.hasPrefix("//") ? message : EmojiCode.replaced(in: message))
    }

    /// Whether a command follows a quotation, where it would be sent instead of run; says so.
    private func hidesCommand(_ text: String) -> Bool {
        guard let line = SlashCommand.lineBelowQuotation(in: text), SlashCommand.isCommand(line) else { return false }
        let name = line.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }.prefix(32)
        say("Not sent: \(name) stands below a quotation. As text it is /\(name).", .failure, about: .mistake)
        return true
    }

    /// Sends a text to the topic in view; asks first if it is long.
    private func send(_ text: String) -> ChatEffects {
        guard let topic = writableTopic(), fits(text) else { return [] }
        if isLong(text, for: topic, .send(text: text, topic: topic)) { return [] }
        _ = compose.editor.take()
        return publish(text, to: topic)
    }

    /// Whether a command can run at once. If not, asks or says why, and the text stays.
    private func mayRun(_ command: SlashCommand, writtenAs written: String) -> Bool {
        switch command {
        case .say(let text):
            guard let topic = writableTopic(), fits(text) else { return false }
            return !isLong(text, for: topic, .run(command))
        case .quote(nil, "") where answersLetter: return true
        case .quote(let number, let text): return mayQuote(number, text)
        case .write: return isForPerson(written)
        case .post(let user, let postbox, let subject, let text):
            guard isForPerson(written), fits(subject: subject), fits(text) else { return false }
            return !isLong(text, for: "\(user)/\(postbox)", .run(command))
        case .postbox(let act): return mayDo(act)
        case .join, .leave, .resend, .discard, .unsent, .history, .more, .edit, .search, .find, .open, .read, .details,
            .links, .link, .who, .ignore, .unignore, .mute, .unmute, .notify, .suspendAfter, .away, .back, .inbox,
            .sent, .delete, .save, .topics, .next, .keyValue, .keyResults, .close, .disconnect, .reconnect, .openChat,
            .log, .lab, .errors, .help, .quit:
            return true
        }
    }

    private var answersLetter: Bool { screen.view.isInbox && hasScreen && network.inbox.selectedLetter != nil }

    /// Whether a letter is really for a user; if its recipient is a topic's name, says so. An address with a postbox is
    /// always a user's.
    private func isForPerson(_ written: String) -> Bool {
        guard let name = SlashCommand.bareRecipient(of: written), network.conversations.index(of: name) != nil,
            !namesToComplete.contains(name)
        else { return true }
        say(SlashCommand.topicWords(name), .failure, about: .mistake)
        return false
    }

    /// Whether a text has so many lines that it needs a confirmation, which it then asks for.
    private func isLong(_ text: String, for recipient: String, _ act: Question.Act) -> Bool {
        let lines = Self.lineCount(text)
        guard lines > Compose.quietLines else { return false }
        ask(act, "Send \(Wording.grouped(lines)) lines to \(recipient)?")
        return true
    }

    /// Whether a text fits into a message; says so if not. Without a screen the text cannot be shortened: the core
    /// refuses it then, and keeps it with the reason.
    func fits(_ text: String) -> Bool {
        let bytes = text.utf8.count
        guard hasScreen, bytes > network.messageBytes else { return true }
        let limit = Wording.grouped(network.messageBytes)
        say(
            "It has \(Wording.grouped(bytes)) bytes, a message at most \(limit). Shorten it, or send it in parts.",
            .failure)
        return false
    }

    /// Whether a letter's subject is short enough; says so if not.
    private func fits(subject: String?) -> Bool {
        let (bytes, limit) = (subject?.utf8.count ?? 0, PostboxLetter.maximumSubjectBytes)
        guard bytes > limit else { return true }
        say("The subject has \(Wording.grouped(bytes)) bytes, it can have \(limit).", .failure)
        return false
    }

    /// The topic that a text goes to; says why if there is none.
    func writableTopic() -> String? {
        switch screen.view.pane.addressee(in: self) {
        case .topic(let name): return name
        case .nobody(let words, _):
            say(words, .failure)
            return nil
        }
    }

    func run(_ command: SlashCommand) -> ChatEffects {
        switch command {
        case .join(let topic): return joinChannel(topic)
        case .leave(let topic): return leave(topic.map { SlashCommand.topic(fromChannel: $0) })
        case .say(let text):
            guard let topic = writableTopic() else { return [] }
            return publish(text, to: topic)
        case .post(let user, let postbox, let subject, let text):
            returnToList()
            return post(user: user, postbox: postbox, subject: subject, text: EmojiCode.replaced(in: text))
        case .write(let address): write(to: address)
        case .resend(let number): return resend(number)
        case .discard(let number): return discard(number)
        case .unsent: listUnsent()
        case .history: return showOlder()
        case .more: return showMore()
        case .inbox:
            screen.focus = .main
            // Without a screen the list starts over, since there is no way back to an earlier page.
            if !hasScreen, screen.view.isInbox, network.inbox.trail.count > 1 { network.inbox.reset() }
            return openInbox(nil)
        case .postbox(let act): return run(act)
        case .sent(let number): return sentLetters(number)
        case .delete(let number):
            guard isInPostbox() else { return [] }
            if let number {
                askToDelete(number)
            } else if network.inbox.letters.isEmpty {
                say("There is no letter to delete.")
            } else {
                askToDelete()
            }
        case .save(let file):
            returnToList()
            return awaited(save(to: file))
        case .topics(""): listTopics()
        case .topics(let topic): return goToTopic(named: topic)
        case .next: return showNextUnread()
        case .edit:
            guard hasScreen else { return tell("An editor needs a screen. Write the text as a line.") }
            return .screen(.edit(compose.text))
        case .search(let text): return search(text)
        case .find(""): findOn()
        case .find(let words): find(words)
        case .open(let number): return openFound(number)
        case .quote(nil, "") where answersLetter: reply(quotes: true)
        case .quote(let number, let text): return quote(number, text)
        case .details(let number): if let row = message(number) { lookAt(row) }
        case .links: showLinks()
        case .link(let number): return takeLink(number)
        case .who: showPeople()
        case .ignore(let name): return ignore(name)
        case .unignore(let name): return unignore(name)
        case .mute(let topic): return mute(topic.map { SlashCommand.topic(fromChannel: $0) })
        case .unmute(let topic): return unmute(topic.map { SlashCommand.topic(fromChannel: $0) })
        case .notify(.show): showNotifications()
        case .notify(.test): return testNotification()
        case .notify(.on): return keepConnection(true)
        case .notify(.off): return keepConnection(false)
        case .suspendAfter(let change): return suspend(after: change)
        case .away(let text): return setPresence(.away(text))
        case .back: return setPresence(.here)
        case .keyValue(let request): return request.change.map { changeKey($0) } ?? [.keys(.answer(request))]
        case .keyResults: showKeyResults()
        case .close: return closeView()
        case .disconnect: return disconnectUnlessUnsent()
        case .openChat(let profile):
            guard !hasScreen else { return .screen(.openChat(profile: profile)) }
            say("A second network needs the screen; use parley --plain --profile NAME for it.", .failure)
        case .reconnect:
            say("Connecting …", about: .connection)
            return [.connection(.reconnect)]
        case .read(let number): return read(number)
        case .log: openLog()
        case .lab(let request): return run(request)
        case .errors: showErrors()
        case .help(let subject): openHelp(subject)
        case .quit: return quit()
        }
        return []
    }

    /// Returns the focus to the list from which a command was typed.
    private func returnToList() {
        let view = screen.view
        if view.isInbox || view.search != nil || view.reader != nil { screen.focus = .main }
    }

    /// Closes what is in view: leaves a topic, and says how to rejoin it, or goes back from anything else.
    private func closeView() -> ChatEffects {
        guard let name = screen.view.topic else {
            // Without anything to go back to, a topic is shown.
            if !escape(), screen.view != .welcome { show(fallbackView) }
            return []
        }
        let effects = leave(name)
        say("Left \(name). /join \(name) comes back; /disconnect is what goes offline.")
        return effects
    }

    /// Joins a topic that may be named like a channel of other clients; says what it is called here.
    private func joinChannel(_ text: String) -> ChatEffects {
        let topic = SlashCommand.topic(fromChannel: text)
        let effects = join(topic)
        if topic != text, screen.view == .conversation(topic) { say("This is \(topic): topics have no # here.") }
        return effects
    }

    private func disconnectUnlessUnsent() -> ChatEffects {
        guard !network.outbox.messages.isEmpty else { return disconnect() }
        ask(.disconnect, "\(Self.unsentWords(network.outbox.messages.count)). Disconnect anyway?")
        return []
    }

    private func disconnect() -> ChatEffects {
        if hasScreen {
            let isAgain = network.status.state == .disconnected
            say(isAgain ? "Disconnected already; /reconnect connects again." : "Disconnected until /reconnect.")
        }
        return [.connection(.disconnect)]
    }

    /// Quits; asks first if messages are unsent or deletions can still be undone, and waits for letters being deleted.
    ///
    /// - Parameter isGivenUp: whether the connection was given up. Lines of this run fail just before or after that,
    ///   and are asked about in either case.
    func quit(isGivenUp: Bool = false) -> ChatEffects {
        let count = network.inbox.deletion.undoableCount
        if count > 0 {
            let undo = settings.keys.label(of: .undo, in: InboxPane.self).map { " (\($0) undoes it)" } ?? ""
            ask(
                .quitDeleting,
                "\(Wording.count(count, "letter")) \(count == 1 ? "is" : "are") about to be deleted\(undo). Delete and quit?"
            )
            // Nothing is deleted until the question is answered.
            network.inbox.deletion.hold()
            return []
        }
        return quitAfterDeletion(isGivenUp: isGivenUp)
    }

    /// Quits once deletions are done; asks if they are not.
    private func quitAfterDeletion(isGivenUp: Bool = false) -> ChatEffects {
        network.inbox.deletion.settle()
        if !network.inbox.deletion.isEmpty {
            let count = network.inbox.deletion.count
            let left = "\(Wording.count(count, "letter")) \(count == 1 ? "is" : "are") still being deleted"
            ask(.leaveDeletion, "\(left); Parley quits afterwards. Quit now?")
            return []
        }
        return quitUnlessUnsent(isGivenUp: isGivenUp)
    }

    /// Quits if nothing is unsent, and otherwise asks. Failed lines count if no local store keeps them or the
    /// connection was given up; in topics that were left, only those of this run do, since earlier ones are in the
    /// store.
    private func quitUnlessUnsent(isGivenUp: Bool = false) -> ChatEffects {
        let failed = network.conversations.all.flatMap(\.failedLines).count {
            !network.keepsOutbox || isGivenUp && isOfThisRun($0.id)
        }
        let setAside = network.outbox.unjoined.values.joined().count {
            !$0.isOutgoing && isOfThisRun($0.id) && (!network.keepsOutbox || isGivenUp)
        }
        let count = network.outbox.messages.count + failed + setAside
        guard count > 0 else { return .screen(.quit) }
        ask(.quit, "\(Self.unsentWords(count)). Quit anyway?")
        return []
    }

    private static func unsentWords(_ count: Int) -> String {
        "\(Wording.count(count, "message")) \(count == 1 ? "is" : "are") not sent yet"
    }

    // MARK: Questions

    func ask(_ act: Question.Act, _ text: String) {
        // The new question replaces an unanswered one.
        if asksToDeleteAndQuit { network.inbox.deletion.release(now: now.instant) }
        screen.overlay = .question(Question(act: act, text: text))
    }

    /// Whether the open question is about deletions that can still be undone, which wait for the answer.
    var asksToDeleteAndQuit: Bool {
        if case .question(let question)? = screen.overlay { question.act == .quitDeleting } else { false }
    }

    func answerYes(_ question: Question) -> ChatEffects {
        screen.overlay = nil
        switch question.act {
        case .quit: return .screen(.quit)
        case .quitDeleting: return quitAfterDeletion()
        case .leaveDeletion: return quitUnlessUnsent()
        case .overwrite(let text, let path): return awaited([.letters(.save(text: text, path: path, overwrites: true))])
        case .disconnect: return disconnect()
        case .openLab: return beginLab()
        case .delete(let ids):
            network.inbox.delete(ids, now: now.instant, isUndoable: hasScreen)
            return []
        case .deletePostbox(let name): return deletePostbox(name)
        case .send(let text, let topic):
            guard network.conversations.index(of: topic) != nil else {
                return tell("\(topic) is not joined any more; the text was not sent.", .failure)
            }
            _ = compose.editor.take()
            return publish(text, to: topic)
        case .run(let command):
            _ = compose.editor.take()
            return run(command)
        }
    }
}
