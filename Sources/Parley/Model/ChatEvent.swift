import Relay
import RelayLab
import Terminal

/// Everything that can happen to the interactive client: the terminal's input, the core's news, and the passing of
/// time.
enum ChatEvent: Equatable, Sendable {
    /// The chat comes in front, before the others of its window.
    case front(ChatDestination)
    /// The person does something in front of another chat of the window.
    case inputElsewhere(InputEvent)
    case behindOthers
    /// What all chats of the window show of themselves, and the place of this one.
    case others([ChatGlance], place: Int)
    /// The window is to be closed, as the person has said in front of another one.
    case leave
    /// The client starts, with the topics to join; where there is a local store, once that is open.
    case start(topics: [String], keeps: Bool = false)
    /// The local store is open, with what the person was at; nil where it cannot be used.
    case opened(KeptDesk?)
    /// Both clocks, now. The session sends it before each batch of other events, and when `nextChange` is due. A sign
    /// is that something in the batch is the person's doing, so that nobody is away who has just come back.
    case tick(Moment, isSign: Bool = false)
    case input(InputEvent)
    /// A whole line, of somebody without a screen.
    case line(String)
    case resized(Size)
    /// The process is about to stop (SIGTSTP, or after `suspendProcess`).
    case suspending
    case resumed
    /// A terminal was attached to tmux or screen, in which the client runs, or none is any more.
    case attached(Bool)
    case edited(TextEditor.Outcome)
    /// By what the terminal was given a notification that was a test.
    case notified(by: [NotificationMethod])
    /// Who is signed in where, once it is known.
    case identified(Identity)
    /// The largest text in bytes that the server takes.
    case bounded(messageBytes: Int)
    /// What the credentials may do; nil where the network has not said.
    case permitted(AccessRights?)
    case statusChanged(ConnectionStatus)
    /// What the subscription of one joined topic or pattern tells, by its name as joined.
    case topic(String, [TopicEvent])
    /// What is found of its past.
    case past(String, PastNews)
    /// Where an own line or letter is on its way.
    case published(PublishNews)
    case postbox(PostboxNews)
    /// What became of what was asked about the person's own postboxes, and of sent letters.
    case postboxes(PostboxesNews)
    case people(topic: String, PresenceRoster)
    case search(SearchNews)
    case lab(LabNews)
    case configuration(ConfigurationNews)
    /// Whether more comes than the screen can take; it lags behind then, and loses nothing.
    case behind(Bool)
    /// What a request about keys came to, or what happened to keys that are watched.
    case keys(String, isFailure: Bool)
    /// A sentence for the connection log.
    case log(String)
    /// A sentence for the person, such as a failure that belongs to nothing on the screen.
    case notice(String, isFailure: Bool)

    enum PastNews: Equatable, Sendable {
        /// What the local store has of the topic, before anything is asked of the network.
        case kept(KeptTopic)
        /// What the local store has before that, back to what was read.
        case keptUnread(KeptTopic)
        /// Messages before a place that the local store has, what is missing between them, and whether it has no older
        /// ones.
        case keptHistory([TopicMessage], gaps: [KeptGap], before: UInt64? = nil, isComplete: Bool = false)
        /// All messages before a place, what is missing between them, and whether they reach the stream's beginning.
        case history([TopicMessage], gaps: [KeptGap] = [], before: UInt64? = nil, isComplete: Bool)
        case historyFailed(RelayError)
    }

    enum LabNews: Equatable, Sendable {
        /// The connection goes through the proxy. What cannot be done here, and why.
        case opened([LabAct.Name: LabHindrance])
        case glance(LabReport)
        /// It is over, and the connection goes to the server itself again.
        case over(LabReport)
        /// It could not be begun, in the error's own words.
        case failed(error: String)
        /// Something could not be done.
        case refused(LabAct.Name, error: String)
    }

    enum ConfigurationNews: Equatable, Sendable {
        /// It says something else of what the chat goes by.
        case changed(ChatSettings)
        /// It says something else of the connection, which counts from the next start on.
        case forNextStart
        /// It has a mistake, named with file, line and column; what counted before still does.
        case refused(String)
        /// It has no mistake any more, and says what counted before.
        case mended
    }

    /// Answers of the local store to a search.
    enum SearchNews: Equatable, Sendable {
        /// A portion, the newest first, and whether there is no more. The asker is the place of another chat of the
        /// window that has asked for it; nil for the chat itself.
        case found(request: UInt64, [FoundItem], isComplete: Bool, asker: Int? = nil)
        /// What another network of the window has of it.
        case foundElsewhere(request: UInt64, Search.Answer)
        /// Why there is none.
        case failed(request: UInt64, String, asker: Int? = nil)
        case around(request: UInt64, ExcerptPart)
        case aroundFailed(request: UInt64, String)
    }

    /// Answers about the person's own postboxes, and about sent letters: one for each effect.
    enum PostboxesNews: Equatable, Sendable {
        case listed([Postbox])
        /// One was changed: as it is now, or was before it was deleted, and all that there are; nil
        /// where the network has not said that any more.
        case changed(PostboxAct, Postbox, all: [Postbox]?)
        case failed(PostboxAct, RelayError)
        /// The letters that were sent from here, the newest first.
        case sent([KeptLetter])
        /// Why they are not known.
        case sentFailed(String)
    }

    enum PostboxNews: Equatable, Sendable {
        case boxes([Postbox])
        /// What this machine keeps of them, nil where the network has never told them, and how many letters of each it
        /// keeps, by its id.
        case keptBoxes(KeptPostboxes?, counts: [String: Int])
        /// Letters in each postbox by its id, as the network counts them now.
        case counts([String: Int])
        /// Which of some letters were read earlier, and how many of each postbox by its id; nil where that has changed.
        case read(Set<String>, counts: [String: Int]?)
        /// The page that `listPage` asked for.
        case page(request: UInt64, ListOutput<PostboxMessage>)
        case pageFailed(request: UInt64, RelayError)
        /// The page that `listPage` asked for, as far as this machine keeps it: the network cannot be asked.
        case keptPage(request: UInt64, KeptLetters)
        /// The letters that `readPortion` asked for.
        case portion(request: UInt64, LetterPortion)
        case portionFailed(request: UInt64, RelayError)
        /// A letter was just created.
        case created(PostboxMessage)
        /// Of so many of the letters that `delete` was asked for it is known what became of them.
        case deleting(done: Int)
        case deleted(BulkDeletion)
        case saving(LetterFile.Outcome)
        /// The subscription to new letters.
        case subscription(PlatformSubscriptionStatus)
    }
}

extension ChatEvent {
    /// Whether a person waits for it: what is kept, when the client opens, and the answers to what was asked for.
    var isAnswer: Bool {
        switch self {
        case .opened, .search, .postboxes, .lab: true
        case .past(_, .keptUnread): false
        case .past: true
        // Letters are marked behind what the person does.
        case .postbox(.page), .postbox(.pageFailed), .postbox(.keptPage), .postbox(.deleted), .postbox(.saving): true
        default: false
        }
    }
}
