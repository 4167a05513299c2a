struct Notices: Equatable, Sendable {
    var shown: Notice?
    /// What the person did that could not be done, newest last: it has nothing to do with the connection.
    var mistakes = NoteList()
    /// What requests about keys came to, newest last.
    var keyResults = NoteList()
    /// Whether what happens now answers to what the person did.
    var answerPerson = false

    /// Whoever types on has read what stands on the bottom line, and the hints come back.
    mutating func pass(at now: ContinuousClock.Instant) {
        if let shown, shown.since.duration(to: now) >= Notice.readingTime { self.shown = nil }
    }

    /// Whoever has gone on with the text has seen what they were just told of it; a failure stays for as long as it
    /// takes to read it.
    mutating func passAnswer() {
        if let shown, shown.isAnswer, shown.kind == .information { self.shown = nil }
    }

    /// Takes away a notice whose subject is settled.
    mutating func withdraw(about subject: Notice.Subject) {
        if shown?.subject == subject { shown = nil }
    }
}

/// A sentence for the person.
struct Notice: Hashable, Sendable {
    enum Kind: Hashable, Sendable { case information, failure }
    /// What a notice is about; when that is settled, the notice goes before its time.
    enum Subject: Hashable, Sendable {
        case connection
        /// Loading older messages of a topic.
        case history(String)
        case configuration
        case keys
        /// A second ^C quits.
        case quitting
        /// What was typed cannot be done; it stands there to be mended.
        case mistake
        /// Something that happened once.
        case event
    }
    let kind: Kind
    let text: String
    let since: ContinuousClock.Instant
    /// When it goes away by itself.
    let until: ContinuousClock.Instant
    var subject = Subject.event
    /// Whether it answers to what the person has just done, so that they have looked for it.
    var isAnswer = false

    /// So long it stays whatever is typed, since it may have come while somebody was typing.
    static let readingTime = Duration.seconds(2)
    /// So long one stays at all that tells of a key what everybody sees who has pressed it.
    static let glance = Duration.seconds(2)
}

extension ChatModel {
    func note(_ text: String) { network.log.record(text, at: now) }

    /// Says something on the bottom line for a while. A failure can be read in the log from then on, or, where it
    /// answers to what the person did, in the list of what went wrong.
    ///
    /// - Parameter time: how long; nil for as long as suits its kind.
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
            // The log has the connection's own failures with its states.
            network.log.record(text, isFailure: true, at: now)
        }
    }

    /// Says something where nothing else follows.
    func tell(
        _ text: String, _ kind: Notice.Kind = .information, about subject: Notice.Subject = .event,
        for time: Duration? = nil
    ) -> ChatEffects {
        say(text, kind, about: subject, for: time)
        return []
    }

    /// Says what went wrong by itself, unless the person has just been told what became of something that they did:
    /// that stays as long as it takes to read it. The log has both.
    func sayMeanwhile(_ text: String, about subject: Notice.Subject = .event) {
        guard hasScreen, let notice = notices.shown, notice.kind == .failure, notice.subject == .event,
            notice.since.duration(to: now.instant) < Notice.readingTime
        else { return say(text, .failure, about: subject) }
        if subject != .connection { network.log.record(text, isFailure: true, at: now) }
    }
}
