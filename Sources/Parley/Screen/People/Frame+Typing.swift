import Terminal

extension Frame {
    /// Draws who is typing in a topic, on the right of the heading, where it moves nothing else.
    func drawTypists(in conversation: Conversation, besides heading: SafeText) {
        let typists = typists(in: conversation)
        guard !typists.isEmpty, !layout.heading.isEmpty else { return }
        let area = layout.heading
        // Both have a column on either side, and some of the line before and after them.
        let room = area.columns - heading.width - 8
        guard let words = TypingWords.fitting(typists, columns: room) else { return }
        canvas.write(
            SafeText(" ") + words + SafeText(" "), row: area.row, column: area.endColumn - words.width - 3,
            style: theme.dimmed)
    }

    func typists(in conversation: Conversation) -> [String] {
        guard model.settings.typing, !model.isOffline, conversation.subscription == .live,
            model.network.people.topic == conversation.name
        else { return [] }
        let (user, ignored) = (model.network.identity.user, model.network.quiet.ignored)
        return model.network.people.typists.filter { $0 != user && !ignored.contains(ChatModel.folded($0)) }
    }
}

enum TypingWords {
    static let nameColumns = 20

    /// The longest form that fits: the names, else their number; nil if there are none, or no room.
    static func fitting(_ names: [String], columns: Int) -> SafeText? {
        let shown = names.prefix(2).map { NameBook.shown($0).shortened(columns: nameColumns) }
        let more = names.count >= People.typistLimit ? "+" : ""
        let forms: [SafeText] =
            switch names.count {
            case 0: []
            case 1: [shown[0] + SafeText(" is typing …"), SafeText("1 is typing …")]
            case 2: [shown[0] + SafeText(" and ") + shown[1] + SafeText(" are typing …"), SafeText("2 are typing …")]
            default: [SafeText("\(names.count)\(more) are typing …")]
            }
        return forms.first { $0.width <= columns }
    }
}
