/// Whether the person is in front of the terminal, as far as the terminal can tell.
///
/// A pure value that fails open: what is not known counts as foreground, so that a terminal that never reports focus,
/// or reports it once by mistake, cannot silence the program. A focus-out counts only after the terminal has shown that
/// it reports focus; any key or paste means foreground.
public struct FocusTracker: Hashable, Sendable {
    /// What the tracker takes in.
    public enum Event: Hashable, Sendable {
        /// The terminal reported that its window came into focus, or went out of it.
        case focusIn, focusOut
        /// The terminal answered that it knows focus reports (DECRQM 1004: set or reset).
        case supportConfirmed
        /// A key, a paste or the mouse.
        case input
        /// No terminal is attached to the multiplexer any more, or one is again.
        case detached, attached
        /// The process is about to stop (SIGTSTP), or runs again.
        case suspended, resumed
        /// The terminal is gone.
        case hungUp
        /// Nothing was typed for so long that the person counts as absent.
        case idle
    }

    /// True when the person may be looking.
    public private(set) var isForeground = true
    /// True when the terminal has shown that it reports focus.
    public private(set) var isReported = false
    private var isGone = false

    /// Makes a tracker: foreground, nothing known of the terminal.
    public init() {}

    /// Takes an event and returns the new state when it changed: true for foreground.
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

    /// Takes what the terminal sent and returns the new state when it changed.
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
