import NIOCore
import Platform

/// JetStream over one connection: streams, consumers, stored messages. Every call is one request unless documented
/// otherwise.
public struct JetStream: Sendable {
    /// The connection in use.
    public let connection: NATSConnection
    /// The time limit of one call.
    public var timeout: Duration
    /// How often a server signals an idle reader that it is alive.
    package var heartbeat = Duration.seconds(10)
    /// Whether a direct get may have many answers, as servers give from 2.11 on. If an account imports JetStream from
    /// another one, that account's exports decide whether more than the first answer arrives.
    package var readsBatches = false
    /// How much readers request at once; shared by the connections of a client.
    package var pullLimit = PullLimit()
    /// The consumers left on the server by ended connections; shared by the connections of a client.
    package var leftConsumers = LeftConsumers()
    let prefix: String

    /// Creates the interface. The prefix of the API's subjects is `$JS.API`, `$JS.<domain>.API` for a JetStream domain,
    /// or the one under which an account imports JetStream from another one.
    public init(
        _ connection: NATSConnection, apiPrefix: String = JetStream.standardPrefix, timeout: Duration = .seconds(5)
    ) {
        self.connection = connection
        self.timeout = timeout
        prefix = apiPrefix + "."
    }

    /// Whether calls may pass through imports, where a message without headers and payload ends a pull.
    var isImported: Bool { prefix != Self.standardPrefix + "." }

    /// The API prefix of every account with JetStream of its own: `$JS.API`.
    public static let standardPrefix = "$JS.API"

    // MARK: Account and streams

    /// The account's limits and usage.
    public func accountInfo() async throws(NATSError) -> AccountInfo { try await call("INFO") }

    /// Creates a stream. Creating one that exists with the same configuration succeeds.
    @discardableResult
    public func createStream(_ configuration: StreamConfiguration) async throws(NATSError) -> StreamInfo {
        try await call("STREAM.CREATE.\(try name(configuration.name))", configuration)
    }

    /// Changes a stream, with two requests. Settings that the configuration leaves out, or that this client does not
    /// know, keep their values.
    @discardableResult
    public func updateStream(_ configuration: StreamConfiguration) async throws(NATSError) -> StreamInfo {
        let stream = try name(configuration.name)
        let present: Settings = try await call("STREAM.INFO.\(stream)")
        let changes: [String: JSONValue]
        do {
            changes = try JSONDecoder().decode([String: JSONValue].self, from: JSONEncoder().encode(configuration))
        } catch {
            throw .invalidArgument("The configuration cannot be written as JSON.")
        }
        return try await call("STREAM.UPDATE.\(stream)", present.config.merging(changes) { $1 })
    }

    private struct Settings: Decodable {
        var config: [String: JSONValue]
    }

    /// Describes a stream; with a filter, also counts the messages of each matching subject.
    public func streamInfo(_ stream: String, subjectsFilter: String? = nil) async throws(NATSError) -> StreamInfo {
        let subject = "STREAM.INFO.\(try name(stream))"
        guard let subjectsFilter else { return try await call(subject) }
        return try await call(subject, ["subjects_filter": subjectsFilter])
    }

    /// Deletes a stream and everything in it.
    public func deleteStream(_ stream: String) async throws(NATSError) {
        let _: Outcome = try await call("STREAM.DELETE.\(try name(stream))")
    }

    package func streamNames() async throws(NATSError) -> [String] {
        var list = PagedList<String>()
        while true {
            // A page has up to 1,024.
            let page: StreamNamePage = try await call("STREAM.NAMES", ["offset": list.offset])
            guard try list.take(page.streams ?? [], of: page.total, named: \.self) else { return list.items }
        }
    }

    /// Removes all messages of a stream, or those of a subject (wildcards allowed), and returns their number.
    @discardableResult
    public func purgeStream(_ stream: String, filter: String? = nil) async throws(NATSError) -> UInt64 {
        let subject = "STREAM.PURGE.\(try name(stream))"
        let outcome: Outcome = filter == nil ? try await call(subject) : try await call(subject, ["filter": filter])
        return outcome.purged?.value ?? 0
    }

    // MARK: Single messages

    /// Reads one message from the stream's leader.
    public func message(in stream: String, sequence: UInt64) async throws(NATSError) -> StoredMessage {
        let reply: StoredReply = try await call("STREAM.MSG.GET.\(try name(stream))", ["seq": sequence])
        return try reply.message.stored()
    }

    /// Reads the newest message of a subject from the stream's leader.
    public func lastMessage(in stream: String, subject: String) async throws(NATSError) -> StoredMessage {
        let reply: StoredReply = try await call("STREAM.MSG.GET.\(try name(stream))", ["last_by_subj": subject])
        return try reply.message.stored()
    }

    /// The newest message of a subject from any replica, nil if there is none. It needs a permission for that subject
    /// only.
    public func lastMessageDirect(in stream: String, subject: String) async throws(NATSError) -> StoredMessage? {
        let message = try await connection.request(
            ByteBuffer(), to: prefix + "DIRECT.GET.\(try name(stream)).\(subject)", timeout: timeout)
        let headers = message.headers
        // The server's own headers come last, after the sender's, which may begin with a status too.
        func said(_ name: String) -> String? { headers.values(for: name).last }
        guard let sequence = said("Nats-Sequence").flatMap({ ServerNumber($0) })?.value else {
            guard let block = message.headerBlock, let status = block.status else {
                throw .protocolViolation("a direct get lacks a sequence")
            }
            if status == 404 { return nil }
            throw .jetStream(.init(code: status, errorCode: 0, text: block.statusText ?? "direct get"))
        }
        return StoredMessage(
            subject: said("Nats-Subject") ?? subject, sequence: sequence,
            time: said("Nats-Time-Stamp").flatMap(ServerTime.init(parsing:)) ?? ServerTime(nanoseconds: 0),
            headers: headers, payload: message.payload)
    }

    /// Deletes one message; with `erases` its bytes on disk are overwritten first, which is slower.
    public func deleteMessage(in stream: String, sequence: UInt64, erases: Bool = false) async throws(NATSError) {
        let _: Outcome = try await call(
            "STREAM.MSG.DELETE.\(try name(stream))",
            DeleteRequest(seq: sequence, skipsErase: !erases))
    }

    // MARK: Consumers

    /// Creates a consumer.
    @discardableResult
    public func createConsumer(
        _ configuration: ConsumerConfiguration, in stream: String
    ) async throws(NATSError) -> ConsumerInfo {
        let stream = try name(stream)
        let consumer = try name(configuration.name)
        let request = ConsumerRequest(stream: stream, config: configuration)
        // The server checks permissions against the subject, so the filter is part of it.
        let suffix = configuration.filter.map { "." + $0 } ?? ""
        for left in leftConsumers.takeAll() { discardConsumer(left.consumer, in: left.stream) }
        do throws(NATSError) {
            return try await call("CONSUMER.CREATE.\(stream).\(consumer)\(suffix)", request)
        } catch {
            switch error {
            case .timeout, .connectionLost, .closedByServer, .staleConnection, .closed, .cancelled:
                // The server may have created it all the same.
                if configuration.durableName == nil { discardConsumer(consumer, in: stream) }
            default: break
            }
            throw error
        }
    }

    /// Removes a consumer.
    public func deleteConsumer(_ consumer: String, in stream: String) async throws(NATSError) {
        let _: Outcome = try await call("CONSUMER.DELETE.\(try name(stream)).\(try name(consumer))")
    }

    /// Describes a consumer.
    public func consumerInfo(_ consumer: String, in stream: String) async throws(NATSError) -> ConsumerInfo {
        try await call("CONSUMER.INFO.\(try name(stream)).\(try name(consumer))")
    }

    /// Describes all consumers of a stream. One that is created or deleted meanwhile may or may not be included.
    public func consumers(in stream: String) async throws(NATSError) -> [ConsumerInfo] {
        let subject = "CONSUMER.LIST.\(try name(stream))"
        var list = PagedList<ConsumerInfo>()
        while true {
            // A page has up to 256.
            let page: ConsumerPage = try await call(subject, ["offset": list.offset])
            guard try list.take(page.consumers ?? [], of: page.total, named: \.name) else { return list.items }
        }
    }

    // MARK: Requests

    private struct StreamNamePage: Decodable {
        var total: Int
        var streams: [String]?
    }

    /// Part of a list of consumers. Servers before 2.10 send null for one that is being deleted.
    struct ConsumerPage: Decodable {
        var total: Int
        var consumers: [ConsumerInfo?]?
    }

    private struct StoredReply: Decodable { var message: EncodedMessage }

    private struct Outcome: Decodable { var purged: ServerNumber? }

    private struct DeleteRequest: Encodable {
        var seq: UInt64
        var skipsErase: Bool
        private enum CodingKeys: String, CodingKey {
            case seq
            case skipsErase = "no_erase"
        }
    }

    private struct ConsumerRequest: Encodable {
        var stream: String
        var config: ConsumerConfiguration
        private enum CodingKeys: String, CodingKey {
            case stream = "stream_name"
            case config
        }
    }

    /// Checks the name of a stream or consumer, which must be a single token of a subject.
    func name(_ text: String) throws(NATSError) -> String {
        let isToken =
            !text.isEmpty && text.utf8.count <= 255
            && text.utf8.allSatisfy { byte in
                byte > 0x20 && byte != 0x7F && !".*>/\\".utf8.contains(byte)
            }
        guard isToken else { throw .invalidArgument("“\(text.prefix(64))” cannot name a stream or consumer.") }
        return text
    }

    func call<Reply: Decodable>(_ subject: String) async throws(NATSError) -> Reply {
        try APIReply.decode(await connection.requestAPI(ByteBuffer(), to: prefix + subject, timeout: timeout))
    }

    /// Calls the API at a subject, given without the prefix.
    package func call<Reply: Decodable>(
        _ subject: String, _ request: some Encodable & Sendable
    ) async throws(NATSError) -> Reply {
        let body = try Self.json(request)
        return try APIReply.decode(await connection.requestAPI(body, to: prefix + subject, timeout: timeout))
    }

    static func json(_ request: some Encodable) throws(NATSError) -> ByteBuffer {
        do { return try ByteBuffer(bytes: JSONEncoder().encode(request)) } catch {
            throw .invalidArgument("The request cannot be written as JSON.")
        }
    }
}

enum APIReply {
    private struct ErrorReply: Decodable {
        struct Body: Decodable {
            var code: Int?
            var errorCode: Int?
            var description: String?

            private enum CodingKeys: String, CodingKey {
                case code, description
                case errorCode = "err_code"
            }
        }
        var error: Body?
    }

    static func decode<Reply: Decodable>(_ message: NATSMessage) throws(NATSError) -> Reply {
        let data = Data(message.payload.readableBytesView)
        let decoder = JSONDecoder()
        if let error = (try? decoder.decode(ErrorReply.self, from: data))?.error {
            throw .jetStream(
                JetStreamFailure(
                    code: error.code ?? 500, errorCode: error.errorCode ?? 0,
                    text: error.description ?? "no reason given"
                ))
        }
        do {
            return try decoder.decode(Reply.self, from: data)
        } catch {
            throw .protocolViolation("a JetStream answer is not readable as \(Reply.self)")
        }
    }
}

/// A message inside an API answer, with its header block and payload in base64.
struct EncodedMessage: Decodable {
    var subject: String
    var seq: ServerNumber
    var hdrs: Data?
    var data: Data?
    var time: ServerTime

    func stored() throws(NATSError) -> StoredMessage {
        StoredMessage(
            subject: subject, sequence: seq.value, time: time,
            headers: hdrs.map { HeaderBlock(ByteBuffer(bytes: $0)).headers } ?? NATSHeaders(),
            payload: ByteBuffer(bytes: data ?? Data()))
    }
}
