import Relay

/// What the session is asked to do. Answers come back as events; nothing here waits.
enum ChatEffect: Equatable, Sendable {
    // Topics
    /// Subscribe to a topic or pattern.
    case subscribe(topic: String)
    case unsubscribe(topic: String)
    /// Fetch up to `limit` messages of `topic` that are older than `before`, or the newest ones.
    case loadHistory(topic: String, before: HistoryMark?, limit: Int)
    /// Hand a line to the core. `retryOf` is the id of the same line's earlier attempt, to be used again so that the
    /// network can tell a duplicate.
    case publish(LocalID, topic: String, text: String, retryOf: String?)

    // Postbox
    /// Fetch the person's postboxes, their counts, and subscribe to new letters.
    case openPostbox
    /// Count the letters again; several requests in a short time may be answered by one count.
    case countLetters
    /// Fetch a page of letters, of one postbox or of all.
    case listPage(request: UInt64, postbox: String?, token: String?, limit: Int)
    /// Delete one letter.
    case deleteMessage(request: UInt64, id: String)
    /// Delete letters, at most `Inbox.pageSize` at once.
    case bulkDelete(request: UInt64, ids: [String])
    case postLetter(LocalID, user: String, postbox: String, text: String)

    // Connection
    /// The person is here, or is not.
    case setActive(Bool)
    /// Try to connect at once rather than when the wait is over.
    case nudge
    case disconnect
    case reconnect

    // Process and terminal
    case suspendProcess
    case quit
    /// Paint the whole screen again.
    case redraw
    case bell
    /// Already free of controls.
    case setTitle(String)
}

/// Where older history begins.
struct HistoryMark: Hashable, Sendable {
    /// The oldest message that is known.
    let sequence: UInt64
    let time: Timestamp
}
