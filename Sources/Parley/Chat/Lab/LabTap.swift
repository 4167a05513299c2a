import NIOConcurrencyHelpers
import Relay
import RelayLab

/// Sees the chat's messages for the lab: which were handed over, what became of them, and all that arrived, whoever
/// sent it. No message comes here while the lab does not run.
final class LabTap: Sendable {
    /// A message of the run.
    private struct Known {
        let number: LabNumber
        /// The subscription that it comes back by: another one, of a pattern, brings it too.
        let topic: String
    }

    private struct State {
        var session: LabSession?
        var known: [String: Known] = [:]
        /// The subscription by which the messages of a topic are counted; those of patterns may bring them too.
        var counted: [String: String] = [:]
        /// How often each subscription's stream was made anew, with places that come again.
        var restarts: [String: Int] = [:]
        /// How many arrivals were counted.
        var arrivals = 0

        /// A message of another writer, if it is to be counted.
        mutating func arrival(
            on topic: String, by subscription: String, _ sequence: UInt64, isRecovered: Bool
        ) -> LabEvent.Kind? {
            guard session != nil, arrivals < LabTap.limit else { return nil }
            guard counted[topic, default: subscription] == subscription else { return nil }
            counted[topic] = subscription
            arrivals += 1
            let restarted = restarts[subscription].map { " (made anew, \($0))" } ?? ""
            return .arrived(topic: topic + restarted, sequence: sequence, isRecovered: isRecovered)
        }
    }

    private let state = NIOLockedValueBox(State())
    /// So many messages of a run are counted.
    private static let limit = 100_000

    /// Counts for a session from now on; for none when nil.
    func attach(_ session: LabSession?) {
        state.withLockedValue { $0 = State(session: session) }
    }

    /// A message is about to be handed to the client. One that is sent again is another one of the run.
    func handsOver(_ id: String, to topic: String) async {
        let session = state.withLockedValue { $0.known.count < Self.limit ? $0.session : nil }
        guard let session, let number = await session.handedOver() else { return }
        state.withLockedValue { $0.known[id] = Known(number: number, topic: topic) }
    }

    /// A message has come further on its way.
    func take(_ news: PublishNews) async {
        guard let (session, known) = find(news.id) else { return }
        if let (_, reason) = news.givenUp {
            await session.ended(known.number, news.mayBeStored ? .uncertain : .notSent(reason))
        } else if case .acknowledged = news.state {
            await session.ended(known.number, .acknowledged)
        }
    }

    /// Whether the lab runs.
    var isAttached: Bool { state.withLockedValue { $0.session != nil } }

    /// A subscription has told something.
    func take(_ events: [TopicEvent], of subscription: String) async {
        guard let session = state.withLockedValue(\.session) else { return }
        for event in events { await take(event, of: subscription, for: session) }
    }

    private func take(_ event: TopicEvent, of subscription: String, for session: LabSession) async {
        switch event {
        case .message(let message):
            if let (_, known) = find(message.id) {
                guard known.topic == subscription else { return }
                return await session.add(.received(known.number, isRecovered: message.isRecovered))
            }
            let arrival = state.withLockedValue {
                $0.arrival(
                    on: message.topic, by: subscription, message.sequence, isRecovered: message.isRecovered)
            }
            if let arrival { await session.add(arrival) }
        case .unreadable(let sequence, let topic, _):
            let arrival = state.withLockedValue {
                $0.arrival(on: topic, by: subscription, sequence, isRecovered: false)
            }
            if let arrival { await session.add(arrival) }
        case .gap(let lost): await session.add(.missed(topic: subscription, count: Int(clamping: lost)))
        case .restarted: state.withLockedValue { $0.restarts[subscription, default: 0] += 1 }
        case .live, .interrupted: break
        }
    }

    /// Whether a message is one of another writer whose arrival is counted.
    func counts(_ message: TopicMessage) -> Bool {
        state.withLockedValue { $0.known[message.id] == nil && $0.restarts.isEmpty && $0.arrivals < Self.limit }
    }

    /// A subscription is over; another one may bring the same topics.
    func leave(_ subscription: String) {
        state.withLockedValue { state in state.counted = state.counted.filter { $0.value != subscription } }
    }

    private func find(_ id: String) -> (LabSession, Known)? {
        state.withLockedValue { state in
            guard let session = state.session, let known = state.known[id] else { return nil }
            return (session, known)
        }
    }
}
