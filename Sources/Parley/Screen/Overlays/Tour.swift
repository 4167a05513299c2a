/// The first steps of a new user: four sentences over the conversation, each of which goes once it is done. Nothing
/// waits for them, and Escape ends the tour.
struct Tour: Hashable, Sendable {
    enum Step: Int, CaseIterable, Hashable, Sendable {
        case write, go, help
        /// Last, as Escape leads back from it.
        case lab
    }

    private(set) var step = Step.write

    /// Goes to the next step that has a key; false if there is none.
    mutating func advance(_ keys: KeyMap) -> Bool {
        while let next = Step(rawValue: step.rawValue + 1) {
            step = next
            if words(keys) != nil { return true }
        }
        return false
    }

    /// What to try, with the keys as configured; nil if a step has none.
    func words(_ keys: KeyMap) -> String? {
        switch step {
        case .write:
            "Write something below and \(keys.label(of: .send, in: ComposePane.self).map { "press \($0)" } ?? "send it"). ✓ at the end of your line means that the network has stored it; "
                + "without a connection it waits with … and is sent later."
        case .go:
            keys.label(of: .quickSwitch).map { key in
                let ways = [
                    keys.label(of: .open, in: PalettePane.self).map { "\($0) goes there" },
                    keys.label(of: .escape, in: PalettePane.self).map { "\($0) comes back" },
                ].compactMap(\.self)
                return "\(key) goes anywhere by a few letters: topics, postboxes, people. Try it"
                    + (ways.isEmpty ? "." : "; \(ways.joined(separator: ", ")).")
            }
        case .help:
            keys.label(of: .help).map {
                "\($0) shows all keys and commands, and /help WORD those that have a word. The bottom line shows the keys "
                    + "available right now."
            }
        case .lab:
            keys.label(of: .openLab).map {
                "\($0): break the connection and see what happens. Write a line while it is broken: it waits, and is sent "
                    + "when the connection is back."
            }
        }
    }
}

extension ChatModel {
    func followTour(_ effects: ChatEffects) {
        guard let step = screen.tour?.step else { return }
        let isDone =
            switch step {
            case .write: effects.core.contains { if case .topics(.publish) = $0 { true } else { false } }
            case .go: if case .palette? = screen.overlay { true } else { false }
            case .help: if case .help? = screen.overlay { true } else { false }
            case .lab:
                if case .question(let question)? = screen.overlay { question.act == .openLab } else { lab != nil }
            }
        guard isDone, screen.tour?.advance(settings.keys) != true else { return }
        screen.tour = nil
        let completes = settings.keys.label(of: .complete, in: ComposePane.self)
        let words = completes.map { "\($0) completes names and commands; the" } ?? "The"
        say("That was the tour. \(words) rest is in the help.")
    }
}

extension KeptDesk {
    var isUntouched: Bool {
        topics.isEmpty && lines.isEmpty && drafts.isEmpty && unsent.isEmpty && ignored.isEmpty && muted.isEmpty
            && choices == DeskChoices()
    }
}
