import Relay
import Terminal

/// That others were told of this person's typing.
struct ToldTyping: Equatable, Sendable {
    let topic: String
    let time: ContinuousClock.Instant
}

extension ChatModel {
    /// What follows from any event for what others know of this person's typing. It is told when a line is begun, every
    /// few seconds while keys are pressed, and when there is no such line any more: it was sent, taken back or made a
    /// command, or the person looks at something else. A person who stops without any of these needs no word: others
    /// forget it.
    ///
    /// - Parameter hasTyped: whether the event was the person's writing.
    func typingToTell(hasTyped: Bool) -> ChatEffects {
        guard hasTyped || network.typing != nil else { return [] }
        let topic = topicOfTyping
        if hasTyped, let topic {
            if let typing = network.typing, typing.topic == topic,
                typing.time.duration(to: now.instant) < PresencePolicy.typingInterval
            {
                return []
            }
            network.typing = ToldTyping(topic: topic, time: now.instant)
            return [.people(.typing(topic: topic))]
        }
        guard let typing = network.typing, typing.topic != topic else { return [] }
        network.typing = nil
        return [.people(.typing(topic: nil))]
    }

    /// The topic that the text would go to if it were sent now; nil where it is no line for a topic, and where the
    /// person does not want it told.
    private var topicOfTyping: String? {
        guard window.isInFront, settings.typing, compose.hasContent, !compose.isCommand,
            case .topic(let topic) = screen.view.pane.addressee(in: self)
        else { return nil }
        return topic
    }
}
