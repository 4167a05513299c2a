/// Where a consumer begins.
public enum StartPosition: Sendable, Hashable {
    /// With the oldest message.
    case all
    /// With the next message that is stored.
    case new
    /// With the newest message.
    case last
    /// With the newest message of each subject.
    case lastPerSubject
    /// With this stream sequence, or the next that exists.
    case sequence(UInt64)
    /// With the first message at or after this time.
    case time(ServerTime)
}

/// How a consumer delivers.
public struct ConsumerConfiguration: Sendable, Hashable, Codable {
    /// What is expected of the reader.
    public enum Acknowledgement: String, Sendable, Hashable, Codable {
        /// Nothing.
        case none
        /// One acknowledgement covers everything before.
        case all
        /// Each message is acknowledged.
        case explicit
    }

    /// Name; the server makes none up.
    public var name: String
    /// The same name when the consumer is to survive its reader.
    public var durableName: String?
    /// A description for people.
    public var description: String?
    var deliverPolicy = "all"
    var startSequence: UInt64?
    var startTime: ServerTime?
    /// What is expected of the reader.
    public var acknowledgement: Acknowledgement
    /// Nanoseconds until a message that was not acknowledged comes again.
    public var acknowledgementWait: Int64?
    /// Most messages delivered and not acknowledged; −1 for no limit.
    public var maximumPending: Int?
    /// Only messages of this subject, wildcards allowed.
    public var filter: String?
    /// Nanoseconds without a reader after which the server removes an ephemeral consumer.
    public var inactiveThreshold: Int64?
    /// 1 for a consumer that lives on one server.
    public var replicas: Int?
    /// Whether its state is kept in memory.
    public var isInMemory: Bool?
    /// Whether it delivers headers alone, with the payload's size as a further one: `Nats-Msg-Size`.
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
        // The server wants a filter where it is to look at subjects.
        self.filter = filter ?? (start == .lastPerSubject ? ">" : nil)
        self.acknowledgement = acknowledgement
        durableName = isDurable ? name : nil
        begin(at: start)
    }

    /// A consumer without acknowledgements for one reader: on one server, in memory, and removed when the reader has
    /// asked for nothing for so long.
    static func passing(
        from start: StartPosition, filter: String?, for time: Duration
    ) -> ConsumerConfiguration {
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

/// A consumer as the server describes it.
public struct ConsumerInfo: Sendable, Hashable, Decodable {
    /// The stream it reads.
    public var stream: String
    /// Its name.
    public var name: String
    /// When it was made, by the server's clock.
    public var created: ServerTime?
    /// Messages that it has not delivered yet.
    public var pending: UInt64 { left.value }
    private var left: ServerNumber
    /// The stream sequence behind which it begins or goes on; 0 for the beginning, nil when the server does not say.
    public var deliveredSequence: UInt64? { delivered?.streamSequence?.value }
    /// How many messages it has sent to its reader; nil when the server does not say.
    var deliveredCount: UInt64? { delivered?.consumerSequence?.value }
    private var delivered: Place?
    private var configuration: Reading?
    /// The subjects it delivers, wildcards allowed; empty for all of the stream.
    public var filters: [String] {
        configuration?.filters ?? configuration?.filter.flatMap { $0.isEmpty ? nil : [$0] } ?? []
    }
    /// Where it delivers by itself; nil for a consumer that waits to be asked.
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
