import NATS
import NIOConcurrencyHelpers
import NIOCore
import TestSupport

@testable import Relay

/// A network in the test's own memory, with one namespace, one postbox stream, and a clock that the test moves.
///
/// What a client does about time, it does by this clock. What the wire itself does about time, a request's limit say,
/// is the real one.
struct MemoryNetwork: Sendable {
    static let namespace = RelayConfiguration.Namespace(name: "test", hash: "h4sh")
    static let user = "alice"

    let server: MemoryServer
    let time = ManualTime()
    /// How long a question to JetStream waits for its answer: real time, as the wire's limits below.
    var answerLimit = Duration.seconds(60)

    /// - Parameter ahead: how far the server's clock is ahead of the machine's; negative for one that is behind.
    init(ahead: Duration = .zero) throws {
        server = MemoryServer(ahead: ahead)
        try server.createStream("test_stream", subjects: ["h4sh.>"])
        try createPostbox()
    }

    func createPostbox() throws {
        try server.createStream("PB_alice", subjects: ["postbox.alice.*", "postbox.alice.*.*"])
    }

    var surroundings: Surroundings {
        Surroundings(
            dial: { [server] (address, options) async throws(NATSError) in try await server.connect(address, options) },
            clock: time, answerLimit: answerLimit)
    }

    func configuration(
        reconnect: ReconnectPolicy = .rongcloud, lifecycle: LifecyclePolicy = .ignore, outbox: OutboxPolicy = .parley,
        credentials: RelayCredentials = .none, user: String? = MemoryNetwork.user
    ) -> RelayConfiguration {
        RelayConfiguration(
            servers: .fixed([ServerAddress(host: "memory")]), credentials: credentials, user: user,
            namespace: Self.namespace, reconnect: reconnect, lifecycle: lifecycle, outbox: outbox,
            followsNetwork: false,
            // The wire's own limits are real time; a busy machine is no fault of what is tested here.
            dialTimeout: .seconds(60), pongTimeout: .seconds(60))
    }

    /// A client that has not been asked to connect.
    func client(_ configuration: RelayConfiguration? = nil) -> RelayClient {
        RelayClient(configuration: configuration ?? self.configuration(), surroundings: surroundings)
    }

    /// A client that nobody has asked to connect, and of which the credentials alone say who it is.
    func client(with credentials: RelayCredentials) -> RelayClient {
        client(configuration(credentials: credentials, user: nil))
    }

    /// A network, and a client that is connected to it.
    static func connected() async throws -> (MemoryNetwork, RelayClient) {
        let network = try MemoryNetwork()
        return (network, try await network.connected())
    }

    /// A client that is connected.
    func connected(_ configuration: RelayConfiguration? = nil) async throws -> RelayClient {
        let client = client(configuration)
        try await client.connect()
        return client
    }

    /// Stores a line as any client of the network would.
    @discardableResult
    func store(_ text: String, on topic: String = "chat.room") throws -> UInt64 {
        let envelope = Envelope(id: RelayClient.newID(), room: topic, message: .string(text), start: .now)
        return try server.store("h4sh.\(topic)", envelope.encoded())
    }

    /// The texts of a topic's stored lines.
    func stored(on topic: String = "chat.room") -> [String] {
        server.messages(in: "test_stream").filter { $0.subject == "h4sh.\(topic)" }.compactMap { message in
            try? Envelope(decoding: message.payload, fallbackID: "", fallbackRoom: "", fallbackStart: .now).message
                .stringValue
        }
    }

    /// Stores a letter as any client of the network would.
    @discardableResult
    func postLetter(_ text: String, postbox: String = "personal") throws -> UInt64 {
        let letter = PostboxLetter(id: RelayClient.newID(), createdAt: 0, message: text)
        return try server.store("postbox.alice.\(postbox).bob", letter.encoded())
    }

    /// Lets time pass until something holds: whatever waits for its moment has it as soon as nothing else goes on. Time
    /// that passed while an answer is on its way would have it come too late.
    ///
    /// - Parameter step: the longest time that passes at once, for a test that has more than one thing wait.
    func letTimePass(
        _ what: String, inStepsOf step: Duration = .seconds(1_000_000), until condition: @Sendable () -> Bool
    ) async throws {
        try await eventually(what, deadline: .seconds(300)) {
            if condition() { return true }
            try await settle()
            if condition() { return true }
            if let wait = time.untilNext { time.advance(by: min(wait, step)) }
            return condition()
        }
    }

    /// Returns when nothing that was begun goes on: nobody asks the server, dials it or begins to wait, though
    /// everything has had its turns.
    private func settle() async throws {
        var (before, turns, calmTurns) = (begun, 0, 0)
        // Some things may never rest, such as what asks again in real time.
        while calmTurns < 4, turns < 200 {
            try await giveEverythingATurn()
            let now = begun
            calmTurns = now == before ? calmTurns + 1 : 0
            turns += 1
            before = now
        }
    }

    /// How much has been begun so far, each kind of it.
    private var begun: [UInt64] {
        [server.received.count, server.dials, server.logins, server.connections].map { UInt64($0) } + [time.sleeps]
    }

    /// Lets time pass while something is tried again, until something holds: no more than from one attempt to the next,
    /// or an answer that is on its way would come too late.
    ///
    /// - Parameter subject: a part of the subject that the attempts go to.
    func letAttemptsPass(
        on subject: String, _ what: String, until condition: @escaping @Sendable (_ attempts: Int) -> Bool
    ) async throws {
        let passed = NIOLockedValueBox((attempts: 0, time: Duration.zero))
        try await eventually(what) {
            let attempts = server.received.count { $0.contains(subject) }
            passed.withLockedValue { passed in
                if attempts > passed.attempts { passed = (attempts, .zero) }
                guard let next = time.untilNext, passed.time + next <= .seconds(2.5) else { return }
                time.advance(by: next)
                passed.time += next
            }
            return condition(attempts)
        }
    }

    /// Takes the connection of the only client away, as the background does, and returns when nothing that is stored
    /// from then on can come over it: a client that leaves has a last word to say first.
    func takeConnection(of client: RelayClient) async throws {
        await client.setReachable(false)
        try await eventually("the end of the connection") { server.connections == 0 }
    }

    /// Lets the client's next attempt begin, whenever it would.
    func attemptNow(_ client: RelayClient) async throws {
        try await eventually("the wait for the next attempt") { client.status.nextRetryAt != nil }
        if let moment = client.status.nextRetryAt { time.advance(by: moment - time.now) }
    }
}

/// The events of a subscription, as short words.
final class Heard: Sendable {
    private let words = Collected()
    private let task: Task<Void, Never>

    init(_ events: TopicEvents) {
        task = Task { [words] in
            do throws(RelayError) {
                var iterator = events.makeAsyncIterator()
                while let event = try await iterator.next() { words.add(Self.word(event)) }
                words.add("end")
            } catch {
                words.add("error: \(error)")
            }
        }
    }

    deinit { task.cancel() }

    var all: [String] { words.all }

    /// The texts of the messages alone.
    var texts: [String] { all.filter { $0.hasPrefix("> ") }.map { String($0.dropFirst(2)) } }

    func wait(for word: String, times: Int = 1) async throws {
        try await eventually("“\(word)” among \(all)") { all.count { $0 == word } >= times }
    }

    private static func word(_ event: TopicEvent) -> String {
        switch event {
        case .message(let message): (message.isRecovered ? "↺ " : "> ") + message.text
        case .unreadable: "unreadable"
        case .gap(let lost): "lost \(lost)"
        case .live: "live"
        case .restarted: "restarted"
        case .interrupted(_, let passes): passes ? "interrupted" : "refused"
        }
    }
}
