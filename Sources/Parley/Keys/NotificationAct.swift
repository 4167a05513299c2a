/// What a person wants of notifications, as `/notify` says it.
enum NotificationAct: Hashable, Sendable {
    /// What is set.
    case show
    /// Try one.
    case test

    /// The words behind the command, in the order of the help.
    static let words = ["test"]

    /// Reads what stands behind the command; nil for what cannot be meant.
    init?(_ text: String) {
        switch text.lowercased() {
        case "": self = .show
        case "test": self = .test
        default: return nil
        }
    }
}
