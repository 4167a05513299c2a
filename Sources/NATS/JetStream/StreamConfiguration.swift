/// What a stream stores and for how long. Only fields that are set are sent: newer servers refuse what they don't know.
public struct StreamConfiguration: Sendable, Hashable, Codable {
    /// When messages leave the stream.
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

    /// What is dropped or refused when a limit is reached.
    public enum Discard: String, Sendable, Hashable, Codable {
        /// The oldest message.
        case old
        /// The arriving message is refused.
        case new
    }

    /// On which servers of a cluster a stream lives.
    public struct Placement: Sendable, Hashable, Codable {
        /// The cluster's name; nil for any of a super cluster.
        public var cluster: String?
        /// The words (`server_tags`) that each of the servers has to have.
        public var tags: [String]?

        /// Names cluster and words.
        public init(cluster: String? = nil, tags: [String] = []) {
            self.cluster = cluster
            self.tags = tags.isEmpty ? nil : tags
        }
    }

    /// Its name: no dots, blanks, wildcards or slashes.
    public var name: String
    /// A description for people.
    public var description: String?
    /// What it stores.
    public var subjects: [String]?
    /// When messages leave.
    public var retention: Retention?
    /// Where they are kept.
    public var storage: Storage?
    /// What is dropped or refused at a limit.
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
    /// Most consumers at once; it cannot be changed later. Nil and −1 leave it to the server: 2.9.10 has no limit, 2.15
    /// allows 1,000, or what its `jetstream.limits.default_max_consumers` says (−1 there for no limit).
    public var maximumConsumers: Int?
    /// How long a `Nats-Msg-Id` is remembered, in nanoseconds.
    public var duplicateWindow: Int64?
    /// Whether messages can be read directly from any replica.
    public var allowsDirectAccess: Bool?
    /// Whether a message may replace all before it.
    public var allowsRollup: Bool?
    /// Whether single messages cannot be deleted.
    public var deniesDelete: Bool?
    /// Whether the stream cannot be purged.
    public var deniesPurge: Bool?
    /// On which servers its copies are; nil for any.
    public var placement: Placement?
    /// Free words the owner keeps with the stream (server 2.10 and later; earlier ones drop them).
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

    /// Creates a configuration; what is not set is the server's default.
    public init(name: String, subjects: [String]? = nil, storage: Storage = .file, replicas: Int = 1) {
        self.name = name
        self.subjects = subjects
        self.storage = storage
        self.replicas = replicas
    }
}

/// A stream as the server describes it.
public struct StreamInfo: Sendable, Hashable, Decodable {
    /// Its configuration. Fields this client doesn't know are not in it.
    public var configuration: StreamConfiguration
    /// When it was made: a stream deleted and made anew has another time, so this is its incarnation.
    public var created: ServerTime
    /// What time it was by the server's clock; nil from servers before 2.10, which do not say it.
    public var time: ServerTime?
    /// What it holds.
    public var state: State

    /// What a stream holds.
    public struct State: Sendable, Hashable, Decodable {
        /// Number of messages.
        public var messages: UInt64
        /// Their bytes.
        public var bytes: UInt64
        /// Sequence of the oldest; one more than the last when it is empty, and never larger.
        public var firstSequence: UInt64
        /// Sequence of the newest ever stored.
        public var lastSequence: UInt64
        /// Number of consumers.
        public var consumers: Int?
        /// Messages by subject, when they were asked for.
        public var subjects: [String: UInt64]?

        private enum CodingKeys: String, CodingKey {
            case messages, bytes, subjects
            case firstSequence = "first_seq"
            case lastSequence = "last_seq"
            case consumers = "consumer_count"
        }

        /// Reads the server's answer.
        public init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            messages = try values.decode(ServerNumber.self, forKey: .messages).value
            bytes = try values.decode(ServerNumber.self, forKey: .bytes).value
            lastSequence = try values.decode(ServerNumber.self, forKey: .lastSequence).value
            // The messages between the two would otherwise be counted and asked for.
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

/// What an account may use of JetStream and what it uses.
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
    /// What it may use.
    public var limits: Limits?

    /// What an account may use of JetStream.
    public struct Limits: Sendable, Hashable, Decodable {
        /// Bytes on disk; −1 for as many as there are.
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
