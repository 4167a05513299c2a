extension ChatModel {
    /// Goes by other settings from now on. It joins nothing by itself.
    mutating func configure(_ settings: ChatSettings) {
        self.settings = settings
        chord = []
        conversations.mute(settings.mutes)
        recognizeMentions()
    }
}
