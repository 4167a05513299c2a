import Relay
import RelayLab
import Terminal

/// Everything that can happen to the interactive client: the terminal's input, the core's news, and the passing of
/// time.
enum ChatEvent: Equatable, Sendable {
    case front(ChatDestination)
    case inputElsewhere(InputEvent)
    case behindOthers
    /// The glances of all chats of the window, and this one's place.
    case others([ChatGlance], place: Int)
    /// The user quits from another chat of the window.
    case leave
    /// The client starts, with the topics to join; `keeps` if they wait for a local store to open.
    case start(topics: [String], keeps: Bool = false)
    /// The local store is open, with the user's earlier state; nil if it cannot be used.
    case opened(KeptDesk?)
    /// The current time. Sent before each batch of other events, and when `nextChange` is due. `isSign` if the user
    /// caused one of the batch, so that a user who has just returned does not count as away.
    case tick(Moment, isSign: Bool = false)
    case input(InputEvent)
    /// A complete line, in a session without a screen.
    case line(String)
    case resized(Size)
    /// The process is about to stop (SIGTSTP, or after `suspendProcess`).
    case suspending
    case resumed
    /// Whether a terminal is attached to the tmux or screen that the client runs in.
    case attached(Bool)
    case edited(TextEditor.Outcome)
    /// The methods by which a test notification was shown.
    case notified(by: [NotificationMethod])
    /// The user and network, once known.
    case identified(Identity)
    /// The largest text in bytes that the server accepts.
    case bounded(messageBytes: Int)
    /// The rights of the credentials; nil if the network has not reported them.
    case permitted(AccessRights?)
    case statusChanged(ConnectionStatus)
    /// Events of a joined topic or pattern, by its name as joined.
    case topic(String, [TopicEvent])
    case past(String, PastNews)
    /// The progress of the user's own message.
    case published(PublishNews)
    case postbox(PostboxNews)
    /// Answers about the user's own postboxes and sent letters.
    case postboxes(PostboxesNews)
    case people(topic: String, PresenceRoster)
    case search(SearchNews)
    case lab(LabNews)
    case configuration(ConfigurationNews)
    /// Whether news arrives faster than the screen can take it. It then lags, but nothing is lost.
    case behind(Bool)
    /// The answer to a request about keys, or a change of watched keys.
    case keys(String, isFailure: Bool)
    /// A sentence for the connection log.
    case log(String)
    /// A sentence for the user, such as a failure unrelated to anything on the screen.
    case notice(String, isFailure: Bool)

    enum PastNews: Equatable, Sendable {
        /// The topic's newest messages in the local store, before the network is asked.
        case kept(KeptTopic)
        /// The stored messages before those, back to the read mark.
        case keptUnread(KeptTopic)
        /// Stored messages before a place, the gaps between them, and whether the store has no older ones.
        case keptHistory([TopicMessage], gaps: [KeptGap], before: UInt64? = nil, isComplete: Bool = false)
        /// All messages before a place, the gaps between them, and whether they reach the stream's beginning.
        case history([TopicMessage], gaps: [KeptGap] = [], before: UInt64? = nil, isComplete: Bool)
        case historyFailed(RelayError)
    }

    enum LabNews: Equatable, Sendable {
        /// The connection goes through the proxy; with the acts that are unavailable here, and why.
        case opened([LabAct.Name: LabHindrance])
        case glance(LabReport)
        /// The lab has ended, and the connection is direct again.
        case over(LabReport)
        case failed(error: String)
        case refused(LabAct.Name, error: String)
    }

    enum ConfigurationNews: Equatable, Sendable {
        case changed(ChatSettings)
        /// Connection settings have changed, which take effect at the next start.
        case forNextStart
        /// The file has a mistake, described with file, line and column; the earlier settings stay in force.
        case refused(String)
        /// The file is valid again, and its settings are those in force.
        case mended
    }

    enum SearchNews: Equatable, Sendable {
        /// The matches, newest first, and whether there are no more. `asker` is the place of another chat of the window
        /// that asked; nil for this one.
        case found(request: UInt64, [FoundItem], isComplete: Bool, asker: Int? = nil)
        /// The answer of another network of the window.
        case foundElsewhere(request: UInt64, Search.Answer)
        /// Why there is no answer.
        case failed(request: UInt64, String, asker: Int? = nil)
        case around(request: UInt64, ExcerptPart)
        case aroundFailed(request: UInt64, String)
    }

    /// Answers about the user's own postboxes and sent letters, one for each effect.
    enum PostboxesNews: Equatable, Sendable {
        case listed([Postbox])
        /// A postbox was changed; with its new state, or the last one if it was deleted, and all postboxes, or nil if
        /// they could not be listed.
        case changed(PostboxAct, Postbox, all: [Postbox]?)
        case failed(PostboxAct, RelayError)
        case sent([KeptLetter])
        case sentFailed(String)
    }

    enum PostboxNews: Equatable, Sendable {
        case boxes([Postbox])
        /// The stored postboxes, nil if they were never listed, and the number of stored letters in each, by its id.
        case keptBoxes(KeptPostboxes?, counts: [String: Int])
        /// The network's current number of letters in each postbox, by its id.
        case counts([String: Int])
        /// Which of some letters were read, and how many in each postbox, by its id; nil if outdated.
        case read(Set<String>, counts: [String: Int]?)
        /// The answer to `listPage`.
        case page(request: UInt64, ListOutput<PostboxMessage>)
        case pageFailed(request: UInt64, RelayError)
        /// The answer to `listPage` from the local store, while offline.
        case keptPage(request: UInt64, KeptLetters)
        /// The answer to `readPortion`.
        case portion(request: UInt64, LetterPortion)
        case portionFailed(request: UInt64, RelayError)
        case created(PostboxMessage)
        /// The number of letters whose deletion has an outcome so far.
        case deleting(done: Int)
        case deleted(BulkDeletion)
        case saving(LetterFile.Outcome)
        case subscription(PlatformSubscriptionStatus)
    }
}

extension ChatEvent {
    /// Whether the user is waiting for it: the stored state at the start, and answers to requests.
    var isAnswer: Bool {
        switch self {
        case .opened, .search, .postboxes, .lab: true
        case .past(_, .keptUnread): false
        case .past: true
        // Read marks may lag behind the user.
        case .postbox(.page), .postbox(.pageFailed), .postbox(.keptPage), .postbox(.deleted), .postbox(.saving): true
        default: false
        }
    }
}
