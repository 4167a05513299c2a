import Relay
import Terminal

/// What one check of `parley doctor` found.
struct Finding: Hashable, Sendable {
    /// How it turned out.
    enum Outcome: Hashable, Sendable {
        case ok
        /// It works, and could be better.
        case warning
        /// It does not work; the exit status that says so.
        case failure(Int32)

        /// Readable without its colour.
        var symbol: String {
            switch self {
            case .ok: "✓"
            case .warning: "!"
            case .failure: "✗"
            }
        }

        var name: String {
            switch self {
            case .ok: "ok"
            case .warning: "warning"
            case .failure: "failure"
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
        self.check = check
        self.outcome = outcome
        self.detail = detail
        self.fix = fix
    }

    /// The object that scripts read. A warning is ok, and has a fix.
    var json: MessageMap {
        var isOK = true
        if case .failure = outcome { isOK = false }
        return [
            "check": .string(check), "ok": .bool(isOK), "detail": .string(detail), "fix": MessageValue(fix),
            "outcome": .string(outcome.name),
        ]
    }

    /// Columns of the checks' names.
    private static let nameColumns = 16

    /// `✓ locale           UTF-8 (C.UTF-8)`, with the fix behind an arrow.
    func line(isColored: Bool) -> String {
        let symbol = isColored ? "\u{1B}[\(color)m\(outcome.symbol)\u{1B}[0m" : outcome.symbol
        let name = SafeText(check)
        let padded = name.width < Self.nameColumns ? name.padded(columns: Self.nameColumns) : name
        let mend = fix.map { "  → \(Output.safe($0))" } ?? ""
        return "\(symbol) \(padded)  \(Output.safe(detail))\(mend)"
    }

    private var color: Int {
        switch outcome {
        case .ok: 32
        case .warning: 33
        case .failure: 31
        }
    }
}
