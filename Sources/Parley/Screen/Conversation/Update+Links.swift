import Relay
import Terminal

// Links are shown and handed over; nothing here opens one.
extension ChatModel {
    func showLinks() {
        guard let links = linksInView() else { return say("Open a topic first.", .failure) }
        listed.links = links
        guard !links.entries.isEmpty else { return say("There is no link in view.") }
        screen.overlay = .listing(links.listing)
    }

    /// Copies a link of the list, or of what is in view if nothing was listed here.
    func takeLink(_ number: Int) -> ChatEffects {
        guard let inView = linksInView() else { return tell("Open a topic first.", .failure) }
        let links = listed.links.flatMap { $0.place == inView.place && !$0.entries.isEmpty ? $0 : nil } ?? inView
        guard let link = links.link(number) else {
            return tell(
                links.entries.isEmpty ? "There is no link in view." : "There is no link \(number). /links lists them.")
        }
        // Without a screen there is no clipboard at hand.
        guard hasScreen else { return tell(link.text) }
        return take(link)
    }

    /// Copies a link to the terminal's clipboard and shows it on the bottom line, where the mouse can select it if the
    /// terminal has no clipboard.
    func take(_ link: Link) -> ChatEffects {
        let effects = copy(link.text)
        if SafeText(link.text).width <= size.columns - 2 { say(link.text) }
        return effects
    }

    /// The links of the messages in view, newest first, or of the open message or letter; nil if there is neither.
    private func linksInView() -> LinkList? {
        guard let conversation = conversationInView else {
            return (screen.view.reader ?? wholeText).map { LinkList(in: $0) }
        }
        var entries: [LinkList.Entry] = []
        var known: Set<Link> = []
        for case .text(let text, _, let row) in layout(of: conversation).viewport.reversed() {
            for link in text.links.reversed() where known.insert(link).inserted {
                entries.append(LinkList.Entry(link: link, name: name(of: row)))
            }
        }
        return LinkList(in: conversation.name, entries)
    }

    private func name(of row: ConversationRow) -> String {
        switch row {
        case .message(let line): line.name.isEmpty ? "?" : line.name
        case .pending: network.identity.user
        case .gap, .restart, .outage: ""
        }
    }
}
