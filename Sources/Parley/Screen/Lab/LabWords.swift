import RelayLab

/// The lab's words on the screen: of its rows, keys and messages. The timeline, the final ledger and the findings use
/// the words of every report, which are in `RelayLab`.
enum LabWords {
    static let pane = "Lab"

    // MARK: What the pane shows

    static func heading(of phase: LabDesk.Phase, elapsed: String, seed: UInt64?) -> String {
        let seed = seed.map { " ─ seed \($0)" } ?? ""
        return switch phase {
        case .opening: "lab ─ connecting through the proxy …"
        case .running: "lab ─ \(elapsed)\(seed)"
        case .ending: "lab ─ waiting for messages in flight …"
        case .over: "lab ─ the ledger\(seed)"
        case .failed: "lab"
        }
    }

    static func moreBelow(_ heading: String, rows: Int) -> String { "\(heading) ─ \(rows) more below" }
    static func below(_ rows: Int) -> String { "↓ \(rows) below" }

    static let notHere = "not here"
    static let untilRestored = "until restored"
    static let lastsUntilRestored = "● until restored"
    static func lasts(_ time: String) -> String { "● \(time) more" }

    static let sent = "sent"
    static let stored = "stored"
    static let received = "received"
    static let recovered = "recovered"
    static let underWay = "under way"
    static let twice = "twice"
    static let outOfOrder = "out of order"
    static let notSent = "not sent"

    static let notAccountedFor = "✗ Not everything is accounted for."
    static let nothingWasSent = "✓ Nothing was sent."
    static let accountedFor = "✓ Every message is accounted for."

    // MARK: What is asked and said

    static let question = "Put this chat's connection behind the lab?"
    static let needsScreen = "The lab needs a screen. In a shell, parley lab run rehearses on a network of its own."
    static let needsConnection = "The lab needs a connection. One moment."
    static let isOpening = "One moment: the connection is being put behind the lab."
    static let isNotOpen = "The lab is not open."
    static let needsTopic = "Open a topic before the lab to write there."

    static func cannotBeOpened(_ error: String) -> String { "The lab cannot be opened. \(error)" }

    static func couldNotBeDone(_ act: LabAct.Name, _ error: String) -> String {
        "“\(act.rawValue)” could not be done: \(error)"
    }

    /// - Parameter connects: the key that connects again.
    static func restoresNoEnd(connects key: String) -> String {
        "The connection was ended, which is no fault that lasts: \(key) connects again."
    }

    /// - Parameter shows: the key that shows the lab; nil for none.
    static func isOver(shows key: String?) -> String {
        key.map { "The lab is over; \($0) shows the ledger." } ?? "The lab is over."
    }

    /// - Parameter leaves: the key that goes to the text; nil for none.
    static func isNoKey(_ pressed: String, leaves key: String?) -> String {
        key.map { "\(pressed) is no key of the lab; \($0) goes to the text." } ?? "\(pressed) is no key of the lab."
    }

    static let neverOpen = "There is nothing to save: the lab was not open."
    static let nothingToSave = "There is nothing to save yet."
    static let nothingDone = "Nothing was done in the lab yet."
    static let textIsInTheWay = "The text is not empty: send or clear it, then save."
    static let savesThere = "Enter saves it; edit the path to save elsewhere."

    /// The reason that the network gives for an administrator's act.
    static let reason = "a rehearsal"
}

extension LabHindrance {
    var words: String {
        switch self {
        case .needsAdministrator:
            "Not here: Parley did not start this network; its administrator can do that."
        case .needsCluster:
            "Not here: this network has one server. parley network cluster start runs three, for --profile cluster."
        case .sessionsAreShared:
            "Not here: session: 'take-over' in the profile makes another login displace this one."
        }
    }
}

extension LabPane.Action {
    var words: String {
        switch self {
        case .choice(let choice): choice.title
        case .end: "end it: everything restored, and the ledger"
        case .longer: "let the selected fault last longer"
        case .shorter: "shorten the selected fault"
        case .save: "keep what was done as a scenario's file"
        case .open: "do what is selected; after the end, begin again"
        case .escape: "go back; the lab stays on until it is ended"
        case .up: "up"
        case .down: "down"
        case .toBeginning: "the first"
        case .toEnd: "the last"
        }
    }

    /// The words on the bottom line; nil for keys that are not hinted.
    var hint: String? {
        switch self {
        case .choice(.cut): "cut"
        case .choice(.restore): "restore"
        case .end: "end, ledger"
        case .longer: "longer"
        case .save: "save"
        case .escape: "back"
        case .choice, .shorter, .open, .up, .down, .toBeginning, .toEnd: nil
        }
    }
}

extension LabChoice {
    var title: String { text.title }
    /// What it does; shown below the list while it is selected.
    var words: String { text.words }

    private var text: (title: String, words: String) {
        switch self {
        case .cut: ("cut the link", "The connection is reset, and none can be made.")
        case .restore: ("restore everything", "Every lasting fault ends.")
        case .once: ("break it once", "The connection is reset; the next one works.")
        case .refuse: ("refuse new connections", "New connections are refused; the present one stays.")
        case .silence: ("accept, say nothing", "Connections are accepted, but get no answer.")
        case .loseSent: ("lose what is sent", "Nothing that you send arrives, as with a broken cable.")
        case .loseReceived: ("lose what comes", "Nothing from the server arrives: a half-open connection.")
        case .loseBoth: ("lose both ways", "Nothing arrives on either side, and no error is reported.")
        case .delay: ("delay by 300 ms", "Everything arrives 300 ms late.")
        case .jitter: ("jitter up to 1 s", "Everything arrives up to a second late, at random.")
        case .throttle: ("1 KiB a second", "1,024 bytes a second get through.")
        case .split: ("byte by byte", "Each byte arrives alone.")
        case .halfClose: ("half-close", "The server's side ends, yours stays open.")
        case .duplicate: ("double a message", "The next message of a topic arrives twice.")
        case .reorder: ("swap two messages", "The next message of a topic arrives after the one that follows it.")
        case .drop: ("lose a message", "The next message of a topic does not arrive.")
        case .killServer: ("kill the server", "The network's server dies; its host starts it again.")
        case .stopLeader: ("stop the leader", "The cluster's server that leads the stream dies.")
        case .fillDisk: ("fill its disk", "The network finds its disk full, and stores nothing.")
        case .expire: ("end your access", "Your access to the network ends now.")
        case .revoke: ("revoke the account", "Your account is deactivated, and activated again.")
        case .kick: ("kick you", "An administrator ends your connection.")
        case .login: ("log in elsewhere", "You log in on another device, which displaces this one.")
        case .ban: ("ban you", "You are banned, and the ban is lifted.")
        case .block: ("block everybody", "All users are kept out, you among them.")
        case .background: ("go to background", "The chat is told that you are away, and suspends.")
        case .connect: ("connect again", "Drops the connection for a new one; after a kick, connects again.")
        }
    }
}
