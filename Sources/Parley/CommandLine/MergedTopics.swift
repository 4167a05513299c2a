import Relay

/// Several subscriptions to one stream, read as one: in the stream's order, each message once.
///
/// A `TopicMerge` decides what comes next; this supplies readers and a clock. A subscription that is far ahead of the
/// others is not read meanwhile, so that its messages stay on the server.
struct MergedTopics: Sendable {
    let subscriptions: [TopicEvents]
    /// Whether two of them may bring the same message.
    let mayRepeat: Bool

    private enum Arrival: Sendable {
        /// A subscription's news; nil at its end.
        case news([SubscriptionNews<TopicEvent>]?, source: Int)
        /// The moment at which the merge asked to be woken.
        case moment(ContinuousClock.Instant)
    }

    /// Hands events over as they arrive, until `body` returns false or every subscription has ended. If one fails, the
    /// events of the others are handed over before the error is thrown.
    func read(_ body: @Sendable ([TopicEvent]) -> Bool) async throws {
        try await withThrowingTaskGroup(of: Arrival.self) { group in
            defer { group.cancelAll() }
            var merge = TopicMerge(sources: subscriptions.count, mayRepeat: mayRepeat, at: .now)
            var isBeingRead = subscriptions.map { _ in false }
            var alarms: [ContinuousClock.Instant] = []
            while !merge.isOver, !Task.isCancelled {
                for (source, events) in subscriptions.enumerated()
                where !isBeingRead[source] && merge.wantsMore(from: source) {
                    isBeingRead[source] = true
                    group.addTask {
                        var iterator = events.makeAsyncIterator()
                        return .news(try await iterator.nextNews(), source: source)
                    }
                }
                // An alarm that goes off too early merely asks the merge once more.
                if let moment = merge.wakeUp, alarms.allSatisfy({ moment < $0 }) {
                    alarms.append(moment)
                    group.addTask {
                        try? await Task.sleep(until: moment, clock: .continuous)
                        return .moment(moment)
                    }
                }
                let arrival: Arrival?
                do {
                    arrival = try await group.next()
                } catch {
                    group.cancelAll()
                    while let result = await group.nextResult() {
                        guard case .success(.news(let news?, let source)) = result else { continue }
                        merge.receive(news, from: source, at: .now)
                    }
                    _ = body(merge.flush())
                    throw error
                }
                guard let arrival else { return }
                switch arrival {
                case .news(let news?, let source):
                    isBeingRead[source] = false
                    merge.receive(news, from: source, at: .now)
                case .news(nil, let source):
                    merge.end(source)
                case .moment(let moment):
                    alarms.removeAll { $0 == moment }
                }
                guard body(merge.release(at: .now)) else { return }
            }
            _ = body(merge.flush())
        }
    }
}
