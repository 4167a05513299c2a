/// What a person wants of notifications, as `/notify` says it.
enum NotificationAct: Hashable, Sendable {
    /// What is set.
    case show
    /// Try one.
    case test
    /// Whether the connection is kept while the person looks elsewhere, so that there is something to notify of.
    case keep(Bool)

    /// The words behind the command, in the order of the help.
    static let words = ["on", "off", "test"]

    /// Reads what stands behind the command; nil for what cannot be meant.
    init?(_ text: String) {
        switch text.lowercased() {
        case "": self = .show
        case "test": self = .test
        case "on": self = .keep(true)
        case "off": self = .keep(false)
        default: return nil
        }
    }
}

/// What a person wants of suspensions, as `/suspend-after` says it.
enum SuspensionChange: Hashable, Sendable {
    /// After how long the connection is suspended.
    case show
    /// Another time; nil for never.
    case set(Duration?)

    /// Reads what stands behind the command; nil for what is no time.
    init?(_ text: String) {
        guard !text.isEmpty else {
            self = .show
            return
        }
        guard let time = Suspension.time(text) else { return nil }
        self = .set(time)
    }
}
