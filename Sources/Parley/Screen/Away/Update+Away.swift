import Relay
import Terminal

// Leaving and returning: a row says what came meanwhile, and the person decides whether the connection stays.
extension ChatModel {
    func leaveTerminal() {
        if attention.absence?.goOn(at: now.instant) != true { attention.absence = Absence(leftAt: now.instant) }
    }

    func returnToTerminal() {
        guard attention.absence != nil else { return }
        // Resting topics bring nothing.
        let followed = network.conversations.all.map(\.name).filter { !network.resting.topics.contains($0) }
        attention.absence?.end(at: now, isConnected: network.status.state == .connected, topics: followed)
        // Missed messages arrive from now on, and are new though the person sees them arrive.
        if attention.absence?.rest == .suspended { network.conversations.updateAll { $0.resume(at: now.wall) } }
        tellAbsence()
    }

    /// When an idle person counts as away; nil for never.
    var idleDue: ContinuousClock.Instant? {
        guard hasScreen, attention.isWatched, attention.tracker.isForeground, let time = settings.idleTime else {
            return nil
        }
        return attention.lastSign.advanced(by: time)
    }

    func noteIdleness() -> ChatEffects {
        guard let due = idleDue, due <= now.instant else { return [] }
        network.log.record(.idle, at: now)
        return noteAttention(attention.tracker.handle(FocusTracker.Event.idle))
    }

    /// Handles the first terminal that attaches to tmux or screen, or the last that detaches.
    func terminalChanged(isAttached: Bool) -> ChatEffects {
        network.log.record(isAttached ? .attached : .detached, at: now)
        let policy = attention.suspension.policy
        attention.suspension.isDetached = !isAttached
        // First, so that the time out of focus begins under the new policy.
        let change: ChatEffects =
            attention.suspension.policy == policy ? [] : [.connection(.setSuspension(attention.suspension.policy))]
        return change + noteAttention(attention.tracker.handle(isAttached ? FocusTracker.Event.attached : .detached))
    }

    func absenceFollows(_ status: ConnectionStatus) {
        switch status.state {
        case .suspended where status.reason == .backgrounded: attention.absence?.rests(.suspended)
        case .connected: attention.absence?.connected(at: now.instant)
        case .initialized, .connecting, .reconnecting, .suspended, .disconnected: attention.absence?.disconnected()
        }
    }

    /// Says what came, once all of it has arrived; returns whether it did so now.
    @discardableResult
    func tellAbsence() -> Bool {
        guard let absence = attention.absence, let due = absence.due, due <= now.instant else { return false }
        guard absence.isWorthTelling else {
            attention.absence = nil
            return false
        }
        attention.absence?.isTold = true
        let sentence = absence.sentence
        note(sentence)
        if absence.rest == .suspended, attention.suspension.keeps == nil, !attention.suspension.isExplained {
            attention.suspension.isExplained = true
            note("The connection was suspended meanwhile; \(Self.choice)")
            say("The connection rested meanwhile; \(Self.choice)")
        } else {
            // The row above the text, if there is one, says it already.
            guard !hasScreen || layout(on: size).rule == nil else { return true }
            let words = sentence.prefix(1).uppercased() + String(sentence.dropFirst())
            say(words + wayToFirst(" ", " goes to the first.", otherwise: "."))
        }
        return true
    }

    private static let choice = "/notify on keeps it, /notify off does not."

    /// What the row above the text says of the absence; nil if nothing.
    var absenceWords: String? {
        guard let absence = attention.absence, absence.isTold else { return nil }
        return absence.sentence + wayToFirst(" · ", "", otherwise: "")
    }

    private func wayToFirst(_ before: String, _ after: String, otherwise: String) -> String {
        guard attention.absence?.hasNews == true,
            // Without a screen, messages in view were printed already.
            let way = hasScreen ? settings.keys.label(of: .nextUnread) : unreadMessages > 0 ? "/next" : nil
        else { return otherwise }
        return (otherwise.isEmpty ? "" : ".") + before + way + after
    }

    /// Goes to the first message that came while the person was away; nil if the row above the text does not tell of
    /// any.
    func showFirstOfAbsence() -> ChatEffects? {
        guard let absence = attention.absence, absence.isTold else { return nil }
        attention.absence = nil
        guard absence.hasNews else { return nil }
        guard let first = absence.first, network.conversations.index(of: first.conversation) != nil else {
            guard absence.letters > 0 else { return nil }
            screen.focus = .main
            return openInbox(nil)
        }
        let origin = screen.visits.first
        show(.conversation(first.conversation))
        showRow(at: first.position, in: first.conversation)
        if let origin { screen.jump = Jump(origin: origin, present: .topic(first.conversation)) }
        return []
    }

    func dismissAbsence() { if attention.absence?.isTold == true { attention.absence = nil } }

    func keepConnection(_ keeps: Bool) -> ChatEffects {
        attention.suspension.keeps = keeps
        attention.suspension.isExplained = true
        if keeps {
            say("The connection is kept while you look elsewhere; ^Z still suspends it.")
        } else if let time = attention.suspension.time {
            say("The connection is suspended after \(Wording.length(time)) out of focus.")
        } else {
            say("It is kept all the same: suspendAfter is 0. /suspend-after TIME changes that.")
        }
        return [.connection(.setSuspension(attention.suspension.policy))]
    }

    func suspend(after change: SuspensionChange) -> ChatEffects {
        switch change {
        case .show:
            guard let time = attention.suspension.effectiveTime else {
                let end = attention.suspension.keeps == true ? "; /notify off ends that." : "."
                return tell("The connection is kept while you look elsewhere" + end)
            }
            return tell("The connection is suspended after \(Wording.length(time)) out of focus.")
        case .set(let time):
            attention.suspension.time = time
            // Naming a time means that it should count.
            if time != nil, attention.suspension.keeps == true { attention.suspension.keeps = nil }
            attention.suspension.isExplained = true
            let words = time.map { "is suspended after \(Wording.length($0)) out of focus" }
            say("The connection \(words ?? "is kept while you look elsewhere"), until Parley ends.")
            return [.connection(.setSuspension(attention.suspension.policy))]
        }
    }
}
