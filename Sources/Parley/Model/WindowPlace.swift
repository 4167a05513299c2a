import Relay
import Terminal

/// Where a chat stands in a window that has several, one for each network.
struct WindowPlace: Equatable, Sendable {
    /// Whether the window has no other.
    var isAlone = true
    var isInFront = true
    /// Where Alt-a has led here from, which it leads back to when nothing is unread any more.
    var origin: Int?
    /// Its place among them.
    var place = 0
    /// What each shows of itself beside the others, in their order; empty while there is one alone.
    var chats: [ChatGlance] = []

    var others: [(place: Int, chat: ChatGlance)] {
        guard chats.count > 1 else { return [] }
        return chats.enumerated().filter { $0.offset != place }.map { (place: $0.offset, chat: $0.element) }
    }
}

/// What a chat shows of itself while another one is in front.
struct ChatGlance: Equatable, Sendable {
    /// What is joined there.
    struct Topic: Equatable, Sendable {
        let name: String
        let unread: Int
        let mentions: Int
        let isMuted: Bool
        let hasText: Bool
        let hasFailed: Bool
        /// Whether it is not followed while nobody looks, so that more may be unread.
        let rests: Bool

        /// The joined topic at a place: as a value it would be a copy of all that it holds.
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

    /// What its network is called.
    let name: String
    let symbol: String
    let kind: StatusText.Kind
    /// Its topics, as they stand there; none of the chat in front, which shows them itself.
    let topics: [Topic]
    let letters: Int
    /// Whether a letter or command is being written where no topic is in view.
    let hasText: Bool
    /// Messages that wait to be sent there.
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

    /// Messages that count, in topics that are not muted.
    var unread: Int { topics.reduce(0) { $0 + ($1.isMuted ? 0 : $1.unread) } }
    /// Messages among these that call the person.
    var mentions: Int { topics.reduce(0) { $0 + ($1.isMuted ? 0 : $1.mentions) } }
    /// The rows that it takes in the sidebar: its heading, its topics, its postbox.
    var rows: Int { topics.count + 2 }
}

/// What comes in front with a chat.
enum ChatDestination: Hashable, Sendable {
    case place(Place)
    /// What is unread there, mentions first.
    case unread
    /// A message that was found, and what was looked for.
    case found(FoundMessage, SearchQuery)
    /// Whatever was there last.
    case last
}

extension ChatModel {
    func comeToFront(_ destination: ChatDestination) -> ChatEffects {
        window.isInFront = true
        // Whoever left it by its sidebar comes for what it shows.
        if screen.focus == .sidebar { screen.focus = .compose }
        // The terminal has the title of another one.
        (screen.title, screen.titleWords) = ("", nil)
        attention.lastInput = now.instant
        switch destination {
        case .place(let place): return go(to: place)
        case .unread: return showNextUnread()
        case .found(let message, let query): return openFound(message, query)
        case .last: return []
        }
    }

    /// Who is signed in where, as the titles say it: beside other networks by what this one is called there.
    var shownIdentity: Identity {
        var identity = network.identity
        if window.chats.indices.contains(window.place) { identity.network = window.chats[window.place].name }
        return identity
    }

    var asksSomething: Bool { if case .question? = screen.overlay { true } else { false } }

    /// Takes in what all chats of the window show; the cursor stays on its row.
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

    /// Whether it tells this chat anything that the person does something in front of another one: many keys come at a
    /// time.
    var awaitsSign: Bool {
        guard attention.tracker.isForeground, let last = attention.lastInput else { return true }
        return last.duration(to: now.instant) >= .seconds(1)
    }

    func goBehind() {
        window.isInFront = false
        if asksToDeleteAndQuit { network.inbox.deletion.release(now: now.instant) }
        screen.overlay = nil
    }

    /// Goes to another chat of the window that shows something wanted; nil where none does.
    func goElsewhere(where isWanted: (ChatGlance) -> Bool) -> ChatEffects? {
        let others = window.others
        let behind = others.filter { $0.place > window.place } + others.filter { $0.place < window.place }
        guard let next = behind.first(where: { isWanted($0.chat) }) else { return nil }
        return .screen(.showChat(next.place, .unread))
    }
}
