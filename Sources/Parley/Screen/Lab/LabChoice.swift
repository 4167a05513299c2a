import Relay
import RelayLab
import Terminal

/// A row in the lab's list: something that it can do to the chat's connection, with a key.
enum LabChoice: String, CaseIterable, Hashable, Sendable {
    // The link.
    case cut, restore, once, refuse, silence, loseSent, loseReceived, loseBoth, delay, jitter, throttle, split
    case halfClose, duplicate, reorder, drop
    // The server, and the administrator.
    case killServer, stopLeader, fillDisk, expire, revoke, kick, login, ban, block
    // The application.
    case background, connect

    struct Row: Sendable {
        /// The key in the tables. What only a network's administrator can do has a capital, so that it is not done by a
        /// slip.
        let key: Key
        /// The acts, in order. Those that can last do so for the row's time.
        let acts: [LabAct]

        init(_ key: Character, _ acts: LabAct.Name..., with change: (inout LabAct) -> Void = { _ in }) {
            self.key = .plain(key)
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
    var acts: [LabAct] { row.acts }

    /// The act that lasts; nil if none does, or the row itself ends it.
    var lasting: LabAct.Name? {
        acts.lazy.map(\.name).first { name in
            guard let opposite = name.opposite else { return false }
            return !acts.contains { $0.name == opposite }
        }
    }

    private var newRow: Row {
        switch self {
        case .cut: Row("c", .refuse, .cut)
        case .restore: Row("r", .restore)
        case .once: Row("x", .cut)
        case .refuse: Row("f", .refuse)
        case .silence: Row("n", .silence)
        case .loseSent: Row("o", .blackhole) { $0.direction = .fromClient }
        case .loseReceived: Row("i", .blackhole) { $0.direction = .fromServer }
        case .loseBoth: Row("b", .blackhole)
        case .delay: Row("d", .delay) { $0.by = .milliseconds(300) }
        case .jitter: Row("j", .delay) { ($0.by, $0.jitter) = (.zero, .seconds(1)) }
        case .throttle: Row("t", .throttle)
        case .split: Row("y", .split)
        case .halfClose: Row("h", .halfClose) { $0.direction = .fromServer }
        case .duplicate: Row("u", .duplicate)
        case .reorder: Row("v", .reorder)
        case .drop: Row("z", .drop)
        case .killServer: Row("S", .killServer, .startServer)
        case .stopLeader: Row("L", .stopLeader)
        case .fillDisk: Row("U", .fillDisk)
        case .expire: Row("T", .expire, with: Self.giveReason)
        case .revoke: Row("R", .revoke, with: Self.giveReason)
        case .kick: Row("K", .kick, with: Self.giveReason)
        case .login: Row("D", .login)
        case .ban: Row("B", .ban, with: Self.giveReason)
        case .block: Row("P", .block, with: Self.giveReason)
        case .background: Row("g", .background)
        case .connect: Row("w", .connect)
        }
    }

    private static func giveReason(to act: inout LabAct) { act.reason = LabWords.reason }
}

extension LabAct.Name {
    /// The row that stands for it unless another one has begun it; nil if it has no row of its own.
    var choice: LabChoice? {
        switch self {
        case .cut: .once
        case .restore: .restore
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
        // Another row ends these.
        case .startServer, .startLeader, .freeDisk, .unban, .readmit, .extend, .unblock, .foreground: nil
        // The person does these in the chat.
        case .close, .send, .pause, .read: nil
        }
    }
}

/// How long a fault of the lab lasts: durations that two keys step through.
enum LabLengths {
    /// In seconds; after the last one comes "until it is restored".
    private static let seconds = [1, 2, 5, 10, 20, 30, 60, 120, 300]
    /// The place of the default length: a fault that hinders the person ends automatically.
    static let first = 3
    /// The place of "until it is restored".
    static let endless = seconds.count

    /// The length at a place; nil for "until it is restored".
    static func duration(at place: Int) -> Duration? {
        seconds.indices.contains(place) ? .seconds(seconds[place]) : nil
    }

    static func words(at place: Int) -> String {
        duration(at: place).map { Wording.length($0) } ?? LabWords.untilRestored
    }
}
