/// What a stream stores and for how long. Only fields that are set are sent: newer servers reject unknown fields.
public struct StreamConfiguration: Sendable, Hashable, Codable {
    /// When messages are removed from the stream.
    public enum Retention: String, Sendable, Hashable, Codable {
        /// When a limit is reached.
        case limits
        /// When every consumer has acknowledged.
        case interest
        /// When one consumer has acknowledged.
        case workQueue = "workqueue"
    }

    /// Where messages are kept.
    public enum Storage: String, Sendable, Hashable, Codable {
        /// On disk.
        case file
        /// In memory, gone with the server.
        case memory
    }

    /// Which message is lost when a limit is reached.
    public enum Discard: String, Sendable, Hashable, Codable {
        /// The oldest message is dropped.
        case old
        /// The arriving message is refused.
        case new
    }

    /// The servers of a cluster for a stream.
    public struct Placement: Sendable, Hashable, Codable {
        /// The cluster's name; nil for any of a super cluster.
        public var cluster: String?
        /// The tags (`server_tags`) that each of the servers must have.
        public var tags: [String]?

        /// Creates a placement.
        public init(cluster: String? = nil, tags: [String] = []) {
            self.cluster = cluster
            self.tags = tags.isEmpty ? nil : tags
        }
    }

    /// Its name: no dots, blanks, wildcards or slashes.
    public var name: String
    /// A description for people.
    public var description: String?
    /// The subjects that it stores.
    public var subjects: [String]?
    /// When messages are removed.
    public var retention: Retention?
    /// Where they are kept.
    public var storage: Storage?
    /// Which message is lost at a limit.
    public var discard: Discard?
    /// Number of servers that hold a copy, 1 to 5.
    public var replicas: Int?
    /// Most messages; −1 for no limit.
    public var maximumMessages: Int64?
    /// Most bytes; −1 for no limit.
    public var maximumBytes: Int64?
    /// Longest age in nanoseconds; 0 for no limit.
    public var maximumAge: Int64?
    /// Most messages of one subject; −1 for no limit.
    public var maximumMessagesPerSubject: Int64?
    /// Largest message in bytes; −1 for the server's limit.
    public var maximumMessageSize: Int32?
    /// The most consumers at once; it cannot be changed later. Nil and −1 leave it to the server: 2.9.10 has no limit,
    /// 2.15 allows 1,000, or its `jetstream.limits.default_max_consumers` (−1 there for no limit).
    public var maximumConsumers: Int?
    /// How long a `Nats-Msg-Id` is remembered, in nanoseconds.
    public var duplicateWindow: Int64?
    /// Whether messages can be read directly from any replica.
    public var allowsDirectAccess: Bool?
    /// Whether a message may replace all earlier ones.
    public var allowsRollup: Bool?
    /// Whether single messages cannot be deleted.
    public var deniesDelete: Bool?
    /// Whether the stream cannot be purged.
    public var deniesPurge: Bool?
    /// The servers of its replicas; nil for any.
    public var placement: Placement?
    /// Free text that the owner stores with the stream (server 2.10 and later; earlier ones drop it).
    public var metadata: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case name, description, subjects, retention, storage, discard, placement, metadata
        case replicas = "num_replicas"
        case maximumMessages = "max_msgs"
        case maximumBytes = "max_bytes"
        case maximumAge = "max_age"
        case maximumMessagesPerSubject = "max_msgs_per_subject"
        case maximumMessageSize = "max_msg_size"
        case maximumConsumers = "max_consumers"
        case duplicateWindow = "duplicate_window"
        case allowsDirectAccess = "allow_direct"
        case allowsRollup = "allow_rollup_hdrs"
        case deniesDelete = "deny_delete"
        case deniesPurge = "deny_purge"
    }

    /// Creates a configuration; fields that are not set have the server's default.
    public init(name: String, subjects: [String]? = nil, storage: Storage = .file, replicas: Int = 1) {
        self.name = name
        self.subjects = subjects
        self.storage = storage
        self.replicas = replicas
    }
}

/// The server's description of a stream.
public struct StreamInfo: Sendable, Hashable, Decodable {
    /// Its configuration, without fields that this client does not know.
    public var configuration: StreamConfiguration
    /// When it was created. A stream that was deleted and recreated has another time.
    public var created: ServerTime
    /// The server's time; nil before 2.10.
    public var time: ServerTime?
    /// The contents.
    public var state: State

    /// The contents of a stream.
    public struct State: Sendable, Hashable, Decodable {
        /// Number of messages.
        public var messages: UInt64
        /// Their bytes.
        public var bytes: UInt64
        /// The sequence of the oldest message, at most one more than the last, which it is in an empty stream.
        public var firstSequence: UInt64
        /// The sequence of the newest message ever stored.
        public var lastSequence: UInt64
        /// Number of consumers.
        public var consumers: Int?
        /// The number of messages of each subject, if requested.
        public var subjects: [String: UInt64]?

        private enum CodingKeys: String, CodingKey {
            case messages, bytes, subjects
            case firstSequence = "first_seq"
            case lastSequence = "last_seq"
            case consumers = "consumer_count"
        }

        /// Decodes the server's answer.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            messages = try values.decode(ServerNumber.self, forKey: .messages).value
            bytes = try values.decode(ServerNumber.self, forKey: .bytes).value
            lastSequence = try values.decode(ServerNumber.self, forKey: .lastSequence).value
            // Otherwise the messages between the two would be counted and requested.
            firstSequence = min(try values.decode(ServerNumber.self, forKey: .firstSequence).value, lastSequence + 1)
            consumers = try values.decodeIfPresent(Int.self, forKey: .consumers)
            subjects = try values.decodeIfPresent([String: ServerNumber].self, forKey: .subjects)?.mapValues(\.value)
        }
    }

    private enum CodingKeys: String, CodingKey {
        case configuration = "config"
        case time = "ts"
        case created, state
    }
}

/// An account's limits and usage of JetStream.
public struct AccountInfo: Sendable, Hashable, Decodable {
    /// Bytes in memory.
    public var memory: Int64
    /// Bytes on disk.
    public var storage: Int64
    /// Number of streams.
    public var streams: Int
    /// Number of consumers.
    public var consumers: Int
    /// JetStream domain.
    public var domain: String?
    /// API figures.
    public var api: API?
    /// The account's limits.
    public var limits: Limits?

    /// An account's limits of JetStream.
    public struct Limits: Sendable, Hashable, Decodable {
        /// Bytes on disk; −1 for no limit.
        public var storage: Int64?

        private enum CodingKeys: String, CodingKey { case storage = "max_storage" }
    }

    /// API figures of an account.
    public struct API: Sendable, Hashable, Decodable {
        /// Feature level, from server 2.11 on.
        public var level: Int?
        /// Calls so far.
        public var total: UInt64?
        /// Errors so far.
        public var errors: UInt64?
    }

    /// The server's feature level; 0 before 2.11.
    public var level: Int { api?.level ?? 0 }
}
