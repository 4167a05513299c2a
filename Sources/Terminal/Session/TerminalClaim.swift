import Synchronization

/// There is one terminal, so there is one session at a time.
enum TerminalClaim {
    private static let isTaken = Atomic(false)

    /// True when the caller now has it.
    static func take() -> Bool {
        !isTaken.exchange(true, ordering: .acquiringAndReleasing)
    }

    static func giveBack() {
        isTaken.store(false, ordering: .releasing)
    }
}
