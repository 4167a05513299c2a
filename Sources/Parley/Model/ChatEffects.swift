import Relay
import Terminal

/// What follows from an event: what is asked of the core, in its order, and what the screen's thread does then.
struct ChatEffects: Equatable, Sendable {
    var core: [CoreEffect] = []
    var screen: [ScreenEffect] = []

    static func screen(_ effects: ScreenEffect...) -> ChatEffects { ChatEffects(screen: effects) }

    var isEmpty: Bool { core.isEmpty && screen.isEmpty }

    static func + (first: ChatEffects, second: ChatEffects) -> ChatEffects {
        if first.isEmpty { return second }
        var both = first
        both += second
        return both
    }

    static func += (first: inout ChatEffects, second: ChatEffects) {
        // Most of what an event leads to is nothing.
        if !second.core.isEmpty { first.core += second.core }
        if !second.screen.isEmpty { first.screen += second.screen }
    }
}

extension ChatEffects: ExpressibleByArrayLiteral {
    /// What is asked of the core alone.
    init(arrayLiteral effects: CoreEffect...) { core = effects }
}

/// What `ChatEngine` is asked to do, by the feed that does it. Answers come back as events; nothing here waits.
enum CoreEffect: Equatable, Sendable {
    case topics(TopicsFeed.Request)
    case people(PeopleFeed.Request)
    case store(StoreFeed.Request)
    case search(SearchFeed.Request)
    case letters(LettersFeed.Request)
    case keys(KeyValueFeed.Request)
    case connection(ConnectionFeed.Request)
    case lab(LabFeed.Request)
    /// Notify the person by a line for the shell, too.
    case runNotifier(String, TerminalNotification)
}

/// What the screen's thread does with the terminal and with its own process.
enum ScreenEffect: Equatable, Sendable {
    case suspendProcess
    case quit
    /// Paint the whole screen again.
    case redraw
    case bell
    /// Notify the person, who looks elsewhere; `notified` tells of a test by what that was done.
    case notify(TerminalNotification, isTest: Bool = false)
    /// Have the person write on at a text in their editor; `edited` tells what became of it.
    case edit(String)
    case copy(String)
    /// Already free of controls.
    case setTitle(String)
    /// Bring another chat of the window in front, by its place.
    case showChat(Int, ChatDestination)
    /// Look for the same in what the other networks of the window have.
    case searchElsewhere(request: UInt64, SearchQuery, limit: Int)
    /// Open the chat of another profile beside this one, or bring it in front.
    case openChat(profile: String)
}
