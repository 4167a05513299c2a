import Relay

/// What was done by hand, on the way to a scenario's file: a pure value that hears of acts and of what followed.
public struct LabRecording: Hashable, Sendable {
    private enum Kind: Hashable, Sendable {
        case act(LabAct, lasting: Duration?)
        case status(LabStatus)
    }

    private struct Entry: Hashable, Sendable {
        let at: LabTime
        let kind: Kind
    }

    private var entries: [Entry] = []

    /// Nothing yet.
    public init() {}

    /// Something was done.
    public mutating func did(_ act: LabAct, lasting: Duration?, at now: LabTime) {
        add(.act(act, lasting: lasting), at: now)
    }

    /// What was done last of its kind could not be done.
    mutating func takeBack(_ act: LabAct, lasting: Duration?) {
        guard let place = entries.lastIndex(where: { $0.kind == .act(act, lasting: lasting) }) else { return }
        entries.remove(at: place)
    }

    /// Whether something was done.
    public var isEmpty: Bool { entries.isEmpty }

    /// Whether an act was done.
    public func has(_ name: LabAct.Name) -> Bool {
        entries.contains { if case .act(let act, _) = $0.kind { act.name == name } else { false } }
    }

    /// The connection's status changed.
    public mutating func heard(_ status: LabStatus, at now: LabTime) {
        // Before anything was done, it is the connection's beginning, which each run has.
        guard !entries.isEmpty else { return }
        add(.status(status), at: now)
    }

    private mutating func add(_ kind: Kind, at now: LabTime) {
        // The last step of the file is what is expected in the end.
        guard entries.count < LabScenario.maximumSteps - 1 else { return }
        entries.append(Entry(at: now, kind: kind))
    }

    /// The scenario: the acts at their times, what was heard behind each as what is expected, with some patience, and
    /// at the end that nothing was lost, doubled or out of order.
    public func scenario(
        title: String, seed: UInt64? = nil, topic: String = "lab", client: LabClientSettings = LabClientSettings()
    ) -> LabScenario {
        var steps: [LabStep] = []
        var state: String?
        var acted = LabTime.zero
        for entry in entries {
            switch entry.kind {
            case .act(let act, let lasting):
                // Rounded, as nobody's hand is more exact.
                let moment = LabTime(microseconds: (entry.at.microseconds + 50_000) / 100_000 * 100_000)
                steps.append(LabStep(at: moment.duration, .act(act, lasting: lasting)))
                acted = entry.at
            case .status(let status):
                guard status.state != state else { continue }
                state = status.state
                guard let known = ConnectionStatus.State(rawValue: status.state),
                    steps.count < LabScenario.maximumSteps - 2
                else { continue }
                var expectation = LabExpectation()
                expectation.status = known
                // Only what ends a session is as sure to come again as the state itself.
                if known == .disconnected { expectation.reason = status.reason }
                let seconds = max(5, (entry.at - acted).microseconds * 3 / 1_000_000 + 5)
                steps.append(LabStep(.expectation(expectation, within: .seconds(seconds))))
            }
        }
        var clean = LabExpectation()
        clean.counts = ["lost": 0, "doubled": 0, "outOfOrder": 0]
        steps.append(LabStep(.expectation(clean, within: LabStep.patience)))
        return LabScenario(title: title, seed: seed, topic: topic, client: client, steps: steps)
    }
}
