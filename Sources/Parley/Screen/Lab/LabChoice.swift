import Relay
import RelayLab
import Terminal

/// One thing that the lab can do to the chat's connection: a row of its list, with a key.
enum LabChoice: String, CaseIterable, Hashable, Sendable {
    // The link.
    case cut, restore, once, refuse, silence, loseSent, loseReceived, loseBoth, delay, jitter, throttle, split
    case halfClose, duplicate, reorder, drop
    // The server, and the administrator.
    case killServer, stopLeader, fillDisk, expire, revoke, kick, login, ban, block
    // The application.
    case background, connect

    struct Row: Sendable {
        /// The key in the tables. What only a network's administrator can do has a capital, so that nobody does it by a
        /// slip.
        let key: Key
        let title: String
        let words: String
        /// What is done, in its order. Of these, what can last lasts for the row's time.
        let acts: [LabAct]

        init(
            _ key: Character, _ title: String, _ words: String, _ acts: LabAct.Name...,
            with change: (inout LabAct) -> Void = { _ in }
        ) {
            (self.key, self.title, self.words) = (.plain(key), title, words)
            self.acts = acts.map { name in
                var act = LabAct(name)
                change(&act)
                return act
            }
        }
    }

    private static let rows = allCases.map(\.newRow)

    var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }

    private var row: Row { Self.rows[place] }
    var key: Key { row.key }
    var title: String { row.title }
    var words: String { row.words }
    var acts: [LabAct] { row.acts }

    /// What of it lasts; nil where nothing does, or the row itself ends it.
    var lasting: LabAct.Name? {
        acts.lazy.map(\.name).first { name in
            guard let opposite = name.opposite else { return false }
            return !acts.contains { $0.name == opposite }
        }
    }

    private var newRow: Row {
        switch self {
        case .cut: Row("c", "cut the link", "The connection is reset, and none can be made.", .refuse, .cut)
        case .restore: Row("r", "restore everything", "Every fault that lasts is over.", .restore)
        case .once: Row("x", "break it once", "The connection is reset; the next one works.", .cut)
        case .refuse:
            Row("f", "refuse new connections", "New connections are refused; the present one stays.", .refuse)
        case .silence: Row("n", "accept, say nothing", "Connections are taken, and nothing comes of them.", .silence)
        case .loseSent:
            Row("o", "lose what is sent", "Nothing that you send arrives, as behind a broken cable.", .blackhole) {
                $0.direction = .fromClient
            }
        case .loseReceived:
            Row("i", "lose what comes", "Nothing of the server arrives: a half-open connection.", .blackhole) {
                $0.direction = .fromServer
            }
        case .loseBoth: Row("b", "lose both ways", "Nothing arrives on either side, and nobody says so.", .blackhole)
        case .delay: Row("d", "delay by 300 ms", "All comes 300 ms late.", .delay) { $0.by = .milliseconds(300) }
        case .jitter:
            Row("j", "jitter up to 1 s", "All comes late, by up to a second as chance has it.", .delay) {
                ($0.by, $0.jitter) = (.zero, .seconds(1))
            }
        case .throttle: Row("t", "1 KiB a second", "1,024 bytes a second come through.", .throttle)
        case .split: Row("y", "byte by byte", "Each byte comes by itself.", .split)
        case .halfClose:
            Row("h", "half-close", "The server's side ends, yours stays open.", .halfClose) {
                $0.direction = .fromServer
            }
        case .duplicate: Row("u", "double a message", "The next message of a topic comes twice.", .duplicate)
        case .reorder:
            Row("v", "swap two messages", "The next message of a topic comes behind the one after it.", .reorder)
        case .drop: Row("z", "lose a message", "The next message of a topic does not come.", .drop)
        case .killServer:
            Row(
                "S", "kill the server", "The network's server dies; its host starts it again.", .killServer,
                .startServer)
        case .stopLeader:
            Row("L", "stop the leader", "The server of the cluster dies that leads the stream.", .stopLeader)
        case .fillDisk: Row("U", "fill its disk", "The network finds its disk full, and stores nothing.", .fillDisk)
        case .expire:
            Row("T", "end your access", "Your access to the network ends now.", .expire, with: Self.giveReason)
        case .revoke:
            Row(
                "R", "revoke the account", "Your account is deactivated, and activated again.", .revoke,
                with: Self.giveReason)
        case .kick: Row("K", "kick you", "An administrator ends your connection.", .kick, with: Self.giveReason)
        case .login:
            Row("D", "log in elsewhere", "You log in on another device, which displaces this one.", .login)
        case .ban: Row("B", "ban you", "You are banned, and the ban is lifted.", .ban, with: Self.giveReason)
        case .block:
            Row("P", "block everybody", "All users are kept out, you among them.", .block, with: Self.giveReason)
        case .background:
            Row("g", "go to background", "The chat is told that you are away, and suspends.", .background)
        case .connect:
            Row("w", "connect again", "The connection is left for a new one; after a kick, made again.", .connect)
        }
    }

    private static func giveReason(to act: inout LabAct) { act.reason = "a rehearsal" }
}

extension LabAct.Name {
    /// The row that stands for it unless another one has begun it; nil for what is in no row by itself.
    var choice: LabChoice? {
        switch self {
        case .cut: .once
        case .blackhole: .loseBoth
        // All others are called as their rows are, but for what another row ends, and what the chat's person does.
        default: LabChoice(rawValue: "\(self)")
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

    static func words(at place: Int) -> String { duration(at: place).map { Wording.length($0) } ?? "until restored" }
}
