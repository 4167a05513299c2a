import Terminal

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
