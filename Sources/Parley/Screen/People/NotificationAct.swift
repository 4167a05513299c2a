/// An argument of `/notify`.
enum NotificationAct: String, Sendable {
    case show = ""
    /// Whether the connection is kept while the person looks elsewhere, so that there can be notifications.
    case on, off
    case test

    /// The arguments in the order of the help.
    static let words = ["on", "off", "test"]

    init?(_ text: String) { self.init(rawValue: text.lowercased()) }
}

/// An argument of `/suspend-after`.
enum SuspensionChange: Hashable, Sendable {
    case show
    /// Another time; nil for never.
    case set(Duration?)

    init?(_ text: String) {
        guard !text.isEmpty else {
            self = .show
            return
        }
        guard let time = Suspension.time(text) else { return nil }
        self = .set(time)
    }
}
