import NIOConcurrencyHelpers
import Relay
import RelayLab

/// Sees the chat's messages for a lab run: those submitted, their outcomes, and everything that arrives.
final class LabTap: Sendable {
    private struct State {
        /// The messages of the run, each with the subscription on which it counts as received; a pattern may bring it
        /// too.
        var known: [String: (number: LabNumber, topic: String)] = [:]
        /// The subscription that counts each topic's messages; patterns may bring them too.
        var counted: [String: String] = [:]
        /// How often each subscription's stream was recreated, so that sequences recur.
        var restarts: [String: Int] = [:]
        var arrivals = 0
    }

    private let session: LabSession
    private let state = NIOLockedValueBox(State())
    /// The most messages of a run that are counted.
    private static let limit = 100_000

    init(_ session: LabSession) { self.session = session }

    /// A message is about to be handed to the client. Sending it again counts as another message.
    func handsOver(_ id: String, to topic: String) async {
        guard state.withLockedValue({ $0.known.count < Self.limit }), let number = await session.handedOver() else {
            return
        }
        state.withLockedValue { $0.known[id] = (number, topic) }
    }

    func take(_ news: PublishNews) async {
        guard let known = state.withLockedValue({ $0.known[news.id] }) else { return }
        if let (_, reason) = news.givenUp {
            await session.ended(known.number, news.mayBeStored ? .uncertain : .notSent(reason))
        } else if case .acknowledged = news.state {
            await session.ended(known.number, .acknowledged)
        }
    }

    func take(_ events: [TopicEvent], of subscription: String) async {
        for event in events {
            if let kind = kind(of: event, by: subscription) { await session.add(kind) }
        }
    }

    /// The run's event for a topic's event; nil for none.
    private func kind(of event: TopicEvent, by subscription: String) -> LabEvent.Kind? {
        switch event {
        case .message(let message):
            guard message.mayBeFromHere, let known = state.withLockedValue({ $0.known[message.id] }) else {
                return arrival(on: message.topic, by: subscription, message.sequence, message.isRecovered)
            }
            return known.topic == subscription ? .received(known.number, isRecovered: message.isRecovered) : nil
        case .unreadable(let sequence, let topic, _): return arrival(on: topic, by: subscription, sequence, false)
        case .gap(let lost): return .missed(topic: subscription, count: Int(clamping: lost))
        case .restarted:
            state.withLockedValue { $0.restarts[subscription, default: 0] += 1 }
            return nil
        case .live, .interrupted: return nil
        }
    }

    private func arrival(
        on topic: String, by subscription: String, _ sequence: UInt64, _ isRecovered: Bool
    ) -> LabEvent.Kind? {
        state.withLockedValue { state in
            guard state.arrivals < Self.limit, state.counted[topic, default: subscription] == subscription else {
                return nil
            }
            state.counted[topic] = subscription
            state.arrivals += 1
            let restarted = state.restarts[subscription].map { " (made anew, \($0))" } ?? ""
            return .arrived(topic: topic + restarted, sequence: sequence, isRecovered: isRecovered)
        }
    }

    /// Whether the arrival of a message counts: it is another writer's, and the stream was not recreated.
    func counts(_ message: TopicMessage) -> Bool {
        state.withLockedValue { state in
            (!message.mayBeFromHere || state.known[message.id] == nil) && state.restarts.isEmpty
                && state.arrivals < Self.limit
        }
    }

    /// A subscription has ended; another one may bring its topics.
    func leave(_ subscription: String) {
        state.withLockedValue { state in state.counted = state.counted.filter { $0.value != subscription } }
    }
}
