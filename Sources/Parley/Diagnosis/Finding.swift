import Relay
import Terminal

/// The result of a check of `parley doctor`.
struct Finding: Hashable, Sendable {
    enum Outcome: Hashable, Sendable {
        case ok
        /// It works, but could be better.
        case warning
        /// It does not work; with the exit status.
        case failure(CommandStatus)

        static let noConnection = Outcome.failure(.noConnection)
        static let cannotCreate = Outcome.failure(.cannotCreate)
        static let refused = Outcome.failure(.refused)
        static let misconfigured = Outcome.failure(.badConfiguration)

        fileprivate var look: (name: String, symbol: String, color: Int) {
            switch self {
            case .ok: ("ok", "✓", 32)
            case .warning: ("warning", "!", 33)
            case .failure: ("failure", "✗", 31)
            }
        }
    }

    let check: String
    let outcome: Outcome
    /// What was found; never a secret.
    let detail: String
    /// How to fix it; nil if there is nothing to fix.
    let fix: String?

    init(_ check: String, _ outcome: Outcome, _ detail: String, fix: String? = nil) {
        (self.check, self.outcome, self.detail, self.fix) = (check, outcome, detail, fix)
    }

    /// The object for scripts. A warning counts as ok, and has a fix.
    var json: MessageMap {
        let isOK = if case .failure = outcome { false } else { true }
        return [
            "check": .string(check), "ok": .bool(isOK), "detail": .string(detail), "fix": MessageValue(fix),
            "outcome": .string(outcome.look.name),
        ]
    }

    /// A line such as `✓ locale           UTF-8 (C.UTF-8)`, with the fix after an arrow.
    func line(isColored: Bool) -> String {
        let (_, sign, color) = outcome.look
        let symbol = isColored ? "\u{1B}[\(color)m\(sign)\u{1B}[0m" : sign
        let name = SafeText(check)
        let padded = name.width < 16 ? name.padded(columns: 16) : name
        let mend = fix.map { "  → \(Output.safe($0))" } ?? ""
        return "\(symbol) \(padded)  \(Output.safe(detail))\(mend)"
    }
}
