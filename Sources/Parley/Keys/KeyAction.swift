/// What a key does outside the text being written.
enum KeyAction: Hashable, Sendable {
    // Everywhere
    case help
    case focusTopics
    case openPostbox
    case connectionLog
    case nextPane
    case previousPane
    case nextTopic
    case previousTopic
    case nextUnread
    case pageUp
    case pageDown
    case readWhole
    case redraw
    case suspend
    case interrupt
    case quit
    case escape

    // Compose
    case send
    case newLine

    // Lists and conversations
    case up
    case down
    case toBeginning
    case toEnd
    case open

    // Conversations
    case sendAgain
    case dropLine

    // Postbox
    case mark
    case markAll
    case delete
    case reply
    case write
    case nextPage
    case previousPage
    case refresh
}
