/// An engine that is there some time behind the first frame: what is asked of it until then waits for it. All on the
/// terminal's thread.
final class LateEngine {
    /// What waits at most: what the first frame asks for, and what the person does meanwhile.
    static let limit = 4_096

    private var run: EngineRun?
    private var waiting: [ChatEffect] = []

    /// Hands over what the engine is asked for; false where no more can wait.
    func send(_ effect: ChatEffect) -> Bool {
        if let run { return run.send(effect) }
        guard waiting.count < Self.limit else { return false }
        waiting.append(effect)
        return true
    }

    /// Lets the connection go, where there is one.
    func letGo() { run?.letGo() }

    /// Hands over what has waited, and goes to the network.
    func start(_ run: EngineRun) {
        self.run = run
        for effect in waiting { _ = run.send(effect) }
        waiting = []
        run.start()
    }

    /// Ends the engine, where there is one.
    func end() { run?.end() }
}
