import Relay

/// Where a chat stands in a window that has several, one for each network.
struct WindowPlace: Equatable, Sendable {
    /// Whether the person has it in front of them.
    var isInFront = true
    /// Its place among them.
    var place = 0
    /// What each shows of itself beside the others, in their order; empty while there is one alone.
    var chats: [ChatGlance] = []

    /// What the others show.
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
        /// What the row says of both.
        let words: String
        let isMuted: Bool
        let hasText: Bool
    }

    /// What its network is called.
    let name: String
    let symbol: String
    let kind: StatusText.Kind
    /// Its topics, as they stand there.
    let topics: [Topic]
    /// Letters that were not read.
    let letters: Int
    /// Messages that wait to be sent there.
    let queued: Int

    init(_ model: ChatModel, named name: String) {
        self.name = name
        let status = model.network.status
        symbol = status.state.symbol
        kind = StatusText.Kind(status.state, isSilent: status.silentSince != nil)
        letters = model.unreadLetters
        queued = model.network.outbox.queuedCount
        let conversations = model.network.conversations
        topics = conversations.all.indices.compactMap { place in
            conversations.shown(at: place).map { topic in
                let isMuted = conversations.isMuted(topic.name)
                return Topic(
                    name: topic.name, unread: topic.unread, mentions: topic.mentions.count,
                    words: topic.unread > 0 ? topic.unreadWords : "", isMuted: isMuted,
                    hasText: model.writing.hasText(for: topic.name)
                        || model.writing.place == topic.name && model.compose.hasContent)
            }
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
    /// Whatever was there last.
    case last
}

extension ChatModel {
    /// The chat has come in front of the person.
    mutating func comeToFront(_ destination: ChatDestination) -> ChatEffects {
        window.isInFront = true
        // The terminal has the title of another one.
        (screen.title, screen.titleWords) = ("", nil)
        attention.lastInput = now.instant
        switch destination {
        case .place(let place): return go(to: place)
        case .unread: return showNextUnread()
        case .last: return []
        }
    }

    /// Who is signed in where, as the titles say it: beside other networks by what this one is called there.
    var shownIdentity: Identity {
        var identity = network.identity
        if window.chats.indices.contains(window.place) { identity.network = window.chats[window.place].name }
        return identity
    }

    /// Whether a question waits for the person's answer.
    var asksSomething: Bool { if case .question? = screen.overlay { true } else { false } }

    /// Takes in what all chats of the window show; the cursor stays on its row.
    mutating func take(_ chats: [ChatGlance], place: Int) {
        let before = sidebarStart
        (window.chats, window.place) = (chats, place)
        if screen.focus == .sidebar { screen.sidebar.cursor += sidebarStart - before }
    }

    /// The person is at another chat of the window.
    mutating func goBehind() {
        window.isInFront = false
        screen.overlay = nil
    }

    /// Goes to another chat of the window where something there calls the person, or is unread.
    ///
    /// - Returns: nil where nothing is.
    func goElsewhere(where isWanted: (ChatGlance) -> Bool) -> ChatEffects? {
        let others = window.others
        let behind = others.filter { $0.place > window.place } + others.filter { $0.place < window.place }
        guard let next = behind.first(where: { isWanted($0.chat) }) else { return nil }
        return .screen(.showChat(next.place, .unread))
    }
}
