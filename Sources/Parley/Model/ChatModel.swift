import Relay
import Terminal

/// All that the interactive client knows: the screen is a function of this value and of the time.
///
/// Remote text is kept as it came; only the views draw it, and only through the gate of `SafeText`.
struct ChatModel: Equatable, Sendable {
    /// Who is signed in where.
    var identity: Identity
    /// The terminal's size.
    var size: Size
    /// What both clocks last said.
    var now: Moment
    /// Whose wall clock is shown.
    var zone: DisplayZone
    /// Whether the person is here, as far as the terminal knows.
    var attention = FocusTracker()
    /// Whether reports of the focus count, and how long nothing was done.
    var watchesPresence = true
    /// When the person last did something here; nil after a suspension.
    var lastInput: ContinuousClock.Instant? {
        didSet { if let lastInput { lastSign = lastInput } }
    }
    /// When there was a sign of the person last, a return for instance.
    var lastSign: ContinuousClock.Instant
    /// When the bell rang last.
    var lastBell: ContinuousClock.Instant?
    /// The time that the person was away, until they have seen what came in it; nil where they were not.
    var absence: Absence?
    /// What becomes of the connection while they are.
    var suspension = Suspension()
    /// The topics that are not followed until they are in view.
    var restingTopics: Set<String> = []
    /// Whether letters are not followed until the inbox is in view.
    var lettersRest = false
    /// What calls the person while they look elsewhere.
    var calls = CallPacer()
    /// What of the configuration counts now; ``configure(_:)`` changes it.
    var settings = ChatSettings()
    /// The keys of a chord that were pressed; more have to follow.
    var chord: [Key] = []
    /// The connection.
    var status: ConnectionStatus
    /// The joined topics.
    var conversations = ConversationList()
    /// The names, without the case of their letters, of those whose messages are hidden.
    var ignored: Set<String> = []
    /// The topics and patterns that the person has muted, beside those of the configuration.
    var mutes: [TopicPattern] = []
    /// Who is in the topic in view, and where others see this person.
    var people = People()
    /// Where others were told that this person types; nil where they know of nothing.
    var typing: ToldTyping?
    /// The postbox.
    var inbox = Inbox()
    /// The lab; nil where it was not opened.
    var lab: LabDesk?
    /// What the main pane shows.
    var view = MainView.welcome
    /// The places where the person was, the present one first.
    var visits: [Place] = []
    /// What the palette's commands were chosen last, the newest first.
    var choices: [PaletteItem.Target] = []
    /// The jump from one unread topic to the next, while the person is where it has led.
    var jump: Jump?
    /// What Escape leads back to, the last one first to come.
    var trail: [MainView] = []
    /// The message that the main pane's keys are for.
    var selection: Selection?
    /// The message that was selected when the text was begun, for a command that is meant for it.
    var selectionBeforeText: Selection?
    /// The message that a jump has led to: the keys begin there, until one is selected.
    var landing: Selection?
    /// What is looked for in the conversation in view.
    var find: Find?
    /// What was looked for when the text was begun, for a command that goes on with it.
    var findBeforeText: Find?
    /// The message that a search has led to.
    var found: FoundMark?
    /// Which part of the screen takes the keys.
    var focus = Focus.compose
    /// The sidebar's cursor and scroll.
    var sidebar = Sidebar()
    /// The text being written.
    var compose = Compose()
    /// Where it is being written, and what is being written elsewhere.
    var writing = Writing()
    /// What lies over the panes.
    var overlay: Overlay?
    /// The first steps; nil where they are done, or the person was here before.
    var tour: Tour?
    /// The sent letters that were listed last, whose numbers count for `/sent`.
    var listedSent: [KeptLetter] = []
    /// Answers about postboxes, sent letters and letters that are saved that are still to come.
    var awaitedAnswers = 0
    /// Whether the postboxes are to be listed as soon as the network has told them.
    var awaitsPostboxes = false
    /// The links that were listed last, whose numbers count for `/link`.
    var listedLinks: LinkList?
    /// The unsent lines that were listed last, whose numbers count for `/resend` and `/discard`.
    var listedUnsent: UnsentList?
    /// What was said, where there is no screen; nil where there is one.
    var spoken: Spoken?
    /// A sentence for the person, on the bottom line for a while.
    var notice: Notice?
    /// Bytes of text that a message can have.
    var messageBytes = Compose.messageBytes
    /// What the credentials may do; nil where the network has not said.
    var rights: AccessRights?
    /// What happened to the connection, newest last.
    var log = ConnectionLog()
    /// Own lines and letters that are with the client core, by their messages' ids.
    var outgoing: [String: Outgoing] = [:]
    /// Own lines on topics that are not joined, by topic; they are shown when it is.
    var unjoined: [String: [PendingLine]] = [:]
    /// What became of messages that are not known yet, while the local store is being opened.
    var early: [String: PublishNews] = [:]
    /// So many of them at most; the core's outbox has no more.
    static let earlyLimit = 10_000
    /// The last title given to the terminal.
    var title = ""
    /// What that was made of.
    var titleWords: TitleWords?
    /// Whether more comes than the screen can take.
    var isBehind = false
    /// What the person did that could not be done, newest last: it has nothing to do with the connection.
    var mistakes = NoteList()
    /// What requests about keys came to, newest last.
    var keyResults = NoteList()
    /// Whether what happens now answers to what the person did.
    var answersPerson = false
    /// Whether the text began behind Alt-/, which is how a terminal sends Escape and a slash that come together.
    var mayLackSlash = false
    /// What the text lacks of the end of the last paste.
    var omittedBreaks: OmittedBreaks?
    /// Whether ^C was pressed just now on an empty compose pane.
    var quitIsArmed = false
    /// When the present attempt to connect began; nil while none is under way.
    var attemptBegan: ContinuousClock.Instant?
    /// When the connection was lost that is not back yet, unless the person had it made anew.
    var lostAt: Moment?
    /// The last outage that is over, for the title; nil while there is none.
    var recovery: Recovery?
    /// When a key last asked for a connection attempt.
    var lastNudge: ContinuousClock.Instant?
    /// The topics that the person has named, while the local store is being opened; nil otherwise.
    var opening: [String]?
    /// Whether what the person is at is kept in the local store.
    var keepsDesk = false
    /// The text that is kept as the one being written.
    var keptDraft = ""
    private var lastNumber: UInt64 = 0
    /// What the ids of all messages written here begin with.
    private let origin: String

    /// - Parameter origin: different for each run of the program, so that no id comes twice.
    init(
        identity: Identity, size: Size, now: Moment, zone: DisplayZone = .local, status: ConnectionStatus,
        origin: String
    ) {
        self.origin = origin
        self.identity = identity
        self.size = size
        self.now = now
        self.zone = zone
        self.status = status
        // Somebody has started the program.
        lastSign = now.instant
        lastInput = now.instant
    }

    /// Who is signed in where.
    struct Identity: Hashable, Sendable {
        var user: String
        var network: String
        /// Whether the credentials name this user; without, others can have the same name.
        var isNamed = true

        /// The name under which this user's own lines come back; nil where it says nothing.
        var ownName: String? { isNamed && !user.isEmpty ? user : nil }
    }

    /// The sidebar's cursor and scroll, in rows of `sidebarRows`.
    struct Sidebar: Hashable, Sendable {
        var cursor = 0
        var firstVisible = 0
        /// Whether the person has folded it away, so that the main pane has its place until it has the keys, or has had
        /// it shown; nil for what the configuration says.
        var foldChoice: Bool?
    }

    /// A way from one unread topic to the next.
    struct Jump: Hashable, Sendable {
        /// Where it began; it ends there.
        let origin: Place
        /// Where it has led so far.
        let present: Place
    }

    /// What lies over the panes.
    enum Overlay: Equatable, Sendable {
        case help(scroll: Int)
        /// Who is in the topic in view.
        case people(scroll: Int)
        case listing(Listing)
        case log(LogScroll)
        case palette(Palette)
        case question(Question)
    }

    /// A sentence for the person.
    struct Notice: Hashable, Sendable {
        enum Kind: Hashable, Sendable { case information, failure }
        /// What a notice is about; when that is settled, the notice goes before its time.
        enum Subject: Hashable, Sendable {
            /// The state of the connection.
            case connection
            /// Loading older messages of a topic.
            case history(String)
            /// The configuration file.
            case configuration
            /// Keys and values.
            case keys
            /// A second ^C quits.
            case quitting
            /// What was typed cannot be done; it stands there to be mended.
            case mistake
            /// Something that happened once.
            case event
        }
        let kind: Kind
        let text: String
        let since: ContinuousClock.Instant
        /// When it goes away by itself.
        let until: ContinuousClock.Instant
        var subject = Subject.event
        /// Whether it answers to what the person has just done, so that they have looked for it.
        var isAnswer = false

        /// So long it stays whatever is typed, since it may have come while somebody was typing.
        static let readingTime = Duration.seconds(2)
        /// So long one stays at all that tells of a key what everybody sees who has pressed it.
        static let glance = Duration.seconds(2)
    }

    /// An outage that is over.
    struct Recovery: Hashable, Sendable {
        let lasted: Duration
        /// Until when the title tells of it.
        let until: ContinuousClock.Instant

        /// How long the title tells of it.
        static let time = Duration.seconds(8)

        /// How long the outage lasted; nil once the title tells of it no more.
        func shown(at now: ContinuousClock.Instant) -> Duration? { now < until ? lasted : nil }
    }

    /// What the client core is asked to deliver.
    struct Outgoing: Hashable, Sendable {
        enum Item: Hashable, Sendable {
            case line(conversation: String)
            case letter(user: String, postbox: String, subject: String?, text: String)
            case key(KeyValueRequest.Change)
        }

        let item: Item
        /// Whether the core has accepted it. Until then nothing keeps it, and it is counted nowhere.
        var isAccepted = true
    }

    /// A number that no other request or line of this process has.
    mutating func newNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// A number for a message that is written now, and the id that it keeps.
    mutating func newMessage() -> (id: String, number: UInt64) {
        let number = newNumber()
        return ("\(origin)-\(number)", number)
    }

    /// Adds to the connection log.
    mutating func note(_ text: String) { log.record(text, at: now) }

    /// Says something on the bottom line for a while. A failure can be read in the log from then on, or, where it
    /// answers to what the person did, in the list of what went wrong.
    ///
    /// - Parameter time: how long; nil for as long as suits its kind.
    mutating func say(
        _ text: String, _ kind: Notice.Kind = .information, about subject: Notice.Subject = .event,
        for time: Duration? = nil
    ) {
        let wait = time ?? (kind == .failure ? .seconds(12) : .seconds(6))
        notice = Notice(
            kind: kind, text: text, since: now.instant, until: now.instant.advanced(by: wait), subject: subject,
            isAnswer: answersPerson)
        guard kind == .failure else { return }
        if answersPerson || subject == .keys {
            mistakes.record(text, at: now.wall)
        } else if subject != .connection {
            // The log has the connection's own failures with its states.
            log.record(text, isFailure: true, at: now)
        }
    }

    /// Says what went wrong by itself, unless the person has just been told what became of something that they did:
    /// that stays as long as it takes to read it. The log has both.
    mutating func sayMeanwhile(_ text: String, about subject: Notice.Subject = .event) {
        guard hasScreen, let notice, notice.kind == .failure, notice.subject == .event,
            notice.since.duration(to: now.instant) < Notice.readingTime
        else { return say(text, .failure, about: subject) }
        if subject != .connection { log.record(text, isFailure: true, at: now) }
    }

    /// Whoever types on has read what stands on the bottom line, and the hints come back.
    mutating func passNotice() {
        guard let notice, notice.since.duration(to: now.instant) >= Notice.readingTime else { return }
        self.notice = nil
    }

    /// Whoever has gone on with the text has seen what they were just told of it; a failure stays for as long as it
    /// takes to read it.
    mutating func passAnswer() {
        guard let notice, notice.isAnswer, notice.kind == .information else { return }
        self.notice = nil
    }

    /// Takes away a notice whose subject is settled.
    mutating func withdrawNotice(about subject: Notice.Subject) {
        if notice?.subject == subject { notice = nil }
    }

    /// Whether the person can be taken to see the newest row of what is shown.
    var isWatching: Bool {
        guard attention.isForeground, overlay == nil, case .conversation(let name) = view else { return false }
        return conversations.named(name)?.scroll == .bottom
    }

    /// Lines, letters and changes of keys that the core has accepted, not yet on the network.
    var queuedCount: Int { outgoing.values.count(where: \.isAccepted) }

    /// Messages that came while their topic was out of view, in all topics that are not muted.
    var unreadMessages: Int { conversations.unread }

    /// Messages among these that call the person.
    var unseenMentions: Int { conversations.unseenMentions }

    /// Letters in the postboxes that were not read.
    var unreadLetters: Int { inbox.unreadCount }

    /// When the screen changes by time alone; nil when it does not.
    func nextChange(after instant: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var next: ContinuousClock.Instant?
        if let notice, notice.until > instant { next = notice.until }
        if let retry = status.nextRetryAt, retry > instant {
            // A countdown of whole seconds changes where a whole number of seconds is left.
            let left = instant.duration(to: retry)
            let whole = left.components.attoseconds == 0 ? left - .seconds(1) : .seconds(left.components.seconds)
            let tick = retry.advanced(by: .zero - whole)
            next = next.map { min($0, tick) } ?? tick
        }
        if let due = absence?.due, due > instant { next = next.map { min($0, due) } ?? due }
        if let due = idleDue, due > instant { next = next.map { min($0, due) } ?? due }
        if let due = calls.due, due > instant { next = next.map { min($0, due) } ?? due }
        if let tick = inbox.deletion.nextChange(after: instant) {
            next = next.map { min($0, tick) } ?? tick
        }
        if let tick = nextAge(after: instant) { next = next.map { min($0, tick) } ?? tick }
        if let end = recovery?.until, end > instant { next = next.map { min($0, end) } ?? end }
        let outageBegan = status.isLongOutage ? status.outageBegan : nil
        for began in [outageBegan, attemptBegan, status.silentSince].compactMap(\.self) {
            let tick = instant.advanced(by: Wording.untilElapsedChanges(began.duration(to: instant)))
            next = next.map { min($0, tick) } ?? tick
        }
        return next
    }
}
