import Relay

extension ChatModel {
    /// After any event: which people are followed now, and in which topics this person is seen.
    func peopleToFollow() -> ChatEffects {
        let shown = screen.view.topic
        guard network.people.isStale(shown, joined: network.conversations.count) else { return [] }
        let topics = network.conversations.all.filter { !$0.isPattern }.map(\.name)
        // A pattern has no people of its own.
        let place = shown.flatMap { topics.contains($0) ? $0 : nil }
        return network.people.look(at: place, shown: shown, joined: network.conversations.count, topics)
    }

    func showPeople() {
        guard let name = screen.view.topic else { return say("Open a topic first.", .failure) }
        guard network.conversations.named(name)?.isPattern == false else {
            return say("\(name) is a pattern for many topics. Open one of them first.", .failure)
        }
        guard network.people.topic == name, network.people.roster.isKnown else {
            let unknown = "The network does not tell who is in \(name)."
            return say(isOffline ? "Who is in \(name) is known when connected." : unknown, .failure)
        }
        screen.overlay = .people(scroll: 0)
    }

    func setPresence(_ presence: Presence) -> ChatEffects {
        if let mistake = presence.mistake { return tell(mistake, .failure) }
        let wasHere = network.people.own == .here
        network.people.own = presence
        switch presence {
        case .here where wasHere: say("You are not away.")
        case .here: say("You are back.")
        case .away(""): say("You are away. /back when you return.")
        case .away(let text): say("You are away: \(text). /back when you return.")
        }
        return [.people(.setPresence(presence))]
    }
}
