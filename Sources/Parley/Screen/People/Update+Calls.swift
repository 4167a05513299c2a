import Relay
import Terminal

// Notifications for a person who looks elsewhere. The bell also rings for one who is in front of the screen and looks
// at another topic.
extension ChatModel {
    /// The most characters of a text in a notification, of which the terminal shows the beginning.
    private static let calledTextLimit = 512

    /// Whether the person is presumably not in front of this terminal: it is out of focus, or it does not report its
    /// focus and nothing was typed for a while.
    var isElsewhere: Bool { !attention.tracker.isForeground || !attention.tracker.isReported && !isLooking }

    func call(for lines: [StoredLine], in topic: String) -> ChatEffects {
        var effects: ChatEffects = []
        for line in lines where line.isMention {
            let name = line.name.isEmpty ? "somebody" : SafeText(name: line.shownName).description
            effects += call(.mention, "\(name) in \(line.topic.isEmpty ? topic : line.topic)", line.text)
        }
        return effects
    }

    func call(for letter: PostboxMessage) -> ChatEffects {
        let name = letter.from.flatMap { $0.isEmpty ? nil : SafeText(name: $0).description } ?? "somebody"
        return call(.letter, "Letter from \(name)", LetterSubject.prefix(letter.subject) + letter.message)
    }

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

    /// Sends the notification that was held back, once it is due; the bell that was held back with it rings too.
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

    func showNotifications() {
        let setting = settings.notifications
        var lines: [HelpText.Line] = []
        let isOn = setting.by != .nothing || setting.command != nil
        for (kind, isWanted) in [("mentions", setting.mentions), ("letters", setting.letters), ("ends", setting.ends)] {
            lines.append(.entry(kind, isOn && isWanted ? "notified of" : "not notified of"))
        }
        lines.append(.entry("by", setting.by.words))
        if let command = setting.command { lines.append(.entry("and by", SafeText(command).description)) }
        lines.append(.entry("bell", settings.bell == .nothing ? "silent, whatever rings" : "for mentions and letters"))
        let unreported = ", or, until it reports its focus, you have typed nothing for a minute"
        let pause = "\(CallPacer.pause.components.seconds) s apart at least"
        let isReported = attention.tracker.isReported
        lines.append(.entry("when", "the terminal is out of focus\(isReported ? "" : unreported); \(pause)"))
        screen.overlay = .listing(Listing(title: "Notifications", lines: lines))
    }

    func testNotification() -> ChatEffects {
        guard hasScreen else { return tell("Notifications need a screen; here each line is printed as it arrives.") }
        let place = "\(network.identity.user)@\(network.identity.network)"
        return called(TerminalNotification(title: "Parley", body: "This is a test for \(place)."), isTest: true)
    }

    func notified(by methods: [NotificationMethod]) {
        let isOff = settings.notifications.by == .nothing
        if settings.notifications.command != nil, methods.isEmpty || isOff {
            return say("The command of the configuration runs; the terminal was sent nothing.")
        }
        guard !methods.isEmpty else {
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
