import Relay
import Terminal

// The person's own postboxes, and the letters sent from here.
extension ChatModel {
    /// Whether an act on a postbox is possible now; otherwise says why not, and the text stays.
    func mayDo(_ act: PostboxAct) -> Bool {
        guard let name = act.name else { return true }
        guard !isOffline else {
            say("Postboxes are changed by the network: connect first.", .failure)
            return false
        }
        if case .create = act { return true }
        // Until the network has listed them, only it knows.
        guard !network.inbox.boxes.isEmpty, !network.inbox.areBoxesOld,
            !network.inbox.boxes.contains(where: { $0.name == name })
        else { return true }
        let names = network.inbox.boxes.map(\.name).sorted().joined(separator: ", ")
        say("There is no postbox \(name.prefix(64)). These are: \(names).", .failure)
        return false
    }

    /// Performs an act on the person's postboxes; asks first if it deletes letters.
    func run(_ act: PostboxAct) -> ChatEffects {
        switch act {
        case .list:
            listPostboxes()
            // Another device may have changed the postboxes.
            return isOffline ? [] : asked(.letters(.postboxes(.list)))
        case .create, .rename, .enable, .disable: return asked(.letters(.postboxes(act)))
        case .delete(let name):
            ask(.deletePostbox(name), deletionWords(name))
            return []
        }
    }

    func deletePostbox(_ name: String) -> ChatEffects {
        let act = PostboxAct.delete(name)
        return mayDo(act) ? asked(.letters(.postboxes(act))) : []
    }

    func awaited(_ effects: ChatEffects) -> ChatEffects {
        network.outbox.awaitedAnswers += effects.core.count
        return effects
    }

    private func asked(_ effect: CoreEffect) -> ChatEffects { awaited([effect]) }

    private func deletionWords(_ name: String) -> String {
        let box = network.inbox.boxes.first { $0.name == name }
        // Without counts the number is unknown.
        guard let box, !network.inbox.counts.isEmpty else { return "Delete the postbox \(name) with all its letters?" }
        let count = network.inbox.counts[box.id] ?? 0
        return count == 0
            ? "Delete the postbox \(name)? It has no letters."
            : "Delete the postbox \(name) with its \(Wording.count(count, "letter"))?"
    }

    private func listPostboxes() {
        // A list on the screen is corrected when the network answers; a printed one is not.
        guard !network.inbox.boxes.isEmpty, hasScreen || isOffline || !network.inbox.areBoxesOld else {
            listed.awaitsPostboxes = !isOffline
            return say(isOffline ? "Your postboxes are known when connected." : "One moment: the network is asked.")
        }
        showPostboxes()
    }

    /// The list's title, with its age if the network has not confirmed it.
    private var postboxesHeading: String {
        guard isOffline || network.inbox.areBoxesOld, let asOf = network.inbox.boxesAsOf else {
            return "Your postboxes"
        }
        return "Your postboxes, as of \(CivilTime(asOf, zone: zone).stamp)"
    }

    /// Opens the list of postboxes, or updates it if it is open; its selection stays on its postbox.
    private func showPostboxes() {
        let names = network.inbox.boxes.map(\.name)
        var listing = Listing(title: postboxesHeading, lines: postboxLines, content: .postboxes(names))
        var selected = 0
        if case .listing(let before) = screen.overlay, case .postboxes(let known) = before.content {
            listing.scroll = before.scroll
            selected = before.selected ?? 0
            if known.indices.contains(selected) { selected = names.firstIndex(of: known[selected]) ?? selected }
        }
        listing.select(selected, on: size)
        screen.overlay = .listing(listing)
    }

    /// Updates the list of postboxes if it is open; false if it is not.
    func refreshPostboxList() -> Bool {
        guard case .listing(let listing) = screen.overlay, case .postboxes = listing.content else { return false }
        showPostboxes()
        return true
    }

    /// What the keys of the list do, in words; the longest form first.
    static let postboxKeys = [
        "  e on, off  r renames  n new  Del deletes", "  e on, off  n new  Del deletes", "  e on, off  Del deletes",
    ]

    /// What a key of the list does with a postbox; nil for a key that is none of the list's.
    func manage(_ name: String, by key: Key) -> ChatEffects? {
        let box = network.inbox.boxes.first { $0.name == name }
        let act: PostboxAct
        switch key {
        case Key(.character("e")): act = box?.isEnabled == true ? .disable(name) : .enable(name)
        case Key(.delete): act = .delete(name)
        case Key(.character("r")), Key(.character("n")):
            screen.overlay = nil
            // The present title can be edited.
            let title = box?.hasTitle == true ? box?.title ?? "" : ""
            beginLetter(key == Key(.character("r")) ? "/postbox rename \(name) \(title)" : "/postbox create ")
            return []
        default: return nil
        }
        return mayDo(act) ? run(act) : []
    }

    private var postboxLines: [HelpText.Line] {
        let hasPersonas = network.inbox.hasPersonas
        return network.inbox.boxes.map { box in
            var words = box.hasTitle ? ["called \(box.title.prefix(128))"] : []
            if !box.isEnabled { words.append("off") }
            if let count = network.inbox.counts[box.id] {
                words.append(Wording.count(count, "letter"))
                let unread = network.inbox.unreadCount(ofBox: box.id)
                if unread > 0 { words.append("\(Wording.grouped(unread)) unread") }
            }
            // That all belong to one persona need not be said.
            if hasPersonas { words.append("persona \(box.sudoId.prefix(128))") }
            return .entry(box.name, words.joined(separator: ", "))
        }
    }

    func handlePostboxesNews(_ news: ChatEvent.PostboxesNews) -> ChatEffects {
        network.outbox.awaitedAnswers = max(0, network.outbox.awaitedAnswers - 1)
        switch news {
        case .listed(let boxes):
            let isAwaited = listed.awaitsPostboxes
            listed.awaitsPostboxes = false
            let effects = handlePostboxNews(.boxes(boxes))
            if !refreshPostboxList(), isAwaited, screen.overlay == nil {
                if boxes.isEmpty {
                    say("You have no postbox. /postbox create NAME makes one.")
                } else {
                    listPostboxes()
                }
            }
            return effects
        case .changed(let act, let postbox, let boxes):
            say(words(of: act, postbox))
            var effects = handlePostboxNews(.boxes(boxes ?? network.inbox.boxes(after: act, postbox)))
            _ = refreshPostboxList()
            if case .delete = act {
                // Its letters are gone from the list of all, too.
                effects += [.letters(.count)] + refreshInbox()
            }
            return effects
        case .failed(let act, let error):
            say(error.words, .failure)
            guard act == .list else { break }
            let isAwaited = listed.awaitsPostboxes
            listed.awaitsPostboxes = false
            network.inbox.boxesWereNotTold()
            if !refreshPostboxList(), isAwaited, screen.overlay == nil, !network.inbox.boxes.isEmpty { showPostboxes() }
        case .sent(let letters): listSent(letters)
        case .sentFailed(let words): say(words, .failure)
        }
        return []
    }

    private func words(of act: PostboxAct, _ postbox: Postbox) -> String {
        let (name, user) = (postbox.name, network.identity.user)
        let title = postbox.hasTitle ? "is called \(postbox.title.prefix(128))" : "goes by its name again"
        return switch act {
        case .list: ""
        case .create: "✓ The postbox \(name) is there: others write to \(user)/\(name)."
        case .rename: "✓ The postbox \(name) \(title): others still write to \(user)/\(name)."
        case .enable: "✓ The postbox \(name) takes letters."
        case .disable: "✓ The postbox \(name) takes no more letters, and keeps those it has."
        case .delete: "✓ The postbox \(name) is deleted."
        }
    }

    // MARK: Letters that were sent

    static let sentLimit = 200
    private static let beginning = 120

    /// Lists the letters sent from here, or opens the one with a number in the list.
    func sentLetters(_ number: Int?) -> ChatEffects {
        guard let number else { return asked(.letters(.listSent(limit: Self.sentLimit))) }
        guard listed.sent.indices.contains(number - 1) else {
            let count = Wording.count(listed.sent.count, "letter")
            return tell(listed.sent.isEmpty ? "/sent lists them first." : "The list has \(count).", .failure)
        }
        readSent(listed.sent[number - 1])
        return []
    }

    private func listSent(_ letters: [KeptLetter]) {
        listed.sent = letters
        guard !letters.isEmpty else {
            return say("No letter that was sent is kept here. /post USER/POSTBOX TEXT writes one.")
        }
        // A person who has gone on to something else is not to be interrupted.
        guard screen.overlay == nil else { return }
        let lines = letters.enumerated().map { index, letter -> HelpText.Line in
            let stamp = CivilTime(letter.time, zone: zone).stamp
            return .entry("\(index + 1)  \(stamp)", beginning(of: letter))
        }
        screen.overlay = .listing(
            Listing(title: "Letters you sent, the newest first", lines: lines, selected: 0, content: .sentLetters))
    }

    private func beginning(of letter: KeptLetter) -> String {
        let subject = letter.subject.map { "\($0) · " } ?? ""
        let first = letter.text.prefix(Self.beginning)
        let text = first.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return "\(recipient(of: letter)): \(subject)\(text)\(first.endIndex < letter.text.endIndex ? " …" : "")"
    }

    private func recipient(of letter: KeptLetter) -> String {
        "\((letter.person ?? "?").prefix(64))/\(letter.postbox.prefix(64))"
    }

    /// Opens the selected letter, postbox or topic of the list over the panes, or copies its link.
    func openListed(_ index: Int) -> ChatEffects {
        guard case .listing(let listing) = screen.overlay else { return [] }
        screen.overlay = nil
        switch listing.content {
        case .words: break
        case .sentLetters: if listed.sent.indices.contains(index) { readSent(listed.sent[index]) }
        case .postboxes(let names):
            guard names.indices.contains(index), let box = network.inbox.boxes.first(where: { $0.name == names[index] })
            else { break }
            screen.focus = .main
            return openInbox(box.id)
        case .topics(let names): if names.indices.contains(index) { return go(to: .topic(names[index])) }
        case .links(let places):
            if places.indices.contains(index), let link = listed.links?.link(places[index] + 1) { return take(link) }
        }
        return []
    }

    private func readSent(_ letter: KeptLetter) {
        let stamp = CivilTime(letter.time, zone: zone).stamp
        let subject = letter.subject.map { " · \($0)" } ?? ""
        let name = LetterFile.name(of: letter.person, at: letter.time)
        var reader = Reader(letter.text, heading: "to \(recipient(of: letter)), \(stamp)\(subject)", fileName: name)
        reader.sent = letter
        read(reader)
    }
}
