import Terminal

/// The text being written.
struct ComposePane: Pane {
    static let title = "Compose"
    static let keys: [KeyBinding] = [
        .bind(.send, [Key(.enter)], "send", hint: "send"),
        .bind(.newLine, [Key(.enter, .alt), .control("j")], "new line", hint: "new line"),
        .bind(.toEnd, [Key(.end, .control)], "newest message"),
    ]

    func perform(_ action: KeyAction, on model: inout ChatModel) -> [ChatEffect] {
        switch action {
        case .send: return model.submit()
        case .newLine: model.compose.editor.insert("\n")
        case .toEnd: return model.view.pane.showNewest(on: &model)
        default: break
        }
        return []
    }

    /// Before other text ^K deletes that, as in a shell; at the text's end, where that would do nothing, it is the palette's.
    func keeps(_ key: Key, in model: ChatModel) -> Bool {
        model.compose.editor.keeps(key) || model.compose.editor.keepsForDeleting(key)
    }

    func type(_ key: Key, on model: inout ChatModel) -> [ChatEffect] {
        if key == Key(.end), model.compose.isEmpty { return model.view.pane.showNewest(on: &model) }
        if case .character = key.code, key.modifiers.isEmpty, model.compose.editor.isFull {
            model.sayFull("There is no room")
        }
        _ = model.compose.editor.handle(key)
        return []
    }

    func draw(in frame: inout Frame) { frame.drawCompose() }

    func isUseful(_ action: KeyAction, in model: ChatModel) -> Bool {
        switch action {
        case .send, .newLine: model.compose.hasContent
        default: true
        }
    }
}
