/// Where a consumer starts.
public enum StartPosition: Sendable, Hashable {
    /// At the oldest message.
    case all
    /// At the next message to be stored.
    case new
    /// At the newest message.
    case last
    /// At the newest message of each subject.
    case lastPerSubject
    /// At this stream sequence, or the next that exists.
    case sequence(UInt64)
    /// At the first message from this time on.
    case time(ServerTime)
}

/// The settings of a consumer.
public struct ConsumerConfiguration: Sendable, Hashable, Codable {
    /// The acknowledgements expected of the reader.
    public enum Acknowledgement: String, Sendable, Hashable, Codable {
        /// None.
        case none
        /// An acknowledgement covers all earlier messages too.
        case all
        /// Each message is acknowledged.
        case explicit
    }

    /// The name; the server does not choose one.
    public var name: String
    /// The same name if the consumer is to outlive its reader.
    public var durableName: String?
    /// A description for people.
    public var description: String?
    var deliverPolicy = "all"
    var startSequence: UInt64?
    var startTime: ServerTime?
    /// The acknowledgements expected of the reader.
    public var acknowledgement: Acknowledgement
    /// Nanoseconds until an unacknowledged message is delivered again.
    public var acknowledgementWait: Int64?
    /// The most messages delivered but not acknowledged; −1 for no limit.
    public var maximumPending: Int?
    /// Limits the consumer to messages of this subject, wildcards allowed.
    public var filter: String?
    /// Nanoseconds without a reader after which the server removes an ephemeral consumer.
    public var inactiveThreshold: Int64?
    /// 1 for a consumer that exists on one server only.
    public var replicas: Int?
    /// Whether its state is kept in memory.
    public var isInMemory: Bool?
    /// Whether it delivers headers only, with the payload's size as an additional one: `Nats-Msg-Size`.
    public var headersOnly: Bool?

    private enum CodingKeys: String, CodingKey {
        case name, description
        case durableName = "durable_name"
        case deliverPolicy = "deliver_policy"
        case startSequence = "opt_start_seq"
        case startTime = "opt_start_time"
        case acknowledgement = "ack_policy"
        case acknowledgementWait = "ack_wait"
        case maximumPending = "max_ack_pending"
        case filter = "filter_subject"
        case inactiveThreshold = "inactive_threshold"
        case replicas = "num_replicas"
        case isInMemory = "mem_storage"
        case headersOnly = "headers_only"
    }

    /// Creates a configuration of a pull consumer.
    public init(
        name: String, from start: StartPosition = .all, filter: String? = nil,
        acknowledgement: Acknowledgement = .explicit, isDurable: Bool = false
    ) {
        self.name = name
        // The server requires a filter to select by subject.
        self.filter = filter ?? (start == .lastPerSubject ? ">" : nil)
        self.acknowledgement = acknowledgement
        durableName = isDurable ? name : nil
        begin(at: start)
    }

    /// A consumer without acknowledgements for one reader: on one server, in memory, and removed once the reader has
    /// asked for nothing for this long.
    static func passing(from start: StartPosition, filter: String?, for time: Duration) -> ConsumerConfiguration {
        var configuration = ConsumerConfiguration(
            name: UniqueToken.next(), from: start, filter: filter, acknowledgement: .none)
        configuration.inactiveThreshold = time.nanoseconds
        configuration.isInMemory = true
        configuration.replicas = 1
        return configuration
    }

    mutating func begin(at start: StartPosition) {
        (startSequence, startTime) = (nil, nil)
        switch start {
        case .all: deliverPolicy = "all"
        case .new: deliverPolicy = "new"
        case .last: deliverPolicy = "last"
        case .lastPerSubject: deliverPolicy = "last_per_subject"
        case .sequence(let sequence):
            deliverPolicy = "by_start_sequence"
            startSequence = max(1, sequence)
        case .time(let time):
            deliverPolicy = "by_start_time"
            startTime = time
        }
    }
}

/// The server's description of a consumer.
public struct ConsumerInfo: Sendable, Hashable, Decodable {
    /// The stream it reads.
    public var stream: String
    /// Its name.
    public var name: String
    /// When it was created, by the server's clock.
    public var created: ServerTime?
    /// The number of messages not delivered yet.
    public var pending: UInt64 { left.value }
    private var left: ServerNumber
    /// The stream sequence after which it starts or continues; 0 for the beginning, nil if the server does not tell.
    public var deliveredSequence: UInt64? { delivered?.streamSequence?.value }
    /// The number of messages sent to its reader; nil if the server does not tell.
    var deliveredCount: UInt64? { delivered?.consumerSequence?.value }
    private var delivered: Place?
    private var configuration: Reading?
    /// The subjects it delivers, wildcards allowed; empty for all of the stream.
    public var filters: [String] {
        configuration?.filters ?? configuration?.filter.flatMap { $0.isEmpty ? nil : [$0] } ?? []
    }
    /// The subject that a push consumer delivers to; nil for a pull consumer.
    public var deliverSubject: String? { configuration?.deliverSubject }

    private struct Reading: Sendable, Hashable, Decodable {
        var filter: String?
        var filters: [String]?
        var deliverSubject: String?

        private enum CodingKeys: String, CodingKey {
            case filter = "filter_subject"
            case filters = "filter_subjects"
            case deliverSubject = "deliver_subject"
        }
    }

    private struct Place: Sendable, Hashable, Decodable {
        var streamSequence: ServerNumber?
        var consumerSequence: ServerNumber?

        private enum CodingKeys: String, CodingKey {
            case streamSequence = "stream_seq"
            case consumerSequence = "consumer_seq"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case name, created, delivered
        case configuration = "config"
        case stream = "stream_name"
        case left = "num_pending"
    }
}
