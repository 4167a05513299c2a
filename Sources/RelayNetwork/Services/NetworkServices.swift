import Logging
import NATS
import NIOConcurrencyHelpers
import Relay

/// All work of a process for a network over one pair of connections: it answers requests, shared with any number of
/// other hosts (a queue group), announces that it does, and watches users' consumers.
///
/// The server vouches for the client: a request that comes through an import carries its account. A user's requests
/// queue, and are refused when too many wait. All are answered, as the server remembers unanswered ones.
struct NetworkServices: Sendable {
    static let subjects = ServiceEndpoint.allCases.map(\.subject)
    static let queue = "relay-hosts"

    let postboxes: PostboxService
    private let connection: NATSConnection
    private let users: UserAccounts
    private let namespace: NamespaceService
    private let enrolment: EnrolmentService
    private let figures: NIOLockedValueBox<ServiceFigures>
    private let requests: [(ServiceEndpoint, NATSSubscription)]
    private let discovery: ServiceDiscovery
    private let guardian: PushConsumerGuard
    private let logger: Logger
    private let state = NIOLockedValueBox(State())
    /// Requests whose turn it is, up to the concurrency limit.
    private let ready: AsyncStream<Request>
    private let turns: AsyncStream<Request>.Continuation

    private struct State: Sendable {
        var queue = RequestQueue<String, Request>()
        var isDraining = false
        /// The number of tasks that still enqueue requests.
        var readers = 0
    }

    private struct Request: Sendable {
        let endpoint: ServiceEndpoint
        let account: String
        let message: NATSMessage
    }

    /// Subscribes; nothing is answered before ``run()``.
    /// - Parameter jetStream: the network's streams, over another connection, in ``HostRole/keeping``.
    init(
        answering: NATSConnection, jetStream: JetStream, plan: NetworkPlan, users: any UserRegister,
        issuer: UserTokenIssuer, id: String, figures: NIOLockedValueBox<ServiceFigures>, logger: Logger
    ) throws(NATSError) {
        (ready, turns) = AsyncStream.makeStream()
        (connection, self.figures, self.logger) = (answering, figures, logger)
        self.users = UserAccounts(register: users)
        postboxes = try PostboxService(jetStream: jetStream, plan: plan, users: users)
        namespace = NamespaceService(names: plan.names, users: users, issuer: issuer, jetStream: jetStream)
        enrolment = EnrolmentService(users: users, issuer: issuer, logger: logger)
        requests = try ServiceEndpoint.allCases.map { endpoint throws(NATSError) in
            // Requests are only enqueued here, so these buffers hold what one turn of the loop brings.
            let subscription = try answering.subscribe(
                to: endpoint.subject, queue: Self.queue,
                limits: BufferLimits(messages: 65_536, bytes: 64 << 20, overflow: .dropNewest))
            return (endpoint, subscription)
        }
        discovery = try ServiceDiscovery(connection: answering, id: id, figures: figures)
        guardian = try PushConsumerGuard(
            jetStream: jetStream, users: self.users, limits: plan.settings.users, logger: logger)
    }

    static func newID() -> String { String(UInt64.random(in: .min ... .max), radix: 36, uppercase: true) }

    func run() async throws(NetworkError) {
        // Its end does not give the cause of a lost connection; the others' do.
        async let _: Void = discovery.run()
        try await untilOneEnds({ try await answer() }, { try await guardian.run() })
    }

    private func answer() async throws(NATSError) {
        let failure = await withTaskGroup(of: NATSError?.self) { group in
            state.withLockedValue { $0.readers += requests.count }
            for (endpoint, subscription) in requests {
                group.addTask {
                    defer { state.withLockedValue { $0.readers -= 1 } }
                    return await read(subscription, of: endpoint)
                }
            }
            group.addTask {
                await work()
                return nil
            }
            var first: NATSError?
            while let ending = await group.next() {
                first = ending
                // Ended subscriptions leave work behind.
                guard ending == nil, state.withLockedValue(\.isDraining), !Task.isCancelled else { break }
            }
            group.cancelAll()
            turns.finish()
            await group.waitForAll()
            return first
        }
        if let failure { throw failure }
    }

    private func work() async {
        await withDiscardingTaskGroup { work in
            for await request in ready {
                work.addTask {
                    let begin = ContinuousClock.now
                    let answer = await answer(request)
                    send(answer ?? request.endpoint.refusal, to: request.message)
                    figures.withLockedValue {
                        $0.count(request.endpoint, took: begin.duration(to: .now), didAnswer: answer != nil)
                    }
                    let next = state.withLockedValue { $0.queue.finished(request.account) }
                    for (_, request) in next { turns.yield(request) }
                }
            }
            work.cancelAll()
        }
    }

    /// Leaves new requests to other processes; returns when earlier ones are answered or the time is up.
    func drain(within limit: Duration) async {
        state.withLockedValue { $0.isDraining = true }
        let deadline = ContinuousClock.now + limit
        for (_, subscription) in requests { subscription.drain() }
        // Messages sent before the server stopped arrive before its answer.
        try? await connection.flush(timeout: limit)
        for (_, subscription) in requests { subscription.unsubscribe() }
        while state.withLockedValue({ $0.readers > 0 || !$0.queue.isIdle }), connection.isOpen, .now < deadline {
            do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
        }
        try? await connection.flush(timeout: .seconds(1))
    }

    /// Enqueues requests as they arrive; returns when the connection has ended.
    private func read(_ subscription: NATSSubscription, of endpoint: ServiceEndpoint) async -> NATSError? {
        do throws(NATSError) {
            for try await message in subscription {
                guard message.reply != nil, let account = Self.account(of: message) else { continue }
                let request = Request(endpoint: endpoint, account: account, message: message)
                switch state.withLockedValue({ $0.queue.arrived(request, from: account) }) {
                case .start: turns.yield(request)
                case .wait: break
                case .refuse:
                    logger.debug(
                        "refused a request: the user has too many waiting", metadata: ["service": "\(endpoint)"])
                    figures.withLockedValue { $0.refused(endpoint) }
                    send(endpoint.refusal, to: message)
                }
            }
            return nil
        } catch {
            return error
        }
    }

    private func answer(_ request: Request) async -> [UInt8]? {
        let message = request.message
        guard let user = await users.user(ofAccount: request.account) else {
            logger.debug("a request does not come from a user's account", metadata: ["service": "\(request.endpoint)"])
            return nil
        }
        let tokens = message.subject.split(separator: ".").map(String.init)
        // The imports already keep users from using another's name; this is a second check.
        func isOwn(_ subject: String) -> Bool { message.subject == subject }
        switch request.endpoint {
        case .namespace:
            await postboxes.prepare(user)
            return await namespace.reply(to: user, in: request.account)
        case .streams where isOwn(NetworkNames.streams(of: user.text)):
            return NamespaceService.streams(of: user, asked: message.bytes, namespace.names)
        case .enrolment where isOwn(NetworkNames.enrolment(of: user.text)):
            return await enrolment.reply(to: message.bytes, of: user)
        case .recipient where tokens.count == 4:
            return Wire.json(RecipientReply(state: await postboxes.state(ofPostbox: tokens[3], of: tokens[2])))
        case .postboxes where tokens.count == 4 && tokens[2] == user.text:
            return Wire.json(await postboxes.reply(to: message.bytes, verb: tokens[3], of: user))
        case .streams, .enrolment, .recipient, .postboxes:
            logger.debug(
                "a user asks for another user's data", metadata: ["service": "\(request.endpoint)", "user": "\(user)"])
            return nil
        }
    }

    /// If an answer cannot be sent, the client times out; the reader notices the connection's end.
    private func send(_ answer: [UInt8], to message: NATSMessage) {
        guard let reply = message.reply else { return }
        _ = try? connection.publish(answer, to: reply)
    }

    /// The account of a request, as the server says; nil for the network's own.
    static func account(of message: NATSMessage) -> String? {
        guard let header = message.headers["Nats-Request-Info"] else { return nil }
        // The server's own format, read without a parser, so that refusing a flood of requests is cheap.
        let (begin, length) = (#"{"acc":""#, 56)
        if header.hasPrefix(begin) {
            let rest = header.utf8.dropFirst(begin.utf8.count)
            if rest.dropFirst(length).first == UInt8(ascii: "\""), let account = String(rest.prefix(length)) {
                return account
            }
        }
        return Wire.value(RequestInformation.self, from: header.utf8)?.acc
    }

    private struct RequestInformation: Decodable { var acc: String }
}

struct UserAccounts: Sendable {
    let register: any UserRegister
    private let known = NIOLockedValueBox<[String: UserName]>([:])

    func user(ofAccount account: String) async -> UserName? {
        if let user = known.withLockedValue({ $0[account] }) { return user }
        guard let user = await register.user(ofAccount: account) else { return nil }
        known.withLockedValue { $0[account] = user }
        return user
    }
}
