import RelayLab
import Terminal

/// The lab. Its keys are letters, one for each fault, so that a rehearsal is quick. Text can be typed only after Tab.
struct LabPane: Pane {
    enum Action: KeyAction {
        case choice(LabChoice)
        case end, longer, shorter, save, open, escape, up, down, toBeginning, toEnd

        static let title = LabWords.pane
        static let tableName = "lab"
        static let allCases: [Action] =
            LabChoice.allCases.map { .choice($0) }
            + [.end, .longer, .shorter, .save, .open, .escape, .up, .down, .toBeginning, .toEnd]

        var name: String {
            switch self {
            case .choice(let choice): "lab-" + Self.name(ofCase: choice.rawValue)
            case .end, .longer, .shorter: "lab-\(self)"
            case .save, .open, .escape, .up, .down, .toBeginning, .toEnd: Self.name(ofCase: "\(self)")
            }
        }

        var binding: KeyBinding { KeyBinding(keys, words, hint: hint) }

        private var keys: [Key] {
            switch self {
            case .choice(let choice): [choice.key]
            case .end: [.plain("e")]
            case .longer: [.plain("+"), .plain("="), Key(.right)]
            case .shorter: [.plain("-"), Key(.left)]
            case .save: [.alt("s")]
            case .open: [Key(.enter)]
            case .escape: [Key(.escape)]
            case .up: [Key(.up)]
            case .down: [Key(.down)]
            case .toBeginning: [Key(.home)]
            case .toEnd: [Key(.end)]
            }
        }
    }

    func perform(_ action: Action, on model: ChatModel) -> ChatEffects {
        guard let lab = model.lab else { return model.tell(LabWords.isNotOpen) }
        switch action {
        case .choice(let choice):
            model.lab?.selected = choice.place
            return model.doInLab(choice)
        case .up: move(to: place(in: lab) - 1, on: model)
        case .down: move(to: place(in: lab) + 1, on: model)
        case .toBeginning: move(to: 0, on: model)
        case .toEnd: move(to: .max / 2, on: model)
        case .open:
            switch lab.phase {
            case .opening, .running, .ending: return model.doInLab(lab.choice)
            case .failed: return model.beginLab()
            case .over: model.askForLab()
            }
        case .longer: model.lab?.lengthen(lab.choice, by: 1)
        case .shorter: model.lab?.lengthen(lab.choice, by: -1)
        case .end: return model.endLab()
        case .save: model.proposeScenario()
        case .escape: model.escape()
        }
        return []
    }

    /// What the list's keys move: the selection, or the ledger's first row once the lab is over.
    private func place(in lab: LabDesk) -> Int { lab.isOn ? lab.selected : lab.firstVisible }

    private func move(to place: Int, on model: ChatModel) {
        guard let lab = model.lab else { return }
        if lab.isOn {
            model.lab?.selected = min(max(0, place), LabChoice.allCases.count - 1)
        } else {
            let parts = LabLayout(lab, area: model.layout(on: model.size).main)
            model.lab?.firstVisible = min(max(0, place), max(0, parts.ledger.count - parts.table.rows))
        }
    }

    /// A letter that is no key of the lab is not text either: the next one might be a fault's. Only a command begins
    /// with its slash.
    func type(_ key: Key, on model: ChatModel) -> ChatEffects {
        guard key.modifiers.isEmpty, case .character(let character) = key.code else { return [] }
        if character == "/" { return typeText(key, on: model) }
        return model.tell(LabWords.isNoKey(key.label, leaves: model.settings.keys.label(of: .nextPane)))
    }

    func use(of action: Action, by key: Key?, in model: ChatModel) -> KeyUse {
        let isOn = model.lab?.isOn == true
        return switch action {
        case .escape: .useful
        case .save: model.lab?.glance != nil ? .useful : .idle
        case .longer: isOn && model.lab?.choice.lasting != nil ? .useful : .idle
        case .choice, .end, .shorter, .open, .up, .down, .toBeginning, .toEnd: isOn ? .useful : .idle
        }
    }

    func scroll(up lines: Int, on model: ChatModel) -> ChatEffects {
        if let lab = model.lab { move(to: place(in: lab) - lines, on: model) }
        return []
    }

    /// A click selects a row; a second one does it.
    func click(at place: Position, _ layout: ScreenLayout, on model: ChatModel) -> ChatEffects {
        guard let lab = model.lab, lab.isOn else { return [] }
        let table = LabLayout(lab, area: layout.main).table
        let index = lab.firstVisible + place.row - table.row
        guard table.contains(place), LabChoice.allCases.indices.contains(index) else { return [] }
        if index == lab.selected { return model.doInLab(lab.choice) }
        model.lab?.selected = index
        return []
    }

    func settle(_ layout: ScreenLayout, on model: ChatModel) {
        guard let lab = model.lab else { return }
        let parts = LabLayout(lab, area: layout.main)
        model.lab?.firstVisible =
            lab.isOn
            ? ChatModel.window(
                around: lab.selected, from: lab.firstVisible, rows: parts.table.rows, count: LabChoice.allCases.count)
            : min(lab.firstVisible, max(0, parts.ledger.count - parts.table.rows))
    }

    func addressee(in model: ChatModel) -> Addressee {
        guard let topic = model.lab?.topic else { return .nobody(LabWords.needsTopic, hint: "/lab") }
        return ConversationPane(name: topic).addressee(in: model)
    }

    func draw(in frame: Frame) { if let lab = frame.model.lab { frame.drawLab(lab) } }

    func position(in frame: Frame) -> String {
        guard let lab = frame.model.lab else { return "" }
        if lab.isOn { return "\(lab.selected + 1)/\(LabChoice.allCases.count)" }
        let parts = LabLayout(lab, area: frame.layout.main)
        let below = parts.ledger.count - parts.table.rows - lab.firstVisible
        return below > 0 ? LabWords.below(below) : ""
    }
}
