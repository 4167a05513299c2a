import Relay
import Terminal

/// The consequences of an event: requests to the core, in order, and then actions of the screen's thread.
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
        // Most are empty.
        if !second.core.isEmpty { first.core += second.core }
        if !second.screen.isEmpty { first.screen += second.screen }
    }
}

extension ChatEffects: ExpressibleByArrayLiteral {
    init(arrayLiteral effects: CoreEffect...) { core = effects }
}

/// A request to `ChatEngine`, by feed. It never blocks; answers arrive as events.
enum CoreEffect: Equatable, Sendable {
    case topics(TopicsFeed.Request)
    case people(PeopleFeed.Request)
    case store(StoreFeed.Request)
    case search(SearchFeed.Request)
    case letters(LettersFeed.Request)
    case keys(KeyValueFeed.Request)
    case connection(ConnectionFeed.Request)
    case lab(LabFeed.Request)
    /// Also notify the user by a shell command.
    case runNotifier(String, TerminalNotification)
}

/// An action of the screen's thread on the terminal, the process or the window.
enum ScreenEffect: Equatable, Sendable {
    case suspendProcess
    case quit
    case redraw
    case bell
    /// Notify the user, who looks elsewhere; a test is answered by a `notified` event.
    case notify(TerminalNotification, isTest: Bool = false)
    /// Open a text in the user's editor, answered by an `edited` event.
    case edit(String)
    case copy(String)
    /// Already free of control characters.
    case setTitle(String)
    /// Bring another chat of the window to the front, by its place.
    case showChat(Int, ChatDestination)
    /// Run the same search in the window's other networks.
    case searchElsewhere(request: UInt64, SearchQuery, limit: Int)
    /// Open another profile's chat in this window, or bring it to the front.
    case openChat(profile: String)
}
