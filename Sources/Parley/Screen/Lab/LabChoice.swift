import Relay
import RelayLab
import Terminal

/// One thing that the lab can do to the chat's connection: a row of its list, with a key.
enum LabChoice: String, CaseIterable, Hashable, Sendable {
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

    /// What there is to know of a row.
    struct Row: Sendable {
        /// The key in the tables. What only a network's administrator can do has a capital, so that nobody does it by a
        /// slip.
        let key: Key
        let title: String
        /// What it does, in a sentence.
        let words: String
        /// What is done, in its order. Of these, what can last lasts for the row's time.
        let acts: [LabAct]

        init(_ key: Character, _ title: String, _ words: String, _ acts: LabAct...) {
            (self.key, self.title, self.words, self.acts) = (.plain(key), title, words, acts)
        }
    }

    private static let rows = allCases.map(\.newRow)

    /// Its place in the list.
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
        func act(_ name: LabAct.Name, _ change: (inout LabAct) -> Void = { _ in }) -> LabAct {
            var act = LabAct(name)
            change(&act)
            return act
        }
        return switch self {
        case .cut:
            Row("c", "cut the link", "The connection is reset, and none can be made.", act(.refuse), act(.cut))
        case .restore: Row("r", "restore everything", "Every fault that lasts is over.", act(.restore))
        case .once: Row("x", "break it once", "The connection is reset; the next one works.", act(.cut))
        case .refuse:
            Row(
                "f", "refuse new connections", "New connections are refused; the present one stays.",
                act(.refuse))
        case .silence:
            Row(
                "n", "accept, say nothing", "Connections are taken, and nothing comes of them.",
                act(.silence))
        case .loseSent:
            Row(
                "o", "lose what is sent", "Nothing that you send arrives, as behind a broken cable.",
                act(.blackhole) { $0.direction = .fromClient })
        case .loseReceived:
            Row(
                "i", "lose what comes", "Nothing of the server arrives: a half-open connection.",
                act(.blackhole) { $0.direction = .fromServer })
        case .loseBoth:
            Row(
                "b", "lose both ways", "Nothing arrives on either side, and nobody says so.",
                act(.blackhole))
        case .delay:
            Row("d", "delay by 300 ms", "All comes 300 ms late.", act(.delay) { $0.by = .milliseconds(300) })
        case .jitter:
            Row(
                "j", "jitter up to 1 s", "All comes late, by up to a second as chance has it.",
                act(.delay) { ($0.by, $0.jitter) = (.zero, .seconds(1)) })
        case .throttle: Row("t", "1 KiB a second", "1,024 bytes a second come through.", act(.throttle))
        case .split: Row("y", "byte by byte", "Each byte comes by itself.", act(.split))
        case .halfClose:
            Row(
                "h", "half-close", "The server's side ends, yours stays open.",
                act(.halfClose) { $0.direction = .fromServer })
        case .duplicate:
            Row("u", "double a message", "The next message of a topic comes twice.", act(.duplicate))
        case .reorder:
            Row(
                "v", "swap two messages", "The next message of a topic comes behind the one after it.",
                act(.reorder))
        case .drop: Row("z", "lose a message", "The next message of a topic does not come.", act(.drop))
        case .killServer:
            Row(
                "S", "kill the server", "The network's server dies; its host starts it again.",
                act(.killServer), act(.startServer))
        case .stopLeader:
            Row(
                "L", "stop the leader", "The server of the cluster dies that leads the stream.",
                act(.stopLeader))
        case .fillDisk:
            Row(
                "U", "fill its disk", "The network finds its disk full, and stores nothing.",
                act(.fillDisk))
        case .expire:
            Row(
                "T", "end your access", "Your access to the network ends now.",
                act(.expire) { $0.reason = "a rehearsal" })
        case .revoke:
            Row(
                "R", "revoke the account", "Your account is deactivated, and activated again.",
                act(.revoke) { $0.reason = "a rehearsal" })
        case .kick:
            Row(
                "K", "kick you", "An administrator ends your connection.",
                act(.kick) { $0.reason = "a rehearsal" })
        case .login:
            Row(
                "D", "log in elsewhere", "You log in on another device, which displaces this one.",
                act(.login))
        case .ban:
            Row(
                "B", "ban you", "You are banned, and the ban is lifted.",
                act(.ban) { $0.reason = "a rehearsal" })
        case .block:
            Row(
                "P", "block everybody", "All users are kept out, you among them.",
                act(.block) { $0.reason = "a rehearsal" })
        case .background:
            Row(
                "g", "go to background", "The chat is told that you are away, and suspends.",
                act(.background))
        case .connect:
            Row(
                "w", "connect again", "The connection is left for a new one; after a kick, made again.",
                act(.connect))
        }
    }
}

extension LabAct.Name {
    /// The row that stands for it unless another one has begun it; nil for what is in no row by itself.
    var choice: LabChoice? {
        switch self {
        case .cut: .once
        case .refuse: .refuse
        case .silence: .silence
        case .blackhole: .loseBoth
        case .delay: .delay
        case .throttle: .throttle
        case .split: .split
        case .halfClose: .halfClose
        case .duplicate: .duplicate
        case .reorder: .reorder
        case .drop: .drop
        case .restore: .restore
        case .killServer: .killServer
        case .stopLeader: .stopLeader
        case .fillDisk: .fillDisk
        case .kick: .kick
        case .ban: .ban
        case .revoke: .revoke
        case .expire: .expire
        case .block: .block
        case .login: .login
        case .connect: .connect
        case .background: .background
        // A row's time, `restore` or the row itself ends what these end.
        case .startServer, .startLeader, .freeDisk, .unban, .readmit, .extend, .unblock, .foreground: nil
        // The chat's person does these.
        case .close, .send, .pause, .read: nil
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
