import NIOCore

/// The pull requests of one consumer that are under way. What comes for any of them comes into one buffer, in the order
/// in which it arrives.
///
/// Each has an inbox and a subscription of its own, which end with it: a server that reaches JetStream through an
/// import keeps something for each request until its answers can no longer be received. A server serves waiting
/// requests in turn, so their messages alternate. Together they ask for no more than the reader's buffer holds, so that
/// a slow reader loses nothing.
final class OpenPulls {
    private let jetStream: JetStream
    let subject: String
    let buffer: SubscriptionBuffer
    private(set) var budget: PullBudget

    /// Pulls of `<stream>.<consumer>` for `bytes` each at most, of which so many messages may wait to be read.
    init(from consumer: String, messages: Int, bytes: Int = .max, _ jetStream: JetStream) {
        self.jetStream = jetStream
        subject = jetStream.prefix + "CONSUMER.MSG.NEXT." + consumer
        let core = jetStream.connection.core
        let budget = PullBudget(maximumPayload: core.maximumPayload, asked: jetStream.pullBytes, most: bytes)
        self.budget = budget
        buffer = core.sharedBuffer(named: subject, limits: budget.bufferLimits(messages: messages))
    }

    deinit {
        for pull in budget.pulls { jetStream.connection.core.removeSource(pull.source) }
        jetStream.connection.core.removeSubscription(buffer)
    }

    var isEmpty: Bool { budget.pulls.isEmpty }

    /// Sends a request for up to `count` messages and as many bytes as the budget has, or as are given. A bounded one
    /// ends before a message that would make it more; with zero `expires` it takes only what is there.
    func add(
        _ count: Int, bytes: Int? = nil, isBounded: Bool = true, expires: Duration, heartbeat: Duration? = nil
    ) throws(NATSError) {
        let inbox = jetStream.connection.newInbox()
        let sid = try jetStream.connection.core.addSource(inbox, to: buffer)
        let bytes = bytes ?? budget.next
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

    func askForSingles(_ isSingle: Bool) { budget.isSingle = isSingle }

    /// Takes a stored message off what its request still allows. Returns whether it has ended its request early, as one
    /// without headers and payload does on its way through an import: the server keeps back what would follow it.
    func received(_ message: NATSMessage) -> Bool {
        guard let index = index(of: message) else { return false }
        let source = budget.pulls[index].source
        guard budget.received(PullBudget.size(of: message), at: index) else { return message.endsAnswers }
        jetStream.connection.core.removeSource(source)
        return false
    }

    /// What the server says of a request, which may end it; nil where the message says nothing.
    func status(_ message: NATSMessage) throws(NATSError) -> PullStatus? {
        guard let status = PullStatus(message) else { return nil }
        if status == .ended || status == .tooSmall, let index = index(of: message) {
            jetStream.connection.core.removeSource(budget.pulls[index].source)
            try budget.ended(at: index, isTooSmall: status == .tooSmall)
        }
        return status
    }

    private func index(of message: NATSMessage) -> Int? {
        budget.pulls.firstIndex { UInt32(truncatingIfNeeded: $0.source) == message.source }
    }
}

/// What the server says of a pull in place of a message.
enum PullStatus: Equatable {
    /// It goes on waiting; its consumer has sent so many messages, where the server says so.
    case alive(sent: UInt64)
    /// Its time is up, there is nothing for it, or it has brought as many messages as it asked for.
    case ended
    /// The next message does not fit into what is left of its bytes.
    case tooSmall
    /// Nobody has heard it: the consumer is gone, or this server does not know of it yet, as a cluster's other servers
    /// may not where one has just made it.
    case unheard
    /// It was refused, or what it asked is gone.
    case failed(JetStreamFailure)

    init?(_ message: NATSMessage) {
        guard message.hasStatusLine, let block = message.headerBlock, let status = block.status else { return nil }
        let text = block.statusText ?? "pull refused"
        switch status {
        case 100: self = .alive(sent: block.headers["Nats-Last-Consumer"].flatMap { UInt64($0) } ?? 0)
        case 404, 408: self = .ended
        case 409 where text.lowercased().contains("batch completed"): self = .ended
        case 409 where text.lowercased().contains("message size exceeds"): self = .tooSmall
        case 503 where block.statusText == nil: self = .unheard
        default: self = .failed(JetStreamFailure(code: status, errorCode: 0, text: text))
        }
    }
}
