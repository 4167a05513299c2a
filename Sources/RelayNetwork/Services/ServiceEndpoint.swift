import NATS
import Platform
import Relay

/// A kind of request that a network's services answer.
enum ServiceEndpoint: String, CaseIterable, Hashable, Sendable {
    /// The network's names and the asker's rights.
    case namespace
    /// The asker's own postboxes.
    case postboxes
    /// Whether a postbox accepts letters.
    case recipient
    /// The names of the streams that the asker may read.
    case streams
    /// Credentials for an invitation.
    case enrolment

    /// Its subject. Wildcards keep out push deliveries, except on the subject that RelayX named.
    var subject: String {
        switch self {
        case .namespace: NamespaceService.subject
        case .postboxes: NetworkNames.postboxes(of: "*", "*")
        case .recipient: NetworkNames.recipient("*", "*")
        case .streams: NetworkNames.streams(of: "*")
        case .enrolment: NetworkNames.enrolment(of: "*")
        }
    }

    var refusal: [UInt8] {
        switch self {
        case .namespace: Self.noNames
        case .streams: NamespaceService.noStreams
        case .enrolment, .recipient, .postboxes: Self.noPostbox
        }
    }

    private static let noNames = Wire.json(NamespaceService.Reply(busy: true))
    private static let noPostbox = Wire.json(PostboxReply(error: .unavailable))
}

struct ServiceFigures: Hashable, Sendable {
    struct Endpoint: Hashable, Sendable {
        var requests: UInt64 = 0
        /// Refused ones: the service was too busy, or no one may ask this.
        var errors: UInt64 = 0
        var time: Duration = .zero
    }

    /// When the process began, in seconds since 1970.
    let start: Int64
    private var endpoints: [ServiceEndpoint: Endpoint] = [:]

    init(start: Int64) { self.start = start }

    subscript(_ endpoint: ServiceEndpoint) -> Endpoint { endpoints[endpoint] ?? Endpoint() }

    mutating func count(_ endpoint: ServiceEndpoint, took time: Duration, didAnswer: Bool) {
        endpoints[endpoint, default: Endpoint()].requests += 1
        endpoints[endpoint, default: Endpoint()].time += time
        if !didAnswer { endpoints[endpoint, default: Endpoint()].errors += 1 }
    }

    mutating func refused(_ endpoint: ServiceEndpoint) { count(endpoint, took: .zero, didAnswer: false) }
}

extension Duration {
    var wholeNanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}

enum Wire {
    /// Deterministic. The service's own values always encode.
    static func json(_ value: some Encodable, isPretty: Bool = false) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
        return (try? encoder.encode(value)).map { Array($0) } ?? Array("{}".utf8)
    }

    static func value<Value: Decodable>(_ type: Value.Type, from bytes: some Sequence<UInt8>) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }
}

extension KeyValueBucket {
    /// The value of a key according to the stream's leader, as a copy may be behind; nil if it has none.
    func current(_ key: String) async throws(NATSError) -> KeyValueEntry? {
        do throws(NATSError) {
            let entry = KeyValueEntry(
                try await jetStream.lastMessage(
                    in: NetworkNames.stream(ofBucket: name), subject: NetworkNames.key(key, in: name)))
            return entry.operation == .put ? entry : nil
        } catch .jetStream(let failure) where failure.errorCode == JetStreamFailure.noMessageFound {
            return nil
        }
    }

    /// The decoded JSON value of a key; nil if it has none.
    func decoded<Value: Decodable>(_ type: Value.Type, _ key: String) async throws -> (value: Value, revision: UInt64)?
    {
        guard let entry = try await current(key) else { return nil }
        guard let value = Wire.value(type, from: entry.value.readableBytesView) else {
            throw NetworkError.refused("the bucket \(name) has unexpected content under \(key)")
        }
        return (value, entry.revision)
    }
}

extension NATSError {
    var isConflict: Bool {
        if case .jetStream(let failure) = self { KeyValueBucket.isConflict(failure) } else { false }
    }
}
