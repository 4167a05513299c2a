import Relay
import Terminal

// What notifies the person while they look elsewhere, beside the bell, which also rings for somebody who is in front of
// the screen and looks at another topic.
extension ChatModel {
    /// Characters of a text that go into a notification at most; of these the terminal shows the beginning.
    private static let calledTextLimit = 512

    /// Whether the person cannot be taken to have this terminal in front of them: it is out of focus, or it tells
    /// nothing of its focus and nothing was typed for a while.
    var isElsewhere: Bool { !attention.tracker.isForeground || !attention.tracker.isReported && !isLooking }

    /// Notifies of lines of a topic that call the person.
    func call(for lines: [StoredLine], in topic: String) -> ChatEffects {
        var effects: ChatEffects = []
        for line in lines where line.isMention {
            let name = line.name.isEmpty ? "somebody" : SafeText(name: line.shownName).description
            effects += call(.mention, "\(name) in \(line.topic.isEmpty ? topic : line.topic)", line.text)
        }
        return effects
    }

    /// Notifies of a new letter.
    func call(for letter: PostboxMessage) -> ChatEffects {
        let name = letter.from.flatMap { $0.isEmpty ? nil : SafeText(name: $0).description } ?? "somebody"
        return call(.letter, "Letter from \(name)", LetterSubject.prefix(letter.subject) + letter.message)
    }

    /// Notifies of the session's end, other than by the person.
    func call(forEnd reason: ConnectionReason?) -> ChatEffects {
        guard let reason, reason != .closedByUser else { return [] }
        return call(.end, "Parley is disconnected", reason.words)
    }

    private func call(_ kind: PersonCall.Kind, _ title: String, _ text: String) -> ChatEffects {
        guard hasScreen, isElsewhere, settings.notifications.wants(kind) else { return [] }
        let notification = TerminalNotification(title: title, body: String(text.prefix(Self.calledTextLimit)))
        let due = attention.calls.take(PersonCall(kind: kind, notification: notification), at: now.instant)
        return due.map { called($0) } ?? []
    }

    /// Notifies of what was held back, where its time has come; the bell that was held back with it rings too.
    func callAgain() -> ChatEffects {
        guard let due = attention.calls.due, due <= now.instant else { return [] }
        let rings = attention.calls.holdsNews
        guard let notification = attention.calls.release(at: now.instant) else { return [] }
        return called(notification) + (rings ? ring() : [])
    }

    private func called(_ notification: TerminalNotification, isTest: Bool = false) -> ChatEffects {
        ChatEffects(
            core: settings.notifications.command.map { [.runNotifier($0, notification)] } ?? [],
            screen: [.notify(notification, isTest: isTest)])
    }

    // MARK: The command

    /// Lists what is set about notifications.
    func showNotifications() {
        let setting = settings.notifications
        var lines: [HelpText.Line] = []
        func entry(_ kind: String, _ isOn: Bool) {
            let isNotified = isOn && (setting.by != .nothing || setting.command != nil)
            lines.append(.entry(kind, isNotified ? "notified of" : "not notified of"))
        }
        entry("mentions", setting.mentions)
        entry("letters", setting.letters)
        entry("ends", setting.ends)
        lines.append(.entry("by", setting.by.words))
        if let command = setting.command { lines.append(.entry("and by", SafeText(command).description)) }
        lines.append(.entry("bell", settings.bell == .nothing ? "silent, whatever rings" : "for mentions and letters"))
        lines.append(.entry("when", attention.tracker.isReported ? Self.whenReported : Self.whenUnreported))
        screen.overlay = .listing(Listing(title: "Notifications", lines: lines))
    }

    private static let whenReported =
        "the terminal is out of focus; \(Int(CallPacer.pause.components.seconds)) s apart at least"
    private static let whenUnreported =
        "the terminal is out of focus, or, as long as it has told nothing of that, you have typed nothing for a minute; "
        + "\(Int(CallPacer.pause.components.seconds)) s apart at least"

    /// Tries a notification, whether the person looks or not.
    func testNotification() -> ChatEffects {
        guard hasScreen else {
            say("Notifications need a screen; here each line is said as it comes.")
            return []
        }
        let place = "\(network.identity.user)@\(network.identity.network)"
        return called(TerminalNotification(title: "Parley", body: "This is a test for \(place)."), isTest: true)
    }

    /// Says by what the test was done.
    func notified(by methods: [NotificationMethod]) {
        if settings.notifications.command != nil, methods.isEmpty || settings.notifications.by == .nothing {
            return say("The command of the configuration runs; the terminal was sent nothing.")
        }
        guard !methods.isEmpty else {
            let isOff = settings.notifications.by == .nothing
            return say(
                isOff
                    ? "Nothing was sent: the configuration says notifications: { by: \"none\" }."
                    : "Nothing was sent: the terminal takes no output now.")
        }
        let sequences = methods.filter { $0 != .bell }
        let canRing = settings.bell != .nothing
        if sequences.isEmpty {
            return say(
                canRing
                    ? "The bell has rung: the terminal is not known to show notifications."
                    : "Nothing was sent: there is only the bell, and the configuration says bell: \"none\".")
        }
        let names = sequences.map(\.name) + (methods.contains(.bell) && canRing ? ["the bell"] : [])
        let sent = "Sent by \(names.joined(separator: " and "))."
        say(sent + " If nothing is shown, notifications: { by: … } in the configuration names another way.")
    }
}
