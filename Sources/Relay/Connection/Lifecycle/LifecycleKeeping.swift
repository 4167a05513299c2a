/// What a client keeps for the application's life, besides the machine that decides.
struct LifecycleKeeping: Sendable {
    /// The signals, once they are watched.
    var sources: [any LifecycleSource] = []
    /// What they tell and nobody has taken in yet, repetitions apart. More than this wait only while the client does
    /// nothing at all.
    let signals = BoundedChannel<LifecycleEvent>(capacity: 64, weight: { _ in ChannelWeight() }, join: { $0 == $1 })
    /// When the signals are looked at next.
    var nextLook: ContinuousClock.Instant?
    /// Closed while the connection rests: nobody waits then for the local store to be tidy.
    let upkeep = RestGate()
    /// Whether the connection rests, so that nothing of the client runs.
    private(set) var isResting = false
    /// The last words over a connection that was let go, and its end. The next dial comes behind it: there is one
    /// socket at a time.
    var farewell: Task<Void, Never>?

    /// The connection rests, or runs.
    ///
    /// - Returns: whether that is news.
    mutating func rest(_ isResting: Bool) -> Bool {
        guard isResting != self.isResting else { return false }
        self.isResting = isResting
        upkeep.set(isOpen: !isResting)
        return true
    }

    /// Ends what tells of the application's life.
    func end() {
        for source in sources { source.end() }
    }
}
