struct Notices: Equatable, Sendable {
    var shown: Notice?
    /// The user's failed actions, newest last; unrelated to the connection.
    var mistakes = NoteList()
    /// The answers to requests about keys, newest last.
    var keyResults = NoteList()
    /// Whether the current event is an action of the user.
    var answerPerson = false

    /// Dismisses a notice that the user has had time to read, as they type on.
    mutating func pass(at now: ContinuousClock.Instant) {
        if let shown, shown.since.duration(to: now) >= Notice.readingTime { self.shown = nil }
    }

    /// Dismisses the answer to the user's last action as they type on; a failure stays until it can be read.
    mutating func passAnswer() {
        if let shown, shown.isAnswer, shown.kind == .information { self.shown = nil }
    }

    mutating func withdraw(about subject: Notice.Subject) {
        if shown?.subject == subject { shown = nil }
    }
}

struct Notice: Hashable, Sendable {
    enum Kind: Hashable, Sendable { case information, failure }
    /// The subject of a notice, which is dismissed early once that is settled.
    enum Subject: Hashable, Sendable {
        case connection
        /// Loading older messages of a topic.
        case history(String)
        case configuration
        case keys
        /// A second ^C quits.
        case quitting
        /// The typed text is invalid; it stays to be corrected.
        case mistake
        case event
    }
    let kind: Kind
    let text: String
    let since: ContinuousClock.Instant
    /// When it disappears.
    let until: ContinuousClock.Instant
    var subject = Subject.event
    /// Whether it answers the user's last action, so that they have looked for it.
    var isAnswer = false

    /// The least time that a notice stays, since it may appear while the user is typing.
    static let readingTime = Duration.seconds(2)
    /// The time for a notice that only confirms what a key has visibly done.
    static let glance = Duration.seconds(2)
}

extension ChatModel {
    func note(_ text: String) { network.log.record(text, at: now) }

    /// Shows a notice on the bottom line. A failure is also recorded in the log or, if it answers the user's action, in
    /// the list of errors.
    ///
    /// - Parameter time: how long to show it; by default 12 s for failures and 6 s otherwise.
    func say(
        _ text: String, _ kind: Notice.Kind = .information, about subject: Notice.Subject = .event,
        for time: Duration? = nil
    ) {
        let wait = time ?? (kind == .failure ? .seconds(12) : .seconds(6))
        notices.shown = Notice(
            kind: kind, text: text, since: now.instant, until: now.instant.advanced(by: wait), subject: subject,
            isAnswer: notices.answerPerson)
        guard kind == .failure else { return }
        if notices.answerPerson || subject == .keys {
            notices.mistakes.record(text, at: now.wall)
        } else if subject != .connection {
            // The log records the connection's own failures with its states.
            network.log.record(text, isFailure: true, at: now)
        }
    }

    /// Shows a notice; there are no effects.
    func tell(
        _ text: String, _ kind: Notice.Kind = .information, about subject: Notice.Subject = .event,
        for time: Duration? = nil
    ) -> ChatEffects {
        say(text, kind, about: subject, for: time)
        return []
    }

    /// Shows a failure that the user did not cause, unless the failure of their own action was shown just before; the
    /// log records both.
    func sayMeanwhile(_ text: String, about subject: Notice.Subject = .event) {
        guard hasScreen, let notice = notices.shown, notice.kind == .failure, notice.subject == .event,
            notice.since.duration(to: now.instant) < Notice.readingTime
        else { return say(text, .failure, about: subject) }
        if subject != .connection { network.log.record(text, isFailure: true, at: now) }
    }
}
