import Relay
import Terminal

/// All that the interactive client knows: the screen is a function of this and of the time. ``update(_:_:)`` changes it
/// in place; its parts are values.
///
/// Remote text is kept as it came; only the views draw it, and only through the gate of `SafeText`.
final class ChatModel {
    var size: Size
    var now: Moment
    /// Whose wall clock is shown.
    var zone: DisplayZone
    /// What of the configuration counts now; ``configure(_:)`` changes it.
    var settings = ChatSettings()
    var attention: Attention
    var network: NetworkState
    var screen = Screen()
    /// Where it stands beside the chats of other networks.
    var window = WindowPlace()
    var compose = Compose()
    /// Where it is being written, and what is being written elsewhere.
    var writing = Writing()
    var notices = Notices()
    /// What was listed last, whose numbers count for commands.
    var listed = Listed()
    /// The lab; nil where it was not opened.
    var lab: LabDesk?
    /// What was said, where there is no screen; nil where there is one.
    var spoken: Spoken?
    private var lastNumber: UInt64 = 0
    /// What the ids of all messages written here begin with.
    private let origin: String

    /// - Parameter origin: different for each run of the program, so that no id comes twice.
    init(
        identity: Identity, size: Size, now: Moment, zone: DisplayZone = .local, status: ConnectionStatus,
        origin: String
    ) {
        self.origin = origin
        self.size = size
        self.now = now
        self.zone = zone
        attention = Attention(now: now.instant)
        network = NetworkState(identity: identity, status: status)
    }

    struct Listed: Equatable, Sendable {
        /// The sent letters, whose numbers count for `/sent`.
        var sent: [KeptLetter] = []
        /// The links, for `/link`.
        var links: LinkList?
        /// The unsent lines, for `/resend` and `/discard`.
        var unsent: UnsentList?
        /// Whether the postboxes are to be listed as soon as the network has told them.
        var awaitsPostboxes = false
    }

    /// A number that no other request or line of this process has.
    func newNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// A number for a message that is written now, and the id that it keeps.
    func newMessage() -> (id: String, number: UInt64) {
        let number = newNumber()
        return ("\(origin)-\(number)", number)
    }

    /// Whether a message was written in this run of the program.
    func isOfThisRun(_ id: String) -> Bool { id.hasPrefix("\(origin)-") }

    /// Whether the person can be taken to see the newest row of what is shown.
    var isWatching: Bool {
        guard screen.overlay == nil, let name = lookedAt else { return false }
        return network.conversations.isAtBottom(name)
    }

    /// Messages that came while their topic was out of view, in all topics that are not muted.
    var unreadMessages: Int { network.conversations.unread }

    /// Messages among these that call the person.
    var unseenMentions: Int { network.conversations.unseenMentions }

    var unreadLetters: Int { network.inbox.unreadCount }
}
