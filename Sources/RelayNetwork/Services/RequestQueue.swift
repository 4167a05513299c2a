/// Decides which request is worked on next, so that a user with many does not delay others.
struct RequestQueue<Asker: Hashable & Sendable, Request: Sendable>: Sendable {
    enum Verdict: Sendable { case start, wait, refuse }

    /// The maximum number of running requests.
    let concurrency: Int
    /// The same for one asker.
    let concurrencyOfOne: Int
    /// The maximum number of one asker's waiting requests.
    let waitingOfOne: Int

    private struct Line: Sendable {
        var running = 0
        var waiting: [Request] = []
    }

    private var lines: [Asker: Line] = [:]
    /// Askers with waiting requests, the next one first.
    private var turns: [Asker] = []
    private var running = 0

    init(concurrency: Int = 16, concurrencyOfOne: Int = 4, waitingOfOne: Int = 32) {
        (self.concurrency, self.concurrencyOfOne, self.waitingOfOne) = (concurrency, concurrencyOfOne, waitingOfOne)
    }

    var isIdle: Bool { running == 0 && turns.isEmpty }

    mutating func arrived(_ request: Request, from asker: Asker) -> Verdict {
        var line = lines[asker] ?? Line()
        if running < concurrency, line.running < concurrencyOfOne, line.waiting.isEmpty {
            line.running += 1
            running += 1
            lines[asker] = line
            return .start
        }
        guard line.waiting.count < waitingOfOne else { return .refuse }
        if line.waiting.isEmpty { turns.append(asker) }
        line.waiting.append(request)
        lines[asker] = line
        return .wait
    }

    mutating func finished(_ asker: Asker) -> [(asker: Asker, request: Request)] {
        running -= 1
        lines[asker]?.running -= 1
        if let line = lines[asker], line.running == 0, line.waiting.isEmpty { lines[asker] = nil }
        var next: [(asker: Asker, request: Request)] = []
        var turn = 0
        while running < concurrency, turn < turns.count {
            let asker = turns[turn]
            guard var line = lines[asker], line.running < concurrencyOfOne else {
                turn += 1
                continue
            }
            turns.remove(at: turn)
            next.append((asker, line.waiting.removeFirst()))
            line.running += 1
            running += 1
            if !line.waiting.isEmpty { turns.append(asker) }
            lines[asker] = line
        }
        return next
    }
}
