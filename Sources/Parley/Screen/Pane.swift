import Terminal

/// A part of the screen that takes keys. Each has a file of its own; code shared between them goes through this
/// protocol. `Panes` lists them.
///
/// Panes are made on demand: their state is in the model, or in the `MainView` that they are made from.
protocol Pane: Sendable {
    /// The actions of its own keys. These come before the keys that work everywhere.
    associatedtype Action: KeyAction

    // MARK: Input

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects

    /// How useful one of its own actions is now, invoked by a key or, if that is nil, by its words.
    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse

    /// Performs an action that was chosen by its words from among all actions, if it applies; otherwise says why not.
    func choose(_ action: Action, on model: ChatModel) -> ChatEffects

    /// Whether a key that has a meaning everywhere edits this pane's text now.
    func keeps(_ key: Key, in model: ChatModel) -> Bool

    /// Handles a key that is none of its own and has no meaning everywhere.
    func type(_ key: Key, on model: ChatModel) -> ChatEffects

    /// Handles a key of a text's editor, in place of the keys that were pressed.
    func edit(_ key: Key, for pressed: [Key], on model: ChatModel) -> ChatEffects

    /// Scrolls up by lines, down if negative: for the wheel and the page keys.
    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects

    /// Handles a click on it; it has the focus by then.
    func click(at place: Position, _ layout: ScreenLayout, on model: ChatModel) -> ChatEffects

    /// Closes what is open in it; returns whether anything was.
    func escape(on model: ChatModel) -> Bool

    /// Keeps its cursor on a row and the row in view, after any event.
    func settle(_ layout: ScreenLayout, on model: ChatModel)

    /// Where a line goes that is sent while the pane is shown.
    func addressee(in model: ChatModel) -> Addressee

    // MARK: View

    func draw(in frame: Frame)

    /// Where the person looks, for the right of the bottom line.
    func position(in frame: Frame) -> String
}

enum KeyUse: Hashable, Sendable {
    /// It means nothing: its key is handled as if it were none of the pane's own.
    case notTaken
    /// It does nothing now, and is not hinted.
    case idle
    case useful
}

enum Addressee: Hashable, Sendable {
    case topic(String)
    /// Nowhere, and why; `hint` is shown in place of an empty text.
    case nobody(String, hint: String)

    static let noTopic = Addressee.nobody("Open a topic first.", hint: "")

    /// The words shown in place of an empty text.
    var hint: String {
        switch self {
        case .topic(let name): "write to \(name)"
        case .nobody(_, let hint): hint
        }
    }
}

extension Pane {
    static var title: String { Action.title }

    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse { .useful }

    func choose(_ action: Action, on model: ChatModel) -> ChatEffects {
        guard use(of: action, by: nil, in: model) != .notTaken else {
            return model.tell("There is nothing here to do that to.")
        }
        model.screen.focus = .main
        return perform(action, on: model)
    }

    /// The bottom line's hints for its own keys.
    func hints(in model: ChatModel) -> [KeyMap.Hint] {
        let actions = Action.allCases
        return model.settings.keys[Action.self].hints.filter {
            use(of: actions[$0.place], by: nil, in: model) == .useful
        }
    }

    func keeps(_ key: Key, in model: ChatModel) -> Bool { false }

    func type(_ key: Key, on model: ChatModel) -> ChatEffects { typeText(key, on: model) }

    /// Typing goes to the text wherever letters mean nothing else.
    func typeText(_ key: Key, on model: ChatModel) -> ChatEffects {
        guard key.modifiers.isEmpty, case .character = key.code else { return [] }
        model.screen.focus = .compose
        return ComposePane().type(key, on: model)
    }

    func edit(_ key: Key, for pressed: [Key], on model: ChatModel) -> ChatEffects { type(key, on: model) }
    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects { [] }
    func click(at place: Position, _ layout: ScreenLayout, on model: ChatModel) -> ChatEffects { [] }
    func escape(on model: ChatModel) -> Bool { false }
    func settle(_ layout: ScreenLayout, on model: ChatModel) {}
    func addressee(in model: ChatModel) -> Addressee { .noTopic }
    func position(in frame: Frame) -> String { "" }
}
