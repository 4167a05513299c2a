import NIOCore

/// The open pull requests of one consumer. Whatever arrives for any of them goes into one buffer, in order of arrival.
///
/// Each has its own inbox and subscription, which end with it: a server that reaches JetStream through an import keeps
/// state for each request until its answers can no longer be received. A server serves waiting requests in turn, so
/// their messages alternate. Together they request no more than the reader's buffer holds, so that a slow reader loses
/// nothing.
final class OpenPulls {
    private let jetStream: JetStream
    let subject: String
    let buffer: SubscriptionBuffer
    private(set) var budget: PullBudget

    /// Pulls of `<stream>.<consumer>` for at most `bytes` each, of which up to `messages` may wait to be read.
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

    /// Sends a request for up to `count` messages and the given number of bytes, or what the budget allows. A bounded
    /// one ends before it would exceed the bytes; with zero `expires` it returns only what is there.
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

    /// Counts a stored message against its request. Returns whether it has ended the request early, as one without
    /// headers and payload does when it passes an import: the server holds back what would follow.
    func received(_ message: NATSMessage) -> Bool {
        guard let index = index(of: message) else { return false }
        let source = budget.pulls[index].source
        guard budget.received(PullBudget.size(of: message), at: index) else { return message.endsAnswers }
        jetStream.connection.core.removeSource(source)
        return false
    }

    /// The server's status for a request, which may end it; nil if the message is not one.
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

/// The server's status for a pull, in place of a message.
enum PullStatus: Equatable {
    /// The pull still waits; `sent` is the number of messages that its consumer has sent, 0 if the server does not
    /// tell.
    case alive(sent: UInt64)
    /// Its time has passed, there is nothing for it, or it has delivered all messages that it asked for.
    case ended
    /// The next message does not fit into the rest of its bytes.
    case tooSmall
    /// No consumer received it: it is gone, or this server of the cluster does not know of it yet.
    case unheard
    /// It was refused, or its consumer is gone.
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
