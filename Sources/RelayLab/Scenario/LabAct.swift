import JSON5
import Relay

/// One thing that a run does: to the link, to the server, as the administrator, to the application, or with the client.
public struct LabAct: Hashable, Sendable {
    /// What it is, as a scenario calls it.
    public enum Name: String, Hashable, Sendable, CaseIterable {
        /// Ends the present connections.
        case cut
        /// Lets nobody connect: the port has no listener.
        case refuse
        /// Lets everybody connect, and says nothing.
        case silence
        /// Loses the bytes of a direction, and leaves the sockets open.
        case blackhole
        /// Has bytes come late.
        case delay
        /// Lets so many bytes a second through.
        case throttle
        /// Writes bytes in pieces, one by one unless it is said otherwise.
        case split
        /// Ends one direction of the present connections, and leaves the other.
        case halfClose = "half-close"
        /// Ends every condition of the link.
        case restore
        /// Kills the server.
        case killServer = "kill-server"
        /// Starts the server again.
        case startServer = "start-server"
        /// Kills the server of a cluster that leads the topics' stream.
        case stopLeader = "stop-leader"
        /// Starts it again.
        case startLeader = "start-leader"
        /// Fills the server's disk, as far as the network can tell.
        case fillDisk = "fill-disk"
        /// Frees it.
        case freeDisk = "free-disk"
        /// Ends the user's connections as the administrator.
        case kick
        /// Bans the user.
        case ban
        /// Lifts the ban.
        case unban
        /// Revokes the user's account.
        case revoke
        /// Gives it back.
        case readmit
        /// Lets the user's access end now.
        case expire
        /// Lets it be without end again.
        case extend
        /// Blocks the application for all.
        case block
        /// Lifts the block.
        case unblock
        /// Signs the user in on another device.
        case login
        /// Connects the client.
        case connect
        /// Closes it.
        case close
        /// Puts the application into the background.
        case background
        /// Brings it back.
        case foreground
        /// Has the client send messages.
        case send
        /// Lets the client's reader rest, so that what comes waits.
        case pause
        /// Lets it read again.
        case read

        /// Whether it is a condition of the link, which lasts until it is over or `restore` comes.
        public var isCondition: Bool {
            switch self {
            case .refuse, .silence, .blackhole, .delay, .throttle, .split: true
            default: false
            }
        }

        /// Whether it needs a network that Parley started, since it is about the server or by its administrator.
        public var needsNetwork: Bool {
            switch self {
            case .killServer, .startServer, .stopLeader, .startLeader, .fillDisk, .freeDisk, .kick, .ban, .unban,
                .revoke, .readmit, .expire,
                .extend, .block, .unblock:
                true
            default: false
            }
        }

        /// Whether it needs a cluster of three servers.
        public var needsCluster: Bool { self == .stopLeader || self == .startLeader }

        /// Whether it is about the link alone, so that it can be done to any program behind it.
        public var isOfLink: Bool {
            switch self {
            case .cut, .halfClose, .restore: true
            default: isCondition
            }
        }

        /// Whether the client is expected to be disturbed by it.
        public var isFault: Bool {
            switch self {
            case .restore, .startServer, .startLeader, .freeDisk, .unban, .readmit, .extend, .unblock, .connect, .close,
                .foreground,
                .send, .read:
                false
            default: true
            }
        }

        /// What ends it; nil where nothing does but `for`, or nothing at all.
        public var opposite: Name? {
            switch self {
            case .killServer: .startServer
            case .stopLeader: .startLeader
            case .fillDisk: .freeDisk
            case .ban: .unban
            case .revoke: .readmit
            case .expire: .extend
            case .block: .unblock
            case .background: .foreground
            case .pause: .read
            case _ where isCondition: .restore
            default: nil
            }
        }

        /// What of the other fields it takes.
        var fields: [Field] {
            switch self {
            case .cut: [.how, .afterBytes, .direction]
            case .blackhole, .halfClose: [.direction]
            case .delay: [.by, .jitter, .direction]
            case .throttle: [.rate, .direction]
            case .split: [.bytes, .direction]
            case .send: [.count, .every]
            case .kick, .ban, .revoke, .block, .expire: [.reason]
            case .login: [.device]
            default: []
            }
        }
    }

    /// What there is to say of an act beside its name.
    enum Field: String, CodingKey, CaseIterable {
        case how, afterBytes, direction, by, jitter, rate, bytes, count, every, reason, device
    }

    /// Which way bytes go.
    public enum Direction: String, Hashable, Sendable, CaseIterable {
        /// Each of the two.
        case both
        /// From the client to the server.
        case fromClient = "from-client"
        /// From the server to the client.
        case fromServer = "from-server"
    }

    /// How a connection is cut.
    public enum Ending: String, Hashable, Sendable, CaseIterable {
        /// By a reset.
        case reset
        /// By an orderly end.
        case finish
    }

    /// What it is.
    public var name: Name
    /// How a connection is cut.
    public var how = Ending.reset
    /// After how many more bytes of the direction it is cut.
    public var afterBytes = 0
    /// Which way.
    public var direction = Direction.both
    /// How late bytes come.
    public var by = Duration.milliseconds(200)
    /// By how much more at most, drawn by chance.
    public var jitter = Duration.zero
    /// How many bytes a second come through.
    public var rate = 1_024
    /// How many bytes a piece has.
    public var bytes = 1
    /// How many messages are sent.
    public var count = 1
    /// How much time is between two of them.
    public var every = Duration.zero
    /// What the administrator says.
    public var reason: String?
    /// What the other device is called.
    public var device = "another device"

    /// Most messages that one act sends.
    public static let maximumCount = 10_000

    /// An act with what counts where nothing else is said.
    public init(_ name: Name) { self.name = name }

    /// What stands beside the name, such as `by 200ms, from-server`; empty where nothing is said.
    public var detail: String {
        var words: [String] = []
        let plain = LabAct(name)
        for field in name.fields {
            switch field {
            case .how: if how != plain.how { words.append("by \(how == .finish ? "an orderly end" : "a reset")") }
            case .afterBytes: if afterBytes != 0 { words.append("after \(afterBytes) bytes") }
            case .direction: if direction != plain.direction { words.append(direction.rawValue) }
            case .by: words.append("by \(LabDuration.text(by))")
            case .jitter: if jitter != plain.jitter { words.append("and up to \(LabDuration.text(jitter)) more") }
            case .rate: words.append("to \(rate) bytes a second")
            case .bytes: words.append("into pieces of \(bytes)")
            case .count: words.append("\(count)")
            case .every: if every != plain.every { words.append("every \(LabDuration.text(every))") }
            case .reason: if let reason { words.append("“\(reason)”") }
            case .device: words.append("on \(device)")
            }
        }
        return words.joined(separator: " ")
    }
}

extension LabAct: Decodable {
    private enum NameKey: String, CodingKey { case act = "do" }

    /// Reads an act from the object of its step.
    public init(from decoder: any Decoder) throws {
        let names = try decoder.container(keyedBy: NameKey.self)
        let text = try names.decode(String.self, forKey: .act)
        guard let name = Name(rawValue: text) else {
            let known = Name.allCases.map(\.rawValue).joined(separator: ", ")
            throw SettingMistake(decoder.codingPath + [NameKey.act], "“\(text)” is no act; these are: \(known)")
        }
        self.init(name)
        let values = try decoder.container(keyedBy: Field.self)
        for field in Field.allCases where values.contains(field) {
            guard name.fields.contains(field) else {
                let known = name.fields.map(\.rawValue).joined(separator: ", ")
                throw SettingMistake(
                    decoder.codingPath + [field], isKey: true,
                    "“\(name.rawValue)” takes no “\(field.rawValue)”" + (known.isEmpty ? "" : "; it takes: \(known)"))
            }
            switch field {
            case .how: how = try Self.choice(values, field)
            case .direction: direction = try Self.choice(values, field)
            case .afterBytes: afterBytes = try Self.number(values, field, 0...1_000_000_000)
            case .rate: rate = try Self.number(values, field, 0...1_000_000_000)
            case .bytes: bytes = try Self.number(values, field, 1...1_000_000)
            case .count: count = try Self.number(values, field, 1...Self.maximumCount)
            case .by: by = try LabDuration.decode(values, field) ?? by
            case .jitter: jitter = try LabDuration.decode(values, field) ?? jitter
            case .every: every = try LabDuration.decode(values, field) ?? every
            case .reason: reason = try values.decode(String.self, forKey: field)
            case .device: device = try values.decode(String.self, forKey: field)
            }
        }
    }

    private static func number(
        _ values: KeyedDecodingContainer<Field>, _ field: Field, _ range: ClosedRange<Int>
    ) throws -> Int {
        let number = try values.decode(Double.self, forKey: field)
        guard let whole = Int(exactly: number), range.contains(whole) else {
            throw SettingMistake(
                values.codingPath + [field],
                "it takes a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return whole
    }

    private static func choice<Choice: RawRepresentable & CaseIterable>(
        _ values: KeyedDecodingContainer<Field>, _ field: Field
    ) throws -> Choice where Choice.RawValue == String {
        let text = try values.decode(String.self, forKey: field)
        guard let choice = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw SettingMistake(values.codingPath + [field], "“\(text)” is none of these: \(known)")
        }
        return choice
    }

    /// The fields with which the act is written, in their order; those that are as they would be anyway are left out.
    var entries: [(key: String, value: MessageValue)] {
        let plain = LabAct(name)
        var entries: [(key: String, value: MessageValue)] = [("do", .string(name.rawValue))]
        for field in name.fields {
            let value: MessageValue? =
                switch field {
                case .how: how == plain.how ? nil : .string(how.rawValue)
                case .afterBytes: afterBytes == 0 ? nil : .int(Int64(afterBytes))
                case .direction: direction == plain.direction ? nil : .string(direction.rawValue)
                case .by: by == plain.by ? nil : .string(LabDuration.text(by))
                case .jitter: jitter == plain.jitter ? nil : .string(LabDuration.text(jitter))
                case .rate: rate == plain.rate ? nil : .int(Int64(rate))
                case .bytes: bytes == plain.bytes ? nil : .int(Int64(bytes))
                case .count: count == plain.count ? nil : .int(Int64(count))
                case .every: every == plain.every ? nil : .string(LabDuration.text(every))
                case .reason: reason.map { .string($0) }
                case .device: device == plain.device ? nil : .string(device)
                }
            if let value { entries.append((field.rawValue, value)) }
        }
        return entries
    }
}
