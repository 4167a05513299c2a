import Relay
import Terminal

/// What others were last told of this person's typing.
struct ToldTyping: Equatable, Sendable {
    let topic: String
    let time: ContinuousClock.Instant
}

extension ChatModel {
    /// After any event: what others are to be told of this person's typing. They are told when a line is begun, every
    /// few seconds while keys are pressed, and when there is no such line any more: it was sent, cleared or made a
    /// command, or something else is in view. A person who just stops needs no word: others forget it.
    ///
    /// - Parameter hasTyped: whether the person typed in this event.
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

    /// The topic that the text would be sent to now; nil if it is no line for a topic, or the person does not want it
    /// told.
    private var topicOfTyping: String? {
        guard window.isInFront, settings.typing, compose.hasContent, !compose.isCommand,
            case .topic(let topic) = screen.view.pane.addressee(in: self)
        else { return nil }
        return topic
    }
}
