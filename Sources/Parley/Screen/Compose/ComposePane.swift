import Terminal

struct ComposePane: Pane {
    enum Action: String, KeyAction {
        static let title = "Compose"
        static let tableName = "compose"

        case send, newLine, complete, completePrevious, edit, toEnd

        var binding: KeyBinding {
            switch self {
            case .send: KeyBinding(.enter, "send", hint: "send")
            case .newLine: KeyBinding([Key(.enter, .alt), .control("j")], "new line", hint: "new line")
            case .complete: KeyBinding(.tab, "complete a command, name, topic or :emoji; again: the next")
            case .completePrevious: KeyBinding(.backTab, "after that: the one before")
            case .edit: KeyBinding([.alt("e")], "write on in your editor: VISUAL, EDITOR or vi")
            case .toEnd: KeyBinding([Key(.end, .control)], "newest message")
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        switch action {
        case .send: return model.submit()
        case .newLine: model.compose.editor.insert("\n")
        case .complete: model.complete(by: 1)
        case .completePrevious: model.complete(by: -1)
        case .edit: return .screen(.edit(model.compose.text))
        case .toEnd: return model.showNewest()
        }
        return []
    }

    /// Where there is nothing to complete, Tab goes on to the next pane.
    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse {
        switch action {
        case .complete: model.canComplete(isBackwards: false) ? .useful : .notTaken
        case .completePrevious: model.canComplete(isBackwards: true) ? .useful : .notTaken
        case .send, .newLine: model.compose.hasContent ? .useful : .idle
        case .edit, .toEnd: .useful
        }
    }

    func choose(_ action: Action, on model: ChatModel) -> ChatEffects {
        model.screen.focus = .compose
        switch action {
        case .send where !model.compose.hasContent: model.say("There is nothing to send.")
        case _ where use(of: action, by: nil, in: model) == .notTaken: model.say("There is nothing to complete.")
        case .send, .newLine, .complete, .completePrevious, .edit, .toEnd: return perform(action, on: model)
        }
        return []
    }

    /// With text after the cursor ^K deletes it, as in a shell, and Alt-u writes capitals; at the end, where that would
    /// do nothing, they mean what they do elsewhere.
    func keeps(_ key: Key, in model: ChatModel) -> Bool {
        model.compose.editor.keeps(key) || model.compose.editor.keepsForChanging(key)
    }

    func type(_ key: Key, on model: ChatModel) -> ChatEffects {
        let (isQuoted, count) = (model.compose.editor.quotesNextKey, model.compose.editor.count)
        if key == Key(.end), model.compose.isEmpty, !model.compose.editor.awaitsKey { return model.showNewest() }
        if case .character = key.code, key.modifiers.isEmpty, model.compose.editor.isFull {
            model.sayFull("There is no room")
        }
        _ = model.compose.editor.handle(key)
        if isQuoted, key.modifiers.contains(.control), model.compose.editor.count == count {
            model.say("A text has no control characters.", .failure)
        }
        return []
    }

    func draw(in frame: Frame) { frame.drawCompose() }
}
