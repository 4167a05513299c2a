import Relay

/// Acts by hand and their consequences, recorded for a scenario's file.
public struct LabRecording: Hashable, Sendable {
    private var steps: [LabStep] = []
    /// The last state.
    private var state: String?

    /// Adds an act.
    public mutating func did(_ act: LabAct, lasting: Duration?, at now: LabTime) {
        // Rounded, as no hand is more exact.
        let moment = LabTime(microseconds: (now.microseconds + 50_000) / 100_000 * 100_000)
        add(LabStep(at: moment.duration, .act(act, lasting: lasting)))
    }

    /// Removes the last act of its kind, which failed, and statuses recorded since if no act is left that may have
    /// caused them.
    mutating func takeBack(_ act: LabAct, lasting: Duration?) {
        guard let place = steps.lastIndex(where: { $0.kind == .act(act, lasting: lasting) }) else { return }
        steps.remove(at: place)
        guard steps.allSatisfy({ $0.at == nil }) else { return }
        (steps, state) = ([], nil)
    }

    /// Whether there are no acts.
    public var isEmpty: Bool { steps.isEmpty }

    /// Whether an act is included.
    public func has(_ name: LabAct.Name) -> Bool {
        steps.contains { if case .act(let act, _) = $0.kind { act.name == name } else { false } }
    }

    /// Adds a status of the connection, as an expectation after the preceding act, with some patience.
    public mutating func heard(_ status: LabStatus, at now: LabTime) {
        // Before the first act it is the start of the connection, which every run has.
        guard !steps.isEmpty, status.state != state else { return }
        state = status.state
        guard let known = ConnectionStatus.State(rawValue: status.state) else { return }
        var expectation = LabExpectation()
        expectation.status = known
        // Only the reason for a session's end is as certain to recur as the state itself.
        if known == .disconnected { expectation.reason = status.reason }
        let acted = steps.last { $0.at != nil }?.at.map { LabTime($0) } ?? .zero
        let seconds = max(5, (now - acted).microseconds * 3 / 1_000_000 + 5)
        add(LabStep(.expectation(expectation, within: .seconds(seconds))))
    }

    private mutating func add(_ step: LabStep) {
        // The last step of the file is the final expectation.
        if steps.count < LabScenario.maximumSteps - 1 { steps.append(step) }
    }

    /// The scenario: the acts at their times, the statuses as expectations, and that nothing was lost, doubled or
    /// disordered.
    public func scenario(
        title: String, seed: UInt64? = nil, client: LabClientSettings = LabClientSettings()
    ) -> LabScenario {
        var clean = LabExpectation()
        for name in ["lost", "doubled", "outOfOrder"] { clean.figures[name] = .exactly(0) }
        let last = LabStep(.expectation(clean, within: LabStep.patience))
        return LabScenario(title: title, seed: seed, client: client, steps: steps + [last])
    }
}
