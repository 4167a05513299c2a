import NATS
import NIOCore

// Carries out decisions outside the lock, and handles the results.
extension Publisher {
    /// The server's answer for a message, and the number of its route.
    typealias Answer = (id: String, result: Result<PublishAcknowledgement, NATSError>, route: UInt64)
    /// Answers for messages, or the reasons why they were not written.
    private typealias Results = [(id: String, result: Result<PublishAcknowledgement, NATSError>)]
    /// A finding, for ``Delivery``.
    private typealias Report = @Sendable (inout Delivery, ContinuousClock.Instant) -> [Delivery.Action]

    // MARK: Carrying out

    /// Decides under the lock, and carries out the decisions outside, unless another thread is doing so.
    @discardableResult
    func decide<Value>(_ change: (inout State) -> Value) -> Value {
        var due = Due()
        let (value, route) = state.withLockedValue { state -> (Value, Route?) in
            let value = change(&state)
            state.conclude()
            guard !state.isCarryingOut, !state.due.isEmpty else { return (value, nil) }
            state.isCarryingOut = true
            swap(&due, &state.due)
            return (value, state.route)
        }
        if !due.isEmpty { carryOut(&due, from: route) }
        return value
    }

    /// Carries out decisions, and those that they lead to or that are made meanwhile, until there are none.
    ///
    /// - Parameter first: The route at the time of the first decision.
    private func carryOut(_ due: inout Due, from first: Route?) {
        var route = first
        while true {
            var refused: Results = []
            carryOut(due, over: route, refused: &refused)
            due.removeAll()
            route = state.withLockedValue { state -> Route? in
                if !refused.isEmpty {
                    state.take(state.delivery.answered(refused, at: clock.now))
                    state.conclude()
                }
                swap(&due, &state.due)
                state.isCarryingOut = !due.isEmpty
                return state.route
            }
            if due.isEmpty { return }
        }
    }

    private func carryOut(_ due: Due, over route: Route?, refused: inout Results) {
        let isWatched = board.isWatched
        for action in due.actions { perform(action, over: route, isWatched: isWatched, refused: &refused) }
        for (waiter, end) in due.receipts { waiter.end(end) }
        due.forgotten?.removeAll()
        for (waiter, answer) in due.answers { waiter.fulfil(answer) }
        if let (changes, store) = due.write { write(changes, into: store) }
        if let delay = due.writeAlarm {
            clock.set(.journal, at: clock.now + delay) { [weak self] in self?.decide { $0.disk.alarmRang() } }
        }
    }

    private func perform(_ action: Delivery.Action, over route: Route?, isWatched: Bool, refused: inout Results) {
        switch action {
        case .tell(let news): if isWatched { board.post(news, keepsCurrent: false) }
        case .end(let news):
            log.ended(news)
            if isWatched { board.post(news, keepsCurrent: false) }
        case .send(let message):
            guard let route else { return }
            if isWatched { board.post(PublishNews(id: message.id, state: .sending), keepsCurrent: false) }
            do throws(NATSError) { try send(message, over: route) } catch {
                guard route.jetStream.connection.isOpen else { return }
                var error = error
                // The person is told the limit for the text they wrote.
                if case .payloadTooLarge = error,
                    case .tooLarge(let bytes, let limit)? = state.withLockedValue({ objection(to: message, $0) })
                {
                    error = .payloadTooLarge(bytes: bytes, limit: limit)
                }
                log.refused(message.id, error)
                refused.append((message.id, .failure(error)))
            }
        case .wake(let moment):
            clock.set(.delivery, at: moment) { [weak self] in
                guard let self else { return }
                decide { $0.take($0.delivery.moment(at: self.clock.now)) }
            }
        case .probe: route?.jetStream.connection.probe()
        case .askRecipient(let id, let user, let postbox, let isRefused):
            ask(over: route) { [clock] route in
                let answer = await route.recipient(user, postbox, isRefused: isRefused, clock)
                return { $0.recipientAnswered(id: id, answer, isRefused: isRefused, at: $1) }
            }
        case .askStream(let id, let topic):
            ask(over: route) { route in
                guard await route.isStreamMissing(topic) else { return nil }
                return { $0.streamIsMissing(id: id, at: $1) }
            }
        case .lookUp(let late, let topic):
            ask(over: route) { route in
                let finding = await route.find(late, on: topic)
                return { $0.lookedUp(id: late.message.id, finding, at: $1) }
            }
        case .lookUpKey(let late, let key):
            ask(over: route) { route in
                let finding = await route.look(at: key, before: late)
                return { $0.keyLookedUp(id: late.message.id, finding, at: $1) }
            }
        }
    }

    /// Asks the network and handles the answer, unless the route has changed meanwhile.
    private func ask(over route: Route?, _ question: @escaping @Sendable (Route) async -> Report?) {
        guard let route else { return }
        Task { [weak self, clock] in
            guard let report = await question(route) else { return }
            self?.decide { state in
                guard state.route === route else { return }
                state.take(report(&state.delivery, clock.now))
            }
        }
    }

    private func send(_ message: OutboxMessage, over route: Route) throws(NATSError) {
        let subject = route.subject(sendingTo: message.destination)
        let (id, number) = (message.id, route.number)
        let header = route.header(of: message, on: subject)
        if route.messageKey == nil { sends(id, on: subject) }
        if message.payload.isEmpty, message.isOnKey {
            return try route.jetStream.send(
                ByteBuffer(), to: subject, messageID: header, headers: KeyValueStore.deletion
            ) { [self] result in
                answered((id, result, number))
            }
        }
        // The connection releases this object with the answer or when it ends.
        try route.jetStream.send(message.payload, to: subject, messageID: header, id: id, tag: number, observer: self)
    }

    // MARK: Answers

    func answered(_ id: String, tag: UInt64, _ result: Result<PublishAcknowledgement, NATSError>) {
        guard case .success(let told) = result, told.isDuplicate, told.sequence > 0,
            let (message, route) = doubt(id, tag)
        else { return answered((id, result, tag)) }
        Task { [weak self] in
            let isTaken = await route.isTaken(message, by: told.sequence, in: told.stream)
            let refusal = NATSError.invalidArgument(
                "The identifier \(id) is taken: another message is stored under it. Choose another one.")
            self?.answered((id, isTaken ? .failure(refusal) : result, tag))
        }
    }

    /// The message and its route, if the server's claim that it was stored already may concern another message: without
    /// a key, others can use its identifier.
    private func doubt(_ id: String, _ number: UInt64) -> (OutboxMessage, Route)? {
        state.withLockedValue { state in
            guard let route = state.route, route.number == number, route.messageKey == nil,
                let message = state.delivery.message(underWay: id), message.isOnTopic
            else { return nil }
            return (message, route)
        }
    }

    /// Queues an answer, on the connection's event loop. Answers that arrive together are handled together.
    private func answered(_ answer: Answer) {
        let isFirst = answers.withLockedValue { answers in
            answers.waiting.append(answer)
            return !exchange(&answers.isTaken, with: true)
        }
        if isFirst { Task { [weak self] in self?.takeAnswers() } }
    }

    private func takeAnswers() {
        while true {
            let taken = answers.withLockedValue { answers in
                defer { answers = ([], !answers.waiting.isEmpty) }
                return answers.waiting
            }
            if taken.isEmpty { return }
            for case (let id, .failure(let error), _) in taken { log.refused(id, error) }
            let route = state.withLockedValue(\.route)
            let isOpen = route?.jetStream.connection.isOpen ?? false
            decide { state in
                // The failure of a connection proves nothing about its messages, which `connectionLost` puts back into
                // the queue. A late acknowledgement still counts: the server has the message.
                let present = isOpen && state.route === route ? route?.number : nil
                let heard = taken.lazy.filter { answer in
                    if case .success = answer.result { true } else { answer.route == present }
                }
                state.take(state.delivery.answered(heard.map { ($0.id, $0.result) }, at: clock.now))
            }
        }
    }
}
