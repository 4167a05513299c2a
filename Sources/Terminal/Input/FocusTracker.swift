/// Whether the person is in front of the terminal, as far as the terminal can tell.
///
/// A pure value that fails open: in doubt the terminal counts as in the foreground, so that one that never reports
/// focus, or reports it once by mistake, cannot silence the program. A focus-out counts only after the terminal has
/// shown that it reports focus; any key or paste means foreground.
public struct FocusTracker: Hashable, Sendable {
    /// What the tracker is told.
    public enum Event: Hashable, Sendable {
        /// The terminal reported that its window came into focus, or went out of it.
        case focusIn, focusOut
        /// The terminal answered that it knows focus reports (DECRQM 1004: set or reset).
        case supportConfirmed
        /// A key, a paste or the mouse.
        case input
        /// The multiplexer's last terminal was detached, or one is attached again.
        case detached, attached
        /// The process is about to stop (SIGTSTP), or runs again.
        case suspended, resumed
        /// The terminal is gone.
        case hungUp
        /// Nothing was typed for so long that the person counts as absent.
        case idle
    }

    /// Whether the person may be looking.
    public private(set) var isForeground = true
    /// Whether the terminal has shown that it reports focus.
    public private(set) var isReported = false
    private var isGone = false

    /// Makes a tracker in the foreground, with nothing known of the terminal.
    public init() {}

    /// Handles an event; returns the new state if it changed: true for foreground.
    public mutating func handle(_ event: Event) -> Bool? {
        let before = isForeground
        switch event {
        case .focusIn:
            isReported = true
            isForeground = !isGone
        case .focusOut:
            if isReported { isForeground = false }
            isReported = true
        case .supportConfirmed: isReported = true
        case .input, .resumed, .attached: isForeground = !isGone
        case .suspended, .idle, .detached: isForeground = false
        case .hungUp:
            isGone = true
            isForeground = false
        }
        return isForeground == before ? nil : isForeground
    }

    /// Handles input from the terminal; returns the new state if it changed.
    public mutating func handle(_ event: InputEvent) -> Bool? {
        switch event {
        case .key, .paste, .pasteCut, .mouse: handle(Event.input)
        case .focusIn: handle(Event.focusIn)
        case .focusOut: handle(Event.focusOut)
        case .reply(.mode(number: 1004, state: 1...3)): handle(Event.supportConfirmed)
        case .reply: nil
        }
    }
}
