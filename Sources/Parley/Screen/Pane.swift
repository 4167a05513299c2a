import Terminal

/// A part of the screen that takes keys. What is particular to one is here, in a file of its own, and in its view; what
/// they share asks them. `Panes` lists them.
///
/// A pane is made when it is asked for something: what it has to remember is in the model, or in the `MainView` that it
/// is made of.
protocol Pane: Sendable {
    /// What its own keys do. They come before those that work everywhere.
    associatedtype Action: KeyAction

    // MARK: Input

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects

    /// Of what use one of its own actions is now: by a key, or by its words where that is nil.
    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse

    /// Does what was chosen by its words from among all actions, if there is something to do it to; otherwise says why
    /// not.
    func choose(_ action: Action, on model: ChatModel) -> ChatEffects

    /// Whether a key that has a meaning everywhere is one of the text's here now.
    func keeps(_ key: Key, in model: ChatModel) -> Bool

    /// Takes a key that is none of its own and has no meaning everywhere.
    func type(_ key: Key, on model: ChatModel) -> ChatEffects

    /// Takes a key of a text's editor, in the place of what was pressed.
    func edit(_ key: Key, for pressed: [Key], on model: ChatModel) -> ChatEffects

    /// Scrolls up by lines, down when negative: the wheel and the page keys.
    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects

    /// Takes a click on it; it has the keys by then.
    func click(at place: Position, _ layout: ScreenLayout, on model: ChatModel) -> ChatEffects

    /// Closes what is open in it; returns whether anything was.
    func escape(on model: ChatModel) -> Bool

    /// Keeps its cursor on a row and the row in view, after any event.
    func settle(_ layout: ScreenLayout, on model: ChatModel)

    /// Where a line goes that is sent while it is shown.
    func addressee(in model: ChatModel) -> Addressee

    // MARK: View

    func draw(in frame: Frame)

    /// What the bottom line says on its right of where the person looks.
    func position(in frame: Frame) -> String
}

enum KeyUse: Hashable, Sendable {
    /// It means nothing: its key is taken as if it were none of the pane's own.
    case notTaken
    /// It does nothing now, and is not hinted.
    case idle
    case useful
}

enum Addressee: Hashable, Sendable {
    case topic(String)
    /// Nowhere, and why; `hint` stands in the place of the text.
    case nobody(String, hint: String)

    /// Nowhere, since no topic is open.
    static let noTopic = Addressee.nobody("Open a topic first.", hint: "")

    /// What stands in the place of the text while there is none.
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

    /// What the bottom line says of its own keys.
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
