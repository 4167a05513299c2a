import Terminal

extension Frame {
    /// Who types a line in a topic: on the right of the line above it, where it moves nothing else.
    func drawTypists(in conversation: Conversation, besides heading: SafeText) {
        let typists = typists(in: conversation)
        guard !typists.isEmpty, !layout.heading.isEmpty else { return }
        let area = layout.heading
        // Both have a column on either side, and something of the line before them and behind them.
        let room = area.columns - heading.width - 8
        guard let words = TypingWords.fitting(typists, columns: room) else { return }
        canvas.write(
            SafeText(" ") + words + SafeText(" "), row: area.row, column: area.endColumn - words.width - 3,
            style: theme.dimmed)
    }

    /// Those of whom it is shown that they type.
    func typists(in conversation: Conversation) -> [String] {
        guard model.settings.typing, !model.isOffline, conversation.subscription == .live else { return [] }
        return model.network.people.typists(
            of: conversation.name, besides: model.network.identity.user, ignored: model.network.quiet.ignored)
    }
}

/// The sentence that says who types.
enum TypingWords {
    /// The columns of a name at most.
    static let nameColumns = 20

    /// As much as there is room for: the names, else how many they are; nil where there is nothing to say, or no room.
    static func fitting(_ names: [String], columns: Int) -> SafeText? {
        let shown = names.prefix(2).map { NameBook.shown($0).shortened(columns: nameColumns) }
        let few: SafeText? =
            switch names.count {
            case 1: shown[0] + SafeText(" is typing …")
            case 2: shown[0] + SafeText(" and ") + shown[1] + SafeText(" are typing …")
            default: nil
            }
        let count: SafeText? =
            switch names.count {
            case 0: nil
            case 1: SafeText("1 is typing …")
            case People.typistLimit...: SafeText("\(names.count)+ are typing …")
            default: SafeText("\(names.count) are typing …")
            }
        return [few, count].compactMap(\.self).first { $0.width <= columns }
    }
}

extension People {
    /// Those who type in a topic, but for this person and those who are ignored.
    func typists(of topic: String, besides user: String, ignored: Set<String>) -> [String] {
        guard topic == self.topic, !typists.isEmpty else { return [] }
        return typists.filter { $0 != user && !ignored.contains(ChatModel.folded($0)) }
    }
}
