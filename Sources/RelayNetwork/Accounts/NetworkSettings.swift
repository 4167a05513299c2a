import NATS
import Platform
import Relay

/// A private network's limits: `settings.json` in its folder, read at each start; these values are the defaults.
public struct NetworkSettings: Codable, Hashable, Sendable {
    /// The limits of a stream.
    public struct StreamBounds: Codable, Hashable, Sendable {
        /// Maximum total size of its messages, in bytes.
        public var maximumBytes: Int64
        /// Maximum age of a message in seconds; 0 keeps it until newer ones need its space.
        public var maximumAge: Int64 = 0
        /// Most bytes of one message.
        public var maximumMessageBytes: Int32 = 1 << 20
        /// Maximum number of readers, of all users together; fixed when the stream is made.
        public var maximumConsumers: Int
    }

    /// The limits of one user's account.
    public struct UserLimits: Codable, Hashable, Sendable {
        /// Maximum number of connections.
        public var connections: Int64 = 100
        /// Maximum number of subscriptions per connection.
        public var subscriptions: Int64 = 20_000
        /// Most bytes of one message.
        public var payload: Int64 = 1 << 20
        /// Maximum number of readers in each shared stream; the host deletes any beyond that.
        public var consumers = 4_000
        /// Maximum number of presence entries; a user who exceeds it loses all of them.
        public var presenceEntries = 2_000

        var account: AccountLimits {
            var limits = AccountLimits.withoutJetStream
            (limits.conn, limits.subs, limits.payload) = (connections, subscriptions, payload)
            return limits
        }
    }

    /// The stream of all topics; when full, it drops the oldest messages.
    public var topics = StreamBounds(maximumBytes: 1 << 30, maximumConsumers: 20_000)
    /// Each user's postbox stream; when full, it refuses letters and senders are told.
    public var postboxes = StreamBounds(maximumBytes: 256 << 20, maximumConsumers: 1_000)
    /// Maximum number of letters in one user's postboxes.
    public var maximumLetters: Int64 = 100_000
    /// The shared key-value bucket; when full, it refuses values.
    public var bucket = StreamBounds(maximumBytes: 64 << 20, maximumConsumers: 20_000)
    /// The limits of each user's account.
    public var users = UserLimits()
    /// How often the server syncs the disk, in seconds: the most that a power failure loses. 120 before 2.10.
    public var syncInterval: Int64 = 5
    /// Disk space to keep free, in bytes; with less, nothing more is stored.
    public var reservedDiskBytes: Int64 = 512 << 20

    /// Makes the default limits.
    public init() {}

    var fault: String? {
        let bounds = [topics, postboxes, bucket]
        if bounds.contains(where: { $0.maximumBytes < 1 << 16 }) { return "a stream needs at least 65536 bytes" }
        if bounds.contains(where: { $0.maximumMessageBytes < 1_024 }) { return "a message needs at least 1024 bytes" }
        if bounds.contains(where: { !(0...Self.longestAge).contains($0.maximumAge) }) {
            return "an age is from 0 to \(Self.longestAge) seconds (100 years)"
        }
        if bounds.contains(where: { $0.maximumConsumers < 1 }) { return "a stream needs at least one consumer" }
        if maximumLetters < 1 { return "a postbox needs room for one letter" }
        if users.connections < 1 || users.subscriptions < 16 || users.payload < 1_024 {
            return "a user needs 1 connection, 16 subscriptions and messages of 1024 bytes at least"
        }
        if users.consumers < 16 || users.presenceEntries < 64 {
            return "a user needs 16 consumers and 64 presence entries at least"
        }
        if !(1...3_600).contains(syncInterval) { return "syncInterval is from 1 to 3600 seconds" }
        return (0...1 << 60).contains(reservedDiskBytes) ? nil : "reservedDiskBytes is from 0 to \(1 << 60)"
    }

    private static let longestAge: Int64 = 3_155_760_000

    struct UnknownKey: Error { let path: String }

    static func standard(with changes: MessageValue) throws -> NetworkSettings {
        var whole = try JSONText.parse(bytes: Array(JSONEncoder().encode(NetworkSettings())))
        try lay(changes, over: &whole, at: "")
        return try JSONDecoder().decode(NetworkSettings.self, from: Data(JSONText.text(whole).utf8))
    }

    private static func lay(_ changes: MessageValue, over whole: inout MessageValue, at path: String) throws {
        guard let parts = changes.mapValue, var map = whole.mapValue else {
            whole = changes
            return
        }
        for entry in parts.entries {
            let key = entry.key.stringValue ?? ""
            guard var part = map[key] else { throw UnknownKey(path: path + key) }
            try lay(entry.value, over: &part, at: path + key + ".")
            map[key] = part
        }
        whole = .map(map)
    }
}

extension NetworkDirectory {
    /// The settings file.
    public var settingsFile: String { path + "/settings.json" }

    /// Reads the network's limits.
    /// - Throws: `NetworkError.invalidSettings`.
    public func settings() throws(NetworkError) -> NetworkSettings {
        guard let bytes = try PrivateFile.read(settingsFile) else { return NetworkSettings() }
        let settings: NetworkSettings
        do {
            settings = try NetworkSettings.standard(with: JSONText.parse(bytes: bytes))
        } catch let unknown as NetworkSettings.UnknownKey {
            throw .invalidSettings(path: settingsFile, reason: "unknown setting \(unknown.path.debugDescription)")
        } catch {
            throw .invalidSettings(path: settingsFile, reason: "it is not the JSON of a network's settings")
        }
        if let fault = settings.fault { throw .invalidSettings(path: settingsFile, reason: fault) }
        return settings
    }
}
