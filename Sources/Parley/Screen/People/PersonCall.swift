import Terminal

struct PersonCall: Hashable, Sendable {
    enum Kind: Hashable, Sendable, CaseIterable {
        /// A line with the person's name or a word of theirs.
        case mention
        case letter, end

        func count(_ number: Int) -> String {
            switch self {
            case .mention: Wording.count(number, "mention")
            case .letter: Wording.count(number, "letter")
            case .end: Wording.count(number, "end") + " of the session"
            }
        }
    }

    let kind: Kind
    let notification: TerminalNotification
}

/// Decides which calls become notifications: the first one at once, then one in ten seconds at most. What is held back
/// meanwhile is counted into the next one, which comes when the ten seconds are over.
///
/// A pure value: the caller tells the time.
struct CallPacer: Hashable, Sendable {
    /// There is no more than one notification in this time.
    static let pause = Duration.seconds(10)

    private var last: ContinuousClock.Instant?
    /// What was held back: the newest call, and how many of each kind there are, that one included.
    private var held: PersonCall?
    private var counts: [PersonCall.Kind: Int] = [:]

    /// When what was held back comes; nil where nothing was.
    var due: ContinuousClock.Instant? { held == nil ? nil : last?.advanced(by: Self.pause) }

    /// Whether something was held back that rings the bell as well: all but the session's end.
    var holdsNews: Bool { counts[.mention, default: 0] + counts[.letter, default: 0] > 0 }

    /// Takes a call in; the notification that comes of it now, or nil where it is held back.
    mutating func take(_ call: PersonCall, at now: ContinuousClock.Instant) -> TerminalNotification? {
        held = call
        counts[call.kind, default: 0] &+= 1
        return release(at: now)
    }

    /// The notification of what was held back, where its time has come.
    mutating func release(at now: ContinuousClock.Instant) -> TerminalNotification? {
        guard let call = held else { return nil }
        if let last, last.duration(to: now) < Self.pause { return nil }
        var notification = call.notification
        counts[call.kind, default: 1] -= 1
        let others = PersonCall.Kind.allCases.filter { counts[$0, default: 0] > 0 }.map { $0.count(counts[$0] ?? 0) }
        if !others.isEmpty { notification.title += " (+ \(others.joined(separator: ", ")))" }
        forget()
        last = now
        return notification
    }

    /// The person is here and sees what there is: what was held back needs no notification any more.
    mutating func forget() {
        held = nil
        counts = [:]
    }
}
