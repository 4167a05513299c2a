import NIOConcurrencyHelpers
import Relay
import RelayLab

/// Sees the chat's own messages for the lab: which were handed over, what became of them, and which arrived. Without a lab it
/// costs a glance at an empty table.
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
        switch news.state {
        case .queued, .sending: break
        case .acknowledged: await session.ended(known.number, .acknowledged)
        case .failed(let error): await session.ended(known.number, .notSent(error.words))
        case .discarded(let reason): await session.ended(known.number, .notSent(reason.words))
        case .uncertain: await session.ended(known.number, .uncertain)
        }
    }

    /// A subscription has delivered a message.
    func take(_ message: TopicMessage, of topic: String) async {
        guard let (session, known) = find(message.id), known.topic == topic else { return }
        await session.delivered(LabDelivery(known.number, isRecovered: message.isRecovered))
    }

    private func find(_ id: String) -> (LabSession, Known)? {
        state.withLockedValue { state in
            guard let session = state.session, let known = state.known[id] else { return nil }
            return (session, known)
        }
    }
}
