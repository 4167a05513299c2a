import Relay
import Terminal

/// The state of the interactive client: the screen is a function of this and of the time. ``update(_:_:)`` changes it
/// in place; its parts are values.
///
/// Remote text is stored unchanged; only the views draw it, and only through `SafeText`.
final class ChatModel {
    var size: Size
    var now: Moment
    var zone: DisplayZone
    /// The current configuration; ``configure(_:)`` changes it.
    var settings = ChatSettings()
    var attention: Attention
    var network: NetworkState
    var screen = Screen()
    /// Its place among the chats of the window.
    var window = WindowPlace()
    var compose = Compose()
    /// The conversation of the text in the compose pane, and the texts begun elsewhere.
    var writing = Writing()
    var notices = Notices()
    /// The latest lists, whose numbers commands refer to.
    var listed = Listed()
    var lab: LabDesk?
    /// What was announced in a session without a screen; nil with a screen.
    var spoken: Spoken?
    private var lastNumber: UInt64 = 0
    /// The prefix of the ids of all messages written here.
    private let origin: String

    /// - Parameter origin: unique to each run of the program, so that ids do not recur.
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
        /// For `/sent`.
        var sent: [KeptLetter] = []
        /// For `/link`.
        var links: LinkList?
        /// For `/resend` and `/discard`.
        var unsent: UnsentList?
        /// Whether to list the postboxes as soon as the network has answered.
        var awaitsPostboxes = false
    }

    /// A number that is unique among this process's requests and lines.
    func newNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    func newMessage() -> (id: String, number: UInt64) {
        let number = newNumber()
        return ("\(origin)-\(number)", number)
    }

    /// Whether a message was written in this run of the program.
    func isOfThisRun(_ id: String) -> Bool { id.hasPrefix("\(origin)-") }

    /// Whether the user presumably sees the newest row in view.
    var isWatching: Bool {
        guard screen.overlay == nil, let name = lookedAt else { return false }
        return network.conversations.isAtBottom(name)
    }

    /// The unread messages in all topics that are not muted.
    var unreadMessages: Int { network.conversations.unread }

    /// The mentions among them.
    var unseenMentions: Int { network.conversations.unseenMentions }

    var unreadLetters: Int { network.inbox.unreadCount }
}
