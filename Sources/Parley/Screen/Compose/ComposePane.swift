import Terminal

/// The text being written.
struct ComposePane: Pane {
    static let title = "Compose"
    static let keys: [KeyBinding] = [
        .bind(.send, [Key(.enter)], "send", hint: "send"),
        .bind(.newLine, [Key(.enter, .alt), .control("j")], "new line", hint: "new line"),
        .bind(.complete, [Key(.tab)], "complete a command, name, topic or :emoji; again: the next"),
        .bind(.completePrevious, [Key(.backTab)], "behind that: the one before"),
        .bind(.edit, [.alt("e")], "write on in your editor: VISUAL, EDITOR or vi"),
        .bind(.toEnd, [Key(.end, .control)], "newest message"),
    ]

    func perform(_ action: KeyAction, on model: inout ChatModel) -> ChatEffects {
        switch action {
        case .send: return model.submit()
        case .newLine: model.compose.editor.insert("\n")
        case .complete: model.complete(by: 1)
        case .completePrevious: model.complete(by: -1)
        case .edit: return .screen(.edit(model.compose.text))
        case .toEnd: return model.view.pane.showNewest(on: &model)
        default: break
        }
        return []
    }

    /// Where there is nothing to complete, Tab goes on to the next pane.
    func hasMeaning(_ action: KeyAction, in model: ChatModel) -> Bool {
        switch action {
        case .complete: model.canComplete(isBackwards: false)
        case .completePrevious: model.canComplete(isBackwards: true)
        default: true
        }
    }

    /// Whether an action that was chosen by its name does anything.
    func isPossible(_ action: KeyAction, in model: ChatModel) -> Bool {
        action == .send ? model.compose.hasContent : hasMeaning(action, in: model)
    }

    /// Names are looked for only where the key that completes was pressed.
    func takes(_ key: Key, as action: KeyAction, in model: ChatModel) -> Bool {
        guard action == .complete || action == .completePrevious else { return true }
        let isBound = model.settings.keys.entries(of: Self.self).contains { entry in
            entry.action == action && entry.sequences.contains { $0.keys.contains(key) }
        }
        return isBound && hasMeaning(action, in: model)
    }

    /// Before other text ^K deletes that, as in a shell, and Alt-u writes capitals; at the text's end, where that would
    /// do nothing, they mean what they do everywhere.
    func keeps(_ key: Key, in model: ChatModel) -> Bool {
        model.compose.editor.keeps(key) || model.compose.editor.keepsForChanging(key)
    }

    func awaitsKey(in model: ChatModel) -> Bool { model.compose.editor.awaitsKey }

    func type(_ key: Key, on model: inout ChatModel) -> ChatEffects {
        let (isQuoted, count) = (model.compose.editor.quotesNextKey, model.compose.editor.count)
        if key == Key(.end), model.compose.isEmpty, !awaitsKey(in: model) {
            return model.view.pane.showNewest(on: &model)
        }
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

    func isUseful(_ action: KeyAction, in model: ChatModel) -> Bool {
        switch action {
        case .send, .newLine: model.compose.hasContent
        default: true
        }
    }
}
