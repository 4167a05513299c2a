import Relay
import RelayLab
import Terminal

extension ChatModel {
    /// Goes to the lab, or back from it if it is in front. Asks before the connection is put behind the proxy, also
    /// after a rehearsal that is over.
    func toggleLab() {
        guard screen.view == .lab, lab?.isOn == true else { return openLab() }
        guard screen.focus == .main, logScroll == nil else {
            closeLog()
            screen.focus = .main
            return
        }
        escape()
    }

    private func openLab() {
        guard hasScreen else { return say(LabWords.needsScreen) }
        if lab != nil, screen.view != .lab { showOver(.lab) }
        // The last result is in view; another rehearsal can begin.
        if lab?.isOn != true { askForLab() }
    }

    func askForLab() {
        guard network.status.state != .initialized, network.opening == nil else {
            return say(LabWords.needsConnection, .failure)
        }
        ask(.openLab, LabWords.question)
    }

    func beginLab() -> ChatEffects {
        guard lab?.isOn != true else { return [] }
        let places = (screen.view == .lab ? screen.trail : [screen.view]) + screen.trail
        lab = LabDesk(topic: places.lazy.compactMap(\.topic).first ?? lab?.topic)
        if screen.view != .lab { showOver(.lab) }
        return [.lab(.open)]
    }

    func endLab() -> ChatEffects {
        guard lab?.phase == .running else { return [] }
        lab?.phase = .ending
        return [.lab(.end)]
    }

    func doInLab(_ choice: LabChoice) -> ChatEffects {
        switch lab?.phase {
        case .running: break
        case .opening: return tell(LabWords.isOpening)
        case .ending, .over, .failed, nil: return []
        }
        if let hindrance = lab?.hindrance(of: choice) { return tell(hindrance.words) }
        if choice == .restore, wasPutOut, let key = settings.keys.label(of: .choice(.connect), in: LabPane.self) {
            say(LabWords.restoresNoEnd(connects: key))
        }
        return [.lab(.perform(lab?.deeds(for: choice) ?? []))]
    }

    /// Whether a kick or a login elsewhere has ended the connection. After anything else, a user who is let in again
    /// returns automatically.
    private var wasPutOut: Bool {
        guard network.status.state == .disconnected else { return false }
        return switch network.status.reason {
        case .kicked, .kickedByOtherDevice: true
        default: false
        }
    }

    func run(_ request: LabRequest) -> ChatEffects {
        switch request {
        case .open: toggleLab()
        case .save(let file):
            guard lab?.glance != nil else { return tell(LabWords.neverOpen, .failure) }
            return awaited([.lab(.save(path: file))])
        }
        return []
    }

    func proposeScenario() {
        guard lab?.glance != nil else { return say(LabWords.nothingToSave) }
        guard !compose.hasContent else { return say(LabWords.textIsInTheWay, .failure) }
        let stamp = now.wall.iso8601.prefix(16).filter { $0.isASCII && ($0.isNumber || $0 == "T") }
        compose.editor.text = "/lab save rehearsal-\(stamp)Z.json5"
        compose.editor.moveCursor(to: compose.editor.count)
        screen.focus = .compose
        say(LabWords.savesThere)
    }

    func handleLabNews(_ news: ChatEvent.LabNews) -> ChatEffects {
        guard lab != nil else { return [] }
        switch news {
        case .opened(let hindrances):
            lab?.phase = .running
            lab?.hindrances = hindrances
        case .glance(let glance): lab?.glance = glance
        case .over(let glance):
            lab?.glance = glance
            lab?.phase = .over
            lab?.firstVisible = 0
            if screen.view != .lab { say(LabWords.isOver(shows: settings.keys.label(of: .openLab))) }
        case .failed(let error):
            let words = LabWords.cannotBeOpened(error)
            lab?.phase = .failed(words)
            say(words, .failure)
        case .refused(let act, let error): say(LabWords.couldNotBeDone(act, error), .failure)
        }
        return []
    }

    /// Asks for news of the lab while they can be seen, and no longer.
    func labToWatch() -> ChatEffects {
        guard let lab else { return [] }
        let isInView = screen.view == .lab && logScroll == nil && (lab.phase == .running || lab.phase == .ending)
        guard isInView != lab.isWatched else { return [] }
        self.lab?.isWatched = isInView
        return [.lab(.watch(isInView))]
    }
}

enum LabRequest: Hashable, Sendable {
    case open
    case save(String)

    init?(_ text: String) {
        if text.isEmpty {
            self = .open
            return
        }
        let word = text.prefix { !$0.isWhitespace }
        let rest = String(text.dropFirst(word.count).drop { $0.isWhitespace })
        guard word == "save", let file = try? CommandText.unquoted(rest), !file.isEmpty else { return nil }
        self = .save(file)
    }
}

/// An act of the lab, and how long it lasts; nil for until it is ended.
struct LabDeed: Equatable, Sendable {
    let act: LabAct
    let lasting: Duration?
}
