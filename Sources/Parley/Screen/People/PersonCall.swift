import Terminal

struct PersonCall: Hashable, Sendable {
    enum Kind: Hashable, Sendable, CaseIterable {
        /// A line with the person's name, or with a word that they chose.
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

/// Decides which calls become notifications: the first one at once, then at most one in ten seconds. Calls that are
/// held back are counted in the next one, which is sent when the ten seconds are over.
///
/// A value without a clock: the caller passes the time.
struct CallPacer: Hashable, Sendable {
    /// The shortest time between two notifications.
    static let pause = Duration.seconds(10)

    private var last: ContinuousClock.Instant?
    /// What is held back: the newest call, and the number of each kind, that one included.
    private var held: PersonCall?
    private var counts: [PersonCall.Kind: Int] = [:]

    /// When the next notification is due; nil if nothing is held back.
    var due: ContinuousClock.Instant? { held == nil ? nil : last?.advanced(by: Self.pause) }

    /// Whether a call is held back that rings the bell as well: any but the session's end.
    var holdsNews: Bool { counts[.mention, default: 0] + counts[.letter, default: 0] > 0 }

    /// Adds a call. Returns the notification to send now, or nil if it is held back.
    mutating func take(_ call: PersonCall, at now: ContinuousClock.Instant) -> TerminalNotification? {
        held = call
        counts[call.kind, default: 0] &+= 1
        return release(at: now)
    }

    /// The notification of what was held back, if it is due.
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

    /// Drops what was held back: the person is here and sees it.
    mutating func forget() {
        held = nil
        counts = [:]
    }
}
