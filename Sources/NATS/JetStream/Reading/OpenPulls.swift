import NIOCore

/// The pull requests of one consumer that are under way, read as one, in the order in which their answers arrive.
///
/// Each has an inbox and a subscription of its own, which end with it: a server that reaches JetStream through an
/// import keeps something for each request until its answers can no longer be received. A server serves waiting
/// requests in turn, so their messages alternate. Together they ask for no more than the reader's buffer holds, so that
/// a slow reader loses nothing.
final class OpenPulls {
    /// What comes for a pull.
    enum Answer {
        /// A message. Where it has ended its pull early, as one without headers and payload does on its way through an
        /// import, the server keeps back what would follow it.
        case message(StoredMessage, place: DeliveryPlace, endsEarly: Bool)
        /// What the server says of the pull.
        case status(PullStatus)
    }

    private let jetStream: JetStream
    /// The subject that takes the requests.
    let subject: String
    let buffer: SubscriptionBuffer
    /// What was taken out of the buffer, the next one last.
    private var arrived: [NATSMessage] = []
    /// What they may still bring.
    private(set) var budget: PullBudget

    /// - Parameters:
    ///   - consumer: `<stream>.<consumer>`.
    ///   - messages: most messages that wait to be read.
    ///   - bytes: the most bytes that a pull is to ask for.
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

    /// Sends a request for up to `count` messages.
    ///
    /// - Parameters:
    ///   - bytes: how many it may bring; nil for what the budget has.
    ///   - isBounded: whether it is to end before a message that would make it too many bytes.
    ///   - expires: how long the server waits for messages; zero takes only what is there.
    ///   - heartbeat: how often the server says meanwhile that it waits; nil for never.
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

    /// What comes next for any of them; nil at the end. Throws `timeout` when nothing came until `deadline`.
    ///
    /// - Parameter count: where nothing is at hand, so many messages are waited for, for a moment.
    func next(
        until deadline: NIODeadline, gathering count: Int = 1, isolation actor: isolated (any Actor)? = #isolation
    ) async throws(NATSError) -> Answer? {
        while true {
            if let answer = try nextReady() { return answer }
            try await jetStream.connection.core.refill(
                &arrived, from: buffer, until: deadline, gathering: count, isolation: actor)
            if arrived.isEmpty { return nil }
        }
    }

    /// The next that has arrived for any of them; nil when there is none, without waiting.
    func nextReady() throws(NATSError) -> Answer? {
        while let message = arrived.popLast() {
            if let answer = try answer(message) { return answer }
        }
        return nil
    }

    /// Has each request ask for a single message from now on, or for many again.
    func askForSingles(_ isSingle: Bool) { budget.isSingle = isSingle }

    /// Reads a message and takes it off what its request still allows; nil for one that says nothing.
    private func answer(_ message: consuming NATSMessage) throws(NATSError) -> Answer? {
        let index = budget.pulls.firstIndex { UInt32(truncatingIfNeeded: $0.source) == message.source }
        if let place = message.reply.flatMap({ DeliveryPlace($0) }) {
            var goesOn = index != nil
            if let index {
                let source = budget.pulls[index].source
                goesOn = !budget.received(PullBudget.size(of: message), at: index)
                if !goesOn { jetStream.connection.core.removeSource(source) }
            }
            let endsEarly = goesOn && message.endsAnswers
            return .message(StoredMessage(message, at: place), place: place, endsEarly: endsEarly)
        }
        guard let status = PullStatus(message) else { return nil }
        if let index, status == .ended || status == .tooSmall {
            jetStream.connection.core.removeSource(budget.pulls[index].source)
            try budget.ended(at: index, isTooSmall: status == .tooSmall)
        }
        return .status(status)
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
