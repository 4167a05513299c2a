import Relay
import Terminal

/// A chat's place in a window with several, one for each network.
struct WindowPlace: Equatable, Sendable {
    var isAlone = true
    var isInFront = true
    /// The chat from which Alt-a led here, and to which it returns once nothing is unread.
    var origin: Int?
    /// Its index among the chats.
    var place = 0
    /// The glances of all chats, in order; empty if there is only one.
    var chats: [ChatGlance] = []

    var others: [(place: Int, chat: ChatGlance)] {
        guard chats.count > 1 else { return [] }
        return chats.enumerated().filter { $0.offset != place }.map { (place: $0.offset, chat: $0.element) }
    }
}

/// A summary of a chat, shown while another one is in front.
struct ChatGlance: Equatable, Sendable {
    struct Topic: Equatable, Sendable {
        let name: String
        let unread: Int
        let mentions: Int
        let isMuted: Bool
        let hasText: Bool
        let hasFailed: Bool
        /// Whether it is not followed while out of view, so that more may be unread.
        let rests: Bool

        /// - Parameter place: the topic's index, since passing the conversation would copy it.
        init(_ model: ChatModel, _ place: Int, hasText: Bool) {
            name = model.network.conversations.all[place].name
            unread = model.network.conversations.all[place].unread
            mentions = model.network.conversations.all[place].mentions.count
            isMuted = model.network.conversations.isMuted(name)
            self.hasText = hasText
            hasFailed =
                if case .failed = model.network.conversations.all[place].subscription { true } else { false }
            rests = model.network.resting.topics.contains(name)
        }

        var words: String {
            unread > 0 ? Conversation.unreadWords(unread, mentions: mentions) + (rests ? "+" : "") : ""
        }
    }

    let name: String
    let symbol: String
    let kind: StatusText.Kind
    /// Its topics, in order; empty for the chat in front, which shows them itself.
    let topics: [Topic]
    let letters: Int
    /// Whether there is a draft outside any topic.
    let hasText: Bool
    let queued: Int

    init(_ model: ChatModel, named name: String, isInFront: Bool) {
        self.name = name
        let status = model.network.status
        symbol = status.state.symbol
        kind = StatusText.Kind(status.state, isSilent: status.silentSince != nil)
        letters = model.unreadLetters
        queued = model.network.outbox.queuedCount
        func hasText(_ place: String) -> Bool {
            model.writing.hasText(for: place) || model.writing.place == place && model.compose.hasContent
        }
        self.hasText = hasText("")
        guard !isInFront else {
            topics = []
            return
        }
        let conversations = model.network.conversations
        topics = conversations.all.indices.compactMap { conversations.index(at: $0) }.map { index in
            Topic(model, index, hasText: hasText(conversations.all[index].name))
        }
    }

    /// The unread messages in topics that are not muted.
    var unread: Int { topics.reduce(0) { $0 + ($1.isMuted ? 0 : $1.unread) } }
    /// The mentions among them.
    var mentions: Int { topics.reduce(0) { $0 + ($1.isMuted ? 0 : $1.mentions) } }
    /// Its rows in the sidebar: heading, topics, postbox.
    var rows: Int { topics.count + 2 }
}

/// What to show when a chat is brought to the front.
enum ChatDestination: Hashable, Sendable {
    case place(Place)
    /// The next unread topic, mentions first.
    case unread
    case found(FoundMessage, SearchQuery)
    case last
}

extension ChatModel {
    func comeToFront(_ destination: ChatDestination) -> ChatEffects {
        window.isInFront = true
        // The user left it by its sidebar, but returns for its view.
        if screen.focus == .sidebar { screen.focus = .compose }
        // The terminal has another chat's title.
        (screen.title, screen.titleWords) = ("", nil)
        attention.lastInput = now.instant
        switch destination {
        case .place(let place): return go(to: place)
        case .unread: return showNextUnread()
        case .found(let message, let query): return openFound(message, query)
        case .last: return []
        }
    }

    /// The identity for titles, with the network's name in a window with several.
    var shownIdentity: Identity {
        var identity = network.identity
        if window.chats.indices.contains(window.place) { identity.network = window.chats[window.place].name }
        return identity
    }

    var asksSomething: Bool { if case .question? = screen.overlay { true } else { false } }

    /// Takes in the glances of all chats; the cursor stays on its row.
    func take(_ chats: [ChatGlance], place: Int) {
        let (old, start, row) = (window.chats, sidebarStart, sidebarRow(at: screen.sidebar.cursor))
        (window.chats, window.place) = (chats, place)
        guard screen.focus == .sidebar else { return }
        switch row {
        case .chat(let chat): screen.sidebar.cursor = sidebarHeading(of: chat)
        case .lettersElsewhere(let chat) where chats.indices.contains(chat):
            screen.sidebar.cursor = sidebarHeading(of: chat) + chats[chat].rows - 1
        case .topicElsewhere(let chat, let topic) where chats.indices.contains(chat):
            let name = old[chat].topics[topic].name
            let index = chats[chat].topics.firstIndex { $0.name == name }
            screen.sidebar.cursor = sidebarHeading(of: chat) + (index.map { $0 + 1 } ?? 0)
        case .topicsHeading, .topic, .allLetters, .postbox, .lettersElsewhere, .topicElsewhere, nil:
            screen.sidebar.cursor += sidebarStart - start
        }
    }

    /// Whether to tell this chat about the user's input to another one; limited to once a second while it is known to
    /// be present.
    var awaitsSign: Bool {
        guard attention.tracker.isForeground, let last = attention.lastInput else { return true }
        return last.duration(to: now.instant) >= .seconds(1)
    }

    func goBehind() {
        window.isInFront = false
        if asksToDeleteAndQuit { network.inbox.deletion.release(now: now.instant) }
        screen.overlay = nil
    }

    /// Goes to the next chat of the window with a wanted glance; nil if there is none.
    func goElsewhere(where isWanted: (ChatGlance) -> Bool) -> ChatEffects? {
        let others = window.others
        let behind = others.filter { $0.place > window.place } + others.filter { $0.place < window.place }
        guard let next = behind.first(where: { isWanted($0.chat) }) else { return nil }
        return .screen(.showChat(next.place, .unread))
    }
}
