import Relay

/// One of the questions that a network's services answer.
enum ServiceEndpoint: String, CaseIterable, Hashable, Sendable {
    /// The network's names, and what the asker was granted.
    case namespace
    /// The asker's own postboxes.
    case postboxes
    /// Whether somebody's postbox takes letters.
    case recipient
    /// The names of the streams that the asker may read.
    case streams
    /// Credentials for an invitation.
    case enrolment

    /// Where it is asked. Each but the one that RelayX named has a wildcard: JetStream hands what a push consumer
    /// delivers to literal subjects.
    var subject: String {
        switch self {
        case .namespace: NamespaceService.subject
        case .postboxes: NetworkNames.postboxes(of: "*", "*")
        case .recipient: NetworkNames.recipient("*", "*")
        case .streams: NetworkNames.streams(of: "*")
        case .enrolment: NetworkNames.enrolment(of: "*")
        }
    }

    /// The answer to a request that is not worked on now, or that nobody may ask.
    var refusal: [UInt8] {
        switch self {
        case .namespace: Self.noNames
        case .streams: StreamNamesService.refusal
        case .enrolment, .recipient, .postboxes: Self.noPostbox
        }
    }

    private static let noNames = Wire.json(NamespaceService.Reply(busy: true))
    private static let noPostbox = Wire.json(PostboxReply(error: .unavailable))
}

/// What the services of one process have answered: a pure value.
struct ServiceFigures: Hashable, Sendable {
    /// What one endpoint has answered.
    struct Endpoint: Hashable, Sendable {
        /// Requests that were answered, or were to be.
        var requests: UInt64 = 0
        /// Those that were refused: the service had no time for them, or they were nobody's to ask.
        var errors: UInt64 = 0
        /// How long the work on them took together.
        var time: Duration = .zero
    }

    /// When the process began, in seconds since 1970.
    let start: Int64
    private var endpoints: [ServiceEndpoint: Endpoint] = [:]

    init(start: Int64) { self.start = start }

    /// What an endpoint has answered.
    subscript(_ endpoint: ServiceEndpoint) -> Endpoint { endpoints[endpoint] ?? Endpoint() }

    /// A request was worked on.
    mutating func count(_ endpoint: ServiceEndpoint, took time: Duration, didAnswer: Bool) {
        endpoints[endpoint, default: Endpoint()].requests += 1
        endpoints[endpoint, default: Endpoint()].time += time
        if !didAnswer { endpoints[endpoint, default: Endpoint()].errors += 1 }
    }

    /// Too many of the same asker waited.
    mutating func refused(_ endpoint: ServiceEndpoint) {
        endpoints[endpoint, default: Endpoint()].requests += 1
        endpoints[endpoint, default: Endpoint()].errors += 1
    }
}

extension Duration {
    /// Whole nanoseconds.
    var wholeNanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
