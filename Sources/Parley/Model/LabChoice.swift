import Relay
import RelayLab
import Terminal

/// One thing that the lab can do to the chat's connection: a row of its list, with a key.
enum LabChoice: Int, CaseIterable, Hashable, Sendable {
    // The link.
    case cut
    case restore
    case once
    case refuse
    case silence
    case loseSent
    case loseReceived
    case loseBoth
    case delay
    case jitter
    case throttle
    case split
    case halfClose
    case duplicate
    case reorder
    case drop
    // The server, and the administrator.
    case killServer
    case stopLeader
    case fillDisk
    case expire
    case revoke
    case kick
    case login
    case ban
    case block
    // The application.
    case background
    case connect

    /// The key's action.
    var action: KeyAction {
        switch self {
        case .cut: .labCut
        case .restore: .labRestore
        case .once: .labOnce
        case .refuse: .labRefuse
        case .silence: .labSilence
        case .loseSent: .labLoseSent
        case .loseReceived: .labLoseReceived
        case .loseBoth: .labLoseBoth
        case .delay: .labDelay
        case .jitter: .labJitter
        case .throttle: .labThrottle
        case .split: .labSplit
        case .halfClose: .labHalfClose
        case .duplicate: .labDuplicate
        case .reorder: .labReorder
        case .drop: .labDrop
        case .killServer: .labKillServer
        case .stopLeader: .labStopLeader
        case .fillDisk: .labFillDisk
        case .expire: .labExpire
        case .revoke: .labRevoke
        case .kick: .labKick
        case .login: .labLogin
        case .ban: .labBan
        case .block: .labBlock
        case .background: .labBackground
        case .connect: .labConnect
        }
    }

    init?(_ action: KeyAction) {
        guard let choice = Self.allCases.first(where: { $0.action == action }) else { return nil }
        self = choice
    }

    /// The key in the tables. What only a network's administrator can do has a capital, so that nobody does it by a
    /// slip.
    var key: Key {
        switch self {
        case .cut: .plain("c")
        case .restore: .plain("r")
        case .once: .plain("x")
        case .refuse: .plain("f")
        case .silence: .plain("n")
        case .loseSent: .plain("o")
        case .loseReceived: .plain("i")
        case .loseBoth: .plain("b")
        case .delay: .plain("d")
        case .jitter: .plain("j")
        case .throttle: .plain("t")
        case .split: .plain("y")
        case .halfClose: .plain("h")
        case .duplicate: .plain("u")
        case .reorder: .plain("v")
        case .drop: .plain("z")
        case .killServer: .plain("S")
        case .stopLeader: .plain("L")
        case .fillDisk: .plain("U")
        case .expire: .plain("T")
        case .revoke: .plain("R")
        case .kick: .plain("K")
        case .login: .plain("D")
        case .ban: .plain("B")
        case .block: .plain("P")
        case .background: .plain("g")
        case .connect: .plain("w")
        }
    }

    /// What the row says.
    var title: String {
        switch self {
        case .cut: "cut the link"
        case .restore: "restore everything"
        case .once: "break it once"
        case .refuse: "refuse new connections"
        case .silence: "accept, say nothing"
        case .loseSent: "lose what is sent"
        case .loseReceived: "lose what comes"
        case .loseBoth: "lose both ways"
        case .delay: "delay by 300 ms"
        case .jitter: "jitter up to 1 s"
        case .throttle: "1 KiB a second"
        case .split: "byte by byte"
        case .halfClose: "half-close"
        case .duplicate: "double a message"
        case .reorder: "swap two messages"
        case .drop: "lose a message"
        case .killServer: "kill the server"
        case .stopLeader: "stop the leader"
        case .fillDisk: "fill its disk"
        case .expire: "end your access"
        case .revoke: "revoke the account"
        case .kick: "kick you"
        case .login: "log in elsewhere"
        case .ban: "ban you"
        case .block: "block everybody"
        case .background: "go to background"
        case .connect: "connect again"
        }
    }

    /// What it does, in a sentence.
    var words: String {
        switch self {
        case .cut: "The connection is reset, and none can be made."
        case .restore: "Every fault that lasts is over."
        case .once: "The connection is reset; the next one works."
        case .refuse: "New connections are refused; the present one stays."
        case .silence: "Connections are taken, and nothing comes of them."
        case .loseSent: "Nothing that you send arrives, as behind a broken cable."
        case .loseReceived: "Nothing of the server arrives: a half-open connection."
        case .loseBoth: "Nothing arrives on either side, and nobody says so."
        case .delay: "All comes 300 ms late."
        case .jitter: "All comes late, by up to a second as chance has it."
        case .throttle: "1,024 bytes a second come through."
        case .split: "Each byte comes by itself."
        case .halfClose: "The server's side ends, yours stays open."
        case .duplicate: "The next message of a topic comes twice."
        case .reorder: "The next message of a topic comes behind the one after it."
        case .drop: "The next message of a topic does not come."
        case .killServer: "The network's server dies; its host starts it again."
        case .stopLeader: "The server of the cluster dies that leads the stream."
        case .fillDisk: "The network finds its disk full, and stores nothing."
        case .expire: "Your access to the network ends now."
        case .revoke: "Your account is deactivated, and activated again."
        case .kick: "An administrator ends your connection."
        case .login: "You log in on another device, which displaces this one."
        case .ban: "You are banned, and the ban is lifted."
        case .block: "All users are kept out, you among them."
        case .background: "The chat is told that you are away, and suspends."
        case .connect: "The connection is left for a new one; after a kick, made again."
        }
    }

    /// What is done, in its order. Of these, what can last lasts for the row's time.
    var acts: [LabAct] {
        var act = LabAct(name)
        switch self {
        case .cut: return [act, LabAct(.cut)]
        case .restore: return [LabAct(.restore)]
        case .loseSent: act.direction = .fromClient
        case .loseReceived: act.direction = .fromServer
        case .halfClose: act.direction = .fromServer
        case .delay: act.by = .milliseconds(300)
        case .jitter: (act.by, act.jitter) = (.zero, .seconds(1))
        case .killServer: return [act, LabAct(.startServer)]
        case .expire, .revoke, .kick, .ban, .block: act.reason = "a rehearsal"
        case .once, .refuse, .silence, .loseBoth, .throttle, .split, .duplicate, .reorder, .drop, .stopLeader,
            .fillDisk, .login, .background, .connect:
            break
        }
        return [act]
    }

    private var name: LabAct.Name {
        switch self {
        case .cut, .refuse: .refuse
        case .restore: .restore
        case .once: .cut
        case .silence: .silence
        case .loseSent, .loseReceived, .loseBoth: .blackhole
        case .delay, .jitter: .delay
        case .throttle: .throttle
        case .split: .split
        case .halfClose: .halfClose
        case .duplicate: .duplicate
        case .reorder: .reorder
        case .drop: .drop
        case .killServer: .killServer
        case .stopLeader: .stopLeader
        case .fillDisk: .fillDisk
        case .expire: .expire
        case .revoke: .revoke
        case .kick: .kick
        case .login: .login
        case .ban: .ban
        case .block: .block
        case .background: .background
        case .connect: .connect
        }
    }

    /// What of it lasts; nil where nothing does, or not as long as one likes.
    var lasting: LabAct.Name? {
        switch self {
        case .restore, .killServer: nil
        default: name.opposite == nil ? nil : name
        }
    }
}

/// How long a fault of the lab lasts: lengths that are gone through by two keys.
enum LabLengths {
    /// In seconds; behind the last one, until it is restored.
    private static let seconds = [1, 2, 5, 10, 20, 30, 60, 120, 300]
    /// The place of the length that a row has at first: what hinders a person is over by itself.
    static let first = 3
    /// The place of what lasts until it is restored.
    static let endless = seconds.count

    /// The length at a place; nil for what lasts until it is restored.
    static func duration(at place: Int) -> Duration? {
        seconds.indices.contains(place) ? .seconds(seconds[place]) : nil
    }

    /// What a row says of it.
    static func words(at place: Int) -> String { duration(at: place).map { Wording.length($0) } ?? "until restored" }
}
