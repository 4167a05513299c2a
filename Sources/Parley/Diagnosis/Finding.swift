import Relay
import Terminal

/// What one check of `parley doctor` found.
struct Finding: Hashable, Sendable {
    enum Outcome: Hashable, Sendable {
        case ok
        /// It works, and could be better.
        case warning
        /// It does not work; the exit status that says so.
        case failure(CommandStatus)

        static let noConnection = Outcome.failure(.noConnection)
        static let cannotCreate = Outcome.failure(.cannotCreate)
        static let refused = Outcome.failure(.refused)
        static let misconfigured = Outcome.failure(.badConfiguration)

        /// Its name, its symbol, which is readable without colour, and its colour.
        fileprivate var look: (name: String, symbol: String, color: Int) {
            switch self {
            case .ok: ("ok", "✓", 32)
            case .warning: ("warning", "!", 33)
            case .failure: ("failure", "✗", 31)
            }
        }
    }

    /// What was looked at.
    let check: String
    let outcome: Outcome
    /// What was found; never a secret.
    let detail: String
    /// How to mend it; nil where there is nothing to mend.
    let fix: String?

    init(_ check: String, _ outcome: Outcome, _ detail: String, fix: String? = nil) {
        (self.check, self.outcome, self.detail, self.fix) = (check, outcome, detail, fix)
    }

    /// The object that scripts read. A warning is ok, and has a fix.
    var json: MessageMap {
        let isOK = if case .failure = outcome { false } else { true }
        return [
            "check": .string(check), "ok": .bool(isOK), "detail": .string(detail), "fix": MessageValue(fix),
            "outcome": .string(outcome.look.name),
        ]
    }

    /// `✓ locale           UTF-8 (C.UTF-8)`, with the fix behind an arrow.
    func line(isColored: Bool) -> String {
        let (_, sign, color) = outcome.look
        let symbol = isColored ? "\u{1B}[\(color)m\(sign)\u{1B}[0m" : sign
        let name = SafeText(check)
        let padded = name.width < 16 ? name.padded(columns: 16) : name
        let mend = fix.map { "  → \(Output.safe($0))" } ?? ""
        return "\(symbol) \(padded)  \(Output.safe(detail))\(mend)"
    }
}
