import NATS
import NIOCore
import Testing

/// What the client counts on of every server, each with its proof. `MemoryServer` and the real servers are held to the
/// same, so that a test with the one tells something about the others.
public enum ServerPromise: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case login = "a login is confirmed, and the server says what it is"
    case subjects = "messages go to all whose subjects match, in order and whole"
    case queueGroups = "members of a queue group share, others get everything"
    case endings = "a subscription ends after as many messages as were asked for"
    case echo = "a client that wants no echo does not hear itself"
    case requests = "requests are answered, and one without a subscriber fails at once"
    case streams = "a stream is made once, described, changed and deleted"
    case storing = "messages are stored in order, each once, and where expectations hold"
    case limits = "a full stream drops its oldest messages or refuses new ones"
    case singleMessages = "single messages are read and deleted"
    case purging = "messages are purged by subject, and sequences go on"
    case orderedReading = "readers begin where they are asked to and go on with what is stored"
    case lostConsumers = "a reader goes on exactly once when its consumer is deleted"
    case pages = "pages run through a stream with holes, without gap or repeat"
    case batches = "stored messages come in batches without a consumer, or not at all from older servers"
    case pulls = "a fetch takes what is there, waits for more, and gives up in time"
    case acknowledgements = "what is acknowledged does not come again, and what is not does"
    case deletedConsumers = "a fetch whose consumer is deleted gives what has come"
    case extents = "a new consumer tells how far the stream goes"
    case keys = "keys are set, read, listed and deleted"
    case conflicts = "of those who create or update a key at once, one wins"
    case watching = "a watcher sees the newest values and then every change"

    /// Connects a client to the server that is looked at.
    public typealias Connect = @Sendable (ConnectOptions) async throws -> NATSConnection

    /// The promise.
    public var testDescription: String { rawValue }

    /// Proves it, under names that are used only here.
    ///
    /// - Throws: what a call to the server fails with that is not to fail. Everything else is an expectation.
    public func check(_ connect: @escaping Connect) async throws {
        let scene = PromiseScene(
            connect: connect, connection: try await connect(ConnectOptions()),
            other: try await connect(ConnectOptions()))
        switch self {
        case .login: try await scene.login()
        case .subjects: try await scene.subjects()
        case .queueGroups: try await scene.queueGroups()
        case .endings: try await scene.endings()
        case .echo: try await scene.echo()
        case .requests: try await scene.requests()
        case .streams: try await scene.streams()
        case .storing: try await scene.storing()
        case .limits: try await scene.limits()
        case .singleMessages: try await scene.singleMessages()
        case .purging: try await scene.purging()
        case .orderedReading: try await scene.orderedReading()
        case .lostConsumers: try await scene.lostConsumers()
        case .pages: try await scene.pages()
        case .batches: try await scene.batches()
        case .pulls: try await scene.pulls()
        case .acknowledgements: try await scene.acknowledgements()
        case .deletedConsumers: try await scene.deletedConsumers()
        case .extents: try await scene.extents()
        case .keys: try await scene.keys()
        case .conflicts: try await scene.conflicts()
        case .watching: try await scene.watching()
        }
        await scene.connection.close()
        await scene.other.close()
    }
}

/// What a proof works with.
struct PromiseScene: Sendable {
    let connect: ServerPromise.Connect
    let connection: NATSConnection
    /// Another client's.
    let other: NATSConnection
    /// A name, and the beginning of subjects, for this proof alone.
    let name = "T" + UniqueToken.next()

    /// JetStream with time enough for a busy machine.
    var jetStream: JetStream { JetStream(connection, timeout: Self.patience) }

    static let patience = Duration.seconds(120)

    /// Makes a stream for everything below the name.
    func makeStream() async throws {
        var configuration = StreamConfiguration(name: name, subjects: ["\(name).>"], storage: .memory)
        configuration.allowsDirectAccess = true
        try await jetStream.createStream(configuration)
    }

    /// Stores numbers as texts, under `<name>.<number modulo 3>`.
    func fill(_ numbers: ClosedRange<Int>) async throws {
        let publisher = JetStreamPublisher(jetStream)
        for number in numbers {
            try await publisher.publish(ByteBuffer(string: "\(number)"), to: "\(name).\(number % 3)") { _ in }
        }
        try await publisher.drained()
    }

    /// The next messages of a subscription, which is read once.
    func first(_ count: Int, of subscription: NATSSubscription) async throws -> [NATSMessage] {
        var messages: [NATSMessage] = []
        for try await message in subscription {
            messages.append(message)
            if messages.count == count { return messages }
        }
        throw TestFailure("the subscription ended after \(messages.count) of \(count) messages")
    }

    /// The texts of a reader's next messages.
    func texts(_ reader: inout OrderedMessages.Iterator, _ count: Int) async throws -> [String] {
        var texts: [String] = []
        while texts.count < count, let message = try await reader.next() { texts.append(message.payloadText) }
        return texts
    }

    /// What JetStream refuses a call with; nil when it does not.
    func refusal(_ call: () async throws -> Void) async throws -> JetStreamFailure? {
        do {
            try await call()
            return nil
        } catch NATSError.jetStream(let failure) {
            return failure
        }
    }
}

extension StoredMessage {
    /// The payload as text.
    var payloadText: String { String(buffer: payload) }
}
