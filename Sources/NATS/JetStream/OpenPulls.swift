import NIOCore

/// The pull requests of one consumer that are under way, read as one, in the order in which their answers arrive.
///
/// Each has an inbox and a subscription of its own, which end with it: a server that reaches JetStream through an import
/// keeps something for each request until nobody can receive its answers any more. A server serves the requests that
/// wait in turn, so their messages alternate.
final class OpenPulls {
    private struct Pull {
        let sid: UInt64
        /// Messages that it still allows.
        var left: Int
    }

    private let jetStream: JetStream
    /// The subject that takes the requests.
    private let subject: String
    private let buffer: SubscriptionBuffer
    private var iterator: NATSSubscription.Iterator
    private var pulls: [Pull] = []

    /// - Parameter consumer: `<stream>.<consumer>`.
    init(from consumer: String, limits: BufferLimits, _ jetStream: JetStream) {
        self.jetStream = jetStream
        subject = jetStream.prefix + "CONSUMER.MSG.NEXT." + consumer
        let core = jetStream.connection.core
        buffer = core.sharedBuffer(named: subject, limits: limits)
        iterator = NATSSubscription(core: core, buffer: buffer).makeAsyncIterator()
    }

    deinit { for pull in pulls { jetStream.connection.core.removeSource(pull.sid) } }

    /// Messages that all of them together still allow.
    private(set) var outstanding = 0

    /// Sends a request for up to `count` messages.
    func add(_ count: Int, expires: Duration, heartbeat: Duration) throws(NATSError) {
        let inbox = jetStream.connection.newInbox()
        let sid = try jetStream.connection.core.addSource(inbox, to: buffer)
        pulls.append(Pull(sid: sid, left: count))
        outstanding += count
        let request =
            "{\"batch\":\(count),\"expires\":\(expires.nanoseconds),\"idle_heartbeat\":\(heartbeat.nanoseconds)}"
        try jetStream.connection.publish(ByteBuffer(string: request), to: subject, reply: inbox)
    }

    /// What comes next on any of them; nil at the end. Throws `timeout` when nothing came until `deadline`.
    func next(until deadline: NIODeadline, isolation actor: isolated (any Actor)?) async throws(NATSError)
        -> NATSMessage?
    {
        try await iterator.next(until: deadline, isolation: actor)
    }

    /// What has come on any of them and was not read yet; nil when that would have to be waited for.
    func nextReady() -> NATSMessage? { iterator.nextReady() }

    /// One of the messages that a request allowed has come.
    func delivered(_ message: NATSMessage) {
        guard let index = index(of: message) else { return }
        pulls[index].left -= 1
        outstanding -= 1
        if pulls[index].left == 0 { remove(index) }
    }

    /// The server said that a request has ended, with what it still allowed.
    func ended(_ status: NATSMessage) {
        if let index = index(of: status) { remove(index) }
    }

    private func index(of message: NATSMessage) -> Int? {
        pulls.firstIndex { UInt32(truncatingIfNeeded: $0.sid) == message.source }
    }

    private func remove(_ index: Int) {
        let pull = pulls.remove(at: index)
        outstanding -= pull.left
        jetStream.connection.core.removeSource(pull.sid)
    }
}
