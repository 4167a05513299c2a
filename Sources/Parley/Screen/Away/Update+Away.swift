import Relay
import Terminal

// The person leaves and returns: what came meanwhile is told in a row, and whether the connection stays is up to them.
extension ChatModel {
    /// The person has left.
    func leaveTerminal() {
        if attention.absence?.goOn(at: now.instant) != true { attention.absence = Absence(leftAt: now.instant) }
    }

    /// The person is back.
    func returnToTerminal() {
        guard attention.absence != nil else { return }
        let isConnected = network.status.state == .connected
        // Of what rests nothing comes.
        let followed = network.conversations.all.map(\.name).filter { !network.resting.topics.contains($0) }
        attention.absence?.end(at: now, isConnected: isConnected, topics: followed)
        // What was missed comes from now on, and is new though the person sees it come.
        let time = now.wall
        if attention.absence?.rest == .suspended { network.conversations.updateAll { $0.resume(at: time) } }
        tellAbsence()
    }

    /// When somebody who goes on doing nothing counts as away; nil for never.
    var idleDue: ContinuousClock.Instant? {
        guard hasScreen, attention.isWatched, attention.tracker.isForeground, let time = settings.idleTime else {
            return nil
        }
        return attention.lastSign.advanced(by: time)
    }

    /// Takes somebody who has done nothing for as long as the configuration says for one who has left.
    func noteIdleness() -> ChatEffects {
        guard let due = idleDue, due <= now.instant else { return [] }
        network.log.record(.idle, at: now)
        return noteAttention(attention.tracker.handle(FocusTracker.Event.idle))
    }

    /// A terminal was attached to tmux or screen, or none is any more.
    func terminalChanged(isAttached: Bool) -> ChatEffects {
        network.log.record(isAttached ? .attached : .detached, at: now)
        let policy = attention.suspension.policy
        attention.suspension.isDetached = !isAttached
        // First, so that the time out of focus begins with what counts from now on.
        let change: ChatEffects =
            attention.suspension.policy == policy ? [] : [.connection(.setSuspension(attention.suspension.policy))]
        return change + noteAttention(attention.tracker.handle(isAttached ? FocusTracker.Event.attached : .detached))
    }

    /// The connection's state has changed.
    func absenceFollows(_ status: ConnectionStatus) {
        switch status.state {
        case .suspended where status.reason == .backgrounded: attention.absence?.rests(.suspended)
        case .connected: attention.absence?.connected(at: now.instant)
        case .initialized, .connecting, .reconnecting, .suspended, .disconnected: attention.absence?.disconnected()
        }
    }

    /// Says what came, as soon as all of it is here.
    ///
    /// - Returns: whether it was said now.
    @discardableResult
    func tellAbsence() -> Bool {
        guard let absence = attention.absence, let due = absence.due, due <= now.instant else { return false }
        guard absence.isWorthTelling else {
            self.attention.absence = nil
            return false
        }
        self.attention.absence?.tell()
        let sentence = absence.sentence
        note(sentence)
        if absence.rest == .suspended, attention.suspension.keeps == nil, !attention.suspension.isExplained {
            attention.suspension.isExplained = true
            note("The connection was suspended meanwhile; \(Self.choice)")
            say("The connection rested meanwhile; \(Self.choice)")
        } else {
            // The row above the text says it already, where there is one.
            guard !hasScreen || layout(on: size).rule == nil else { return true }
            let words = sentence.prefix(1).uppercased() + String(sentence.dropFirst())
            say(words + wayToFirst(" ", " goes to the first.", otherwise: "."))
        }
        return true
    }

    private static let choice = "/notify on keeps it, /notify off does not."

    /// What the row says above the text: what came while the person was away; nil where there is nothing to say.
    var absenceWords: String? {
        guard let absence = attention.absence, absence.isTold else { return nil }
        return absence.sentence + wayToFirst(" · ", "", otherwise: "")
    }

    /// What goes to what came first.
    private func wayToFirst(_ before: String, _ behind: String, otherwise: String) -> String {
        guard attention.absence?.hasNews == true, let way = hasScreen ? keyToFirst : commandToFirst else {
            return otherwise
        }
        return (otherwise.isEmpty ? "" : ".") + before + way + behind
    }

    private var keyToFirst: String? { settings.keys.label(of: .nextUnread) }

    /// Without a screen, what came in view was said.
    private var commandToFirst: String? { unreadMessages > 0 ? "/next" : nil }

    /// Goes to the first of what came while the person was away.
    ///
    /// - Returns: nil where nothing is told of that.
    func showFirstOfAbsence() -> ChatEffects? {
        guard let absence = attention.absence, absence.isTold else { return nil }
        self.attention.absence = nil
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

    /// The row has been read.
    func dismissAbsence() { if attention.absence?.isTold == true { attention.absence = nil } }

    // MARK: The connection meanwhile

    /// Keeps the connection while the person looks elsewhere, or no more.
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

    /// Changes after how long it is suspended, or says it.
    func suspend(after change: SuspensionChange) -> ChatEffects {
        switch change {
        case .show:
            guard let time = attention.suspension.effectiveTime else {
                say(
                    attention.suspension.keeps == true
                        ? "The connection is kept while you look elsewhere; /notify off ends that."
                        : "The connection is kept while you look elsewhere.")
                return []
            }
            say("The connection is suspended after \(Wording.length(time)) out of focus.")
            return []
        case .set(let time):
            attention.suspension.time = time
            // Who names a time wants it to count.
            if time != nil, attention.suspension.keeps == true { attention.suspension.keeps = nil }
            attention.suspension.isExplained = true
            let words = time.map { "is suspended after \(Wording.length($0)) out of focus" }
            say("The connection \(words ?? "is kept while you look elsewhere"), until Parley ends.")
            return [.connection(.setSuspension(attention.suspension.policy))]
        }
    }
}
