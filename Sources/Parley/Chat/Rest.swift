/// When the screen is at rest: nothing was drawn for a while, which is shorter after a start and after a connection is
/// made, as those run through much code once.
///
/// A pure value: the caller tells the time and uses the rest.
struct Rest: Sendable {
    /// So long after the last frame of a start or of a new connection.
    static let first = Duration.milliseconds(250)
    /// So long after any other.
    static let usual = Duration.seconds(30)

    /// When the next rest begins, as long as nothing is drawn; nil while one lasts.
    private(set) var due: ContinuousClock.Instant?
    private var isFirst = true

    /// A connection was made.
    mutating func connected() { isFirst = true }

    /// A frame was drawn.
    mutating func drew(at now: ContinuousClock.Instant) { due = now + (isFirst ? Self.first : Self.usual) }

    /// Whether a rest begins now; it does so once.
    mutating func begins(at now: ContinuousClock.Instant) -> Bool {
        guard let due, now >= due else { return false }
        self.due = nil
        isFirst = false
        return true
    }
}
