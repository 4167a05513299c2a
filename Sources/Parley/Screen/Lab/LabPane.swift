import RelayLab
import Terminal

/// The lab. Its keys are letters, one for each fault: a person who rehearses wants them under the fingers. What is
/// written goes to the text after Tab alone.
struct LabPane: Pane {
    static let title = "Lab"
    static let keys: [KeyBinding] =
        LabChoice.allCases.map { choice in
            .bind(choice.action, [choice.key], choice.title, hint: hint(of: choice))
        } + [
            .bind(.labEnd, [.plain("e")], "end it: everything restored, and the ledger", hint: "end, ledger"),
            .bind(
                .labLonger, [.plain("+"), .plain("="), Key(.right)], "let the selected fault last longer",
                hint: "longer"),
            .bind(.labShorter, [.plain("-"), Key(.left)], "let it last less long"),
            .bind(.save, [.alt("s")], "keep what was done as a scenario's file", hint: "save"),
            .bind(.open, [Key(.enter)], "do what is selected; after the end, begin again"),
            .bind(.escape, [Key(.escape)], "go back; the lab stays on until it is ended", hint: "back"),
            .bind(.up, [Key(.up)], "up"),
            .bind(.down, [Key(.down)], "down"),
            .bind(.toBeginning, [Key(.home)], "the first"),
            .bind(.toEnd, [Key(.end)], "the last"),
        ]

    private static func hint(of choice: LabChoice) -> String? {
        switch choice {
        case .cut: "cut"
        case .restore: "restore"
        default: nil
        }
    }

    func perform(_ action: KeyAction, on model: inout ChatModel) -> ChatEffects {
        guard let lab = model.lab else {
            model.say("The lab is not open.")
            return []
        }
        if let choice = LabChoice(action) {
            model.lab?.selected = choice.rawValue
            return model.doInLab(choice)
        }
        switch action {
        case .up: move(to: place(in: lab) - 1, on: &model)
        case .down: move(to: place(in: lab) + 1, on: &model)
        case .toBeginning: move(to: 0, on: &model)
        case .toEnd: move(to: .max / 2, on: &model)
        case .open:
            switch lab.phase {
            case .opening, .running, .ending: return model.doInLab(lab.choice)
            case .failed: return model.beginLab()
            case .over: model.askForLab()
            }
        case .labLonger: model.lab?.lengthen(lab.choice, by: 1)
        case .labShorter: model.lab?.lengthen(lab.choice, by: -1)
        case .labEnd: return model.endLab()
        case .save: model.proposeScenario()
        case .escape: model.escape()
        default: break
        }
        return []
    }

    /// What the keys of the list move: the selection, or, once it is over, the ledger's first row.
    private func place(in lab: LabDesk) -> Int { lab.isOn ? lab.selected : lab.firstVisible }

    private func move(to place: Int, on model: inout ChatModel) {
        guard let lab = model.lab else { return }
        if lab.isOn {
            model.lab?.selected = min(max(0, place), LabChoice.allCases.count - 1)
        } else {
            let parts = LabLayout(lab, area: model.layout(on: model.size).main)
            model.lab?.firstVisible = min(max(0, place), max(0, parts.ledger.count - parts.table.rows))
        }
    }

    /// A letter that is none of its keys is no text either: the next one might be a fault's.
    func type(_ key: Key, on model: inout ChatModel) -> ChatEffects {
        guard key.modifiers.isEmpty, case .character = key.code else { return [] }
        let write = model.settings.keys.label(of: .nextPane).map { "; \($0) goes to the text" } ?? ""
        model.say("\(key.label) is no key of the lab\(write).")
        return []
    }

    func isUseful(_ action: KeyAction, in model: ChatModel) -> Bool {
        let isOn = model.lab?.isOn == true
        switch action {
        case .escape: return true
        case .save: return model.lab?.glance != nil
        case .labLonger: return isOn && model.lab?.choice.lasting != nil
        default: return isOn
        }
    }

    func scroll(up lines: Int, on model: inout ChatModel) -> ChatEffects {
        if let lab = model.lab { move(to: place(in: lab) - lines, on: &model) }
        return []
    }

    /// A click selects a row, a second one does it.
    func click(at place: Position, _ layout: ScreenLayout, on model: inout ChatModel) -> ChatEffects {
        guard let lab = model.lab, lab.isOn else { return [] }
        let table = LabLayout(lab, area: layout.main).table
        let index = lab.firstVisible + place.row - table.row
        guard table.contains(place), let choice = LabChoice(rawValue: index) else { return [] }
        if index == lab.selected { return model.doInLab(choice) }
        model.lab?.selected = index
        return []
    }

    func settle(_ layout: ScreenLayout, on model: inout ChatModel) {
        guard let lab = model.lab else { return }
        let parts = LabLayout(lab, area: layout.main)
        let first =
            lab.isOn
            ? ChatModel.window(
                around: lab.selected, from: lab.firstVisible, rows: parts.table.rows, count: LabChoice.allCases.count)
            : min(lab.firstVisible, max(0, parts.ledger.count - parts.table.rows))
        if first != lab.firstVisible { model.lab?.firstVisible = first }
    }

    func addressee(in model: ChatModel) -> Addressee {
        guard let topic = model.lab?.topic, model.conversations.index(of: topic) != nil else {
            return .nobody("Open a topic before the lab to write there.")
        }
        return ConversationPane(name: topic).addressee(in: model)
    }

    func placeholder(in model: ChatModel) -> String {
        model.lab?.topic.map { ConversationPane(name: $0).placeholder(in: model) } ?? "/lab"
    }

    func draw(in frame: Frame) { if let lab = frame.model.lab { frame.drawLab(lab) } }

    func position(in frame: Frame) -> String {
        guard let lab = frame.model.lab else { return "" }
        if lab.isOn { return "\(lab.selected + 1)/\(LabChoice.allCases.count)" }
        let parts = LabLayout(lab, area: frame.layout.main)
        let below = parts.ledger.count - parts.table.rows - lab.firstVisible
        return below > 0 ? "↓ \(below) below" : ""
    }

    /// That of what Escape leads back to.
    func sidebarIndex(in model: ChatModel) -> Int? { model.trail.first?.pane.sidebarIndex(in: model) }
}
