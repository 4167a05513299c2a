import NIOCore

/// The pull requests of one consumer that are under way, read as one, in the order in which their answers arrive.
///
/// Each has an inbox and a subscription of its own, which end with it: a server that reaches JetStream through an
/// import keeps something for each request until its answers can no longer be received. A server serves waiting
/// requests in turn, so their messages alternate. Together they ask for no more than the reader's buffer holds, so that
/// a slow reader loses nothing.
final class OpenPulls {
    private let jetStream: JetStream
    /// The subject that takes the requests.
    private let subject: String
    let buffer: SubscriptionBuffer
    private var iterator: NATSSubscription.Iterator
    /// What they may still bring.
    private(set) var budget: PullBudget

    /// - Parameters:
    ///   - consumer: `<stream>.<consumer>`.
    ///   - messages: most messages that wait to be read.
    init(from consumer: String, messages: Int, _ jetStream: JetStream) {
        self.jetStream = jetStream
        subject = jetStream.prefix + "CONSUMER.MSG.NEXT." + consumer
        let core = jetStream.connection.core
        let budget = PullBudget(maximumPayload: core.maximumPayload, asked: jetStream.pullBytes)
        self.budget = budget
        buffer = core.sharedBuffer(named: subject, limits: budget.bufferLimits(messages: messages))
        iterator = NATSSubscription(core: core, buffer: buffer).makeAsyncIterator()
    }

    deinit { for pull in budget.pulls { jetStream.connection.core.removeSource(pull.source) } }

    /// Sends a request for up to `count` messages.
    ///
    /// - Parameters:
    ///   - isBounded: whether it is to end before a message that would make it too many bytes.
    ///   - expires: how long the server waits for messages; zero takes only what is there.
    ///   - heartbeat: how often the server says meanwhile that it waits; nil for never.
    func add(_ count: Int, isBounded: Bool, expires: Duration, heartbeat: Duration?) throws(NATSError) {
        let inbox = jetStream.connection.newInbox()
        let sid = try jetStream.connection.core.addSource(inbox, to: buffer)
        let bytes = budget.next
        var request = "{\"batch\":\(count),"
        if isBounded { request += "\"max_bytes\":\(bytes)," }
        request += expires == .zero ? "\"no_wait\":true" : "\"expires\":\(expires.nanoseconds)"
        if let heartbeat { request += ",\"idle_heartbeat\":\(heartbeat.nanoseconds)" }
        request += "}"
        do throws(NATSError) {
            try jetStream.connection.publish(ByteBuffer(string: request), to: subject, reply: inbox)
        } catch {
            jetStream.connection.core.removeSource(sid)
            throw error
        }
        budget.began(sid, messages: count, bytes: bytes, isBounded: isBounded)
    }

    /// What comes next on any of them; nil at the end. Throws `timeout` when nothing came until `deadline`.
    func next(
        until deadline: NIODeadline, gathering count: Int, isolation actor: isolated (any Actor)?
    ) async throws(NATSError) -> NATSMessage? {
        try await iterator.next(until: deadline, gathering: count, isolation: actor)
    }

    /// The next message that has arrived for any of them; nil when there is none, without waiting.
    func nextReady() -> NATSMessage? { iterator.nextReady() }

    /// Has each request ask for a single message from now on, or for many again.
    func askForSingles(_ isSingle: Bool) { budget.isSingle = isSingle }

    /// One of the messages that a request allowed has come.
    ///
    /// - Returns: whether the request goes on.
    @discardableResult
    func delivered(_ message: NATSMessage) -> Bool {
        guard let index = index(of: message) else { return false }
        let source = budget.pulls[index].source
        guard budget.received(PullBudget.size(of: message), at: index) else { return true }
        jetStream.connection.core.removeSource(source)
        return false
    }

    /// The server said that a request has ended, with what it still allowed.
    ///
    /// - Parameter isTooSmall: whether the next message does not fit into what was left of its bytes.
    func ended(_ status: NATSMessage, isTooSmall: Bool) throws(NATSError) {
        guard let index = index(of: status) else { return }
        jetStream.connection.core.removeSource(budget.pulls[index].source)
        try budget.ended(at: index, isTooSmall: isTooSmall)
    }

    private func index(of message: NATSMessage) -> Int? {
        budget.pulls.firstIndex { UInt32(truncatingIfNeeded: $0.source) == message.source }
    }
}
