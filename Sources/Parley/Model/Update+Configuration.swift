extension ChatModel {
    /// Applies settings, without joining their topics.
    func configure(_ settings: ChatSettings) {
        self.settings = settings
        screen.chord = []
        applyMutes()
        recognizeMentions()
    }

    func handleConfigurationNews(_ news: ChatEvent.ConfigurationNews) -> ChatEffects {
        switch news {
        case .changed(let new):
            let joined = settings.join
            configure(new)
            say("The configuration has changed and counts now.", about: .configuration)
            // `opened` joins the topics once the local store is open.
            guard network.opening == nil else { return [] }
            var effects: ChatEffects = []
            for topic in new.join where !joined.contains(topic) { effects += join(topic, shows: false) }
            return effects
        case .forNextStart:
            say(
                "The configuration has changed; what concerns the connection counts at the next start.",
                about: .configuration)
        case .refused(let words):
            say(words, .failure, about: .configuration)
            note("\(words); the configuration counts as it was before")
        case .mended: say("The configuration is without mistakes again.", about: .configuration)
        }
        return []
    }
}
