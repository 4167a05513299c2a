/// What a key does. The configuration calls each by its name with dashes: `next-unread`.
enum KeyAction: String, Hashable, Sendable {
    // Everywhere
    case commands
    case help
    case quickSwitch
    case focusTopics
    case openPostbox
    case foldTopics
    case connectionLog
    case nextPane
    case previousPane
    case nextTopic
    case previousTopic
    case nextUnread
    case previousPlace
    case pageUp
    case pageDown
    case readWhole
    case redraw
    case suspend
    case interrupt
    case quit
    case escape
    case topic1
    case topic2
    case topic3
    case topic4
    case topic5
    case topic6
    case topic7
    case topic8
    case topic9

    // Compose
    case send
    case newLine
    case complete
    case completePrevious
    case edit

    // Editing a text, by readline's names where it has one
    case backwardChar
    case forwardChar
    case backwardWord
    case forwardWord
    case beginningOfLine
    case endOfLine
    case beginningOfText
    case endOfText
    case previousLine
    case nextLine
    case backwardDeleteChar
    case deleteChar
    case unixWordRubout
    case backwardKillWord
    case killWord
    case unixLineDiscard
    case killLine
    case yank
    case yankPop
    case transposeChars
    case transposeWords
    case upcaseWord
    case downcaseWord
    case capitalizeWord
    case yankLastArg
    case deleteHorizontalSpace
    case undoEdit
    case revertLine
    case reverseSearchHistory
    case forwardSearchHistory
    case characterSearch
    case characterSearchBackward
    case quotedInsert
    case digitArgument
    case negativeArgument

    // Lists and conversations
    case up
    case down
    case toBeginning
    case toEnd
    case open

    // Topics
    case moveUp
    case moveDown
    case changeOrder

    // Conversations
    case copy
    case quote
    case details
    case findPrevious
    case findNext
    case sendAgain
    case dropLine

    // Postbox
    case mark
    case markAll
    case delete
    case reply
    case write
    case markRange
    case unmarkAll
    case undo
    case nextPage
    case previousPage
    case firstPage
    case lastPage
    case refresh
    case filter
    case sortBy
    case forward
    case save
}
