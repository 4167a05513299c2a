import Relay

/// Carries a scenario out, step by step.
public struct LabDriver: Sendable {
    /// The scenario.
    public let scenario: LabScenario
    /// How many times faster than in earnest it runs.
    public let speed: Double
    /// An expectation in a run that is faster than in earnest waits so long at least, as long as it would in earnest at
    /// most: the machine is no faster than it is.
    public static let leastPatience = Duration.seconds(15)

    /// - Parameter speed: how many times faster than in earnest; nil for what the scenario says.
    public init(_ scenario: LabScenario, speed: Double? = nil) {
        self.scenario = scenario
        self.speed = speed ?? scenario.speed
    }

    /// Runs the scenario.
    ///
    /// - Parameter session: what it is done with; nothing was done with it before.
    /// - Returns: the run, which is over.
    public func run(_ session: LabSession) async -> LabRun {
        await session.begin()
        await act(session)
        if Task.isCancelled { await session.fail("The run was interrupted.") }
        return await session.end()
    }

    /// Carries out the steps, in a session that has begun.
    public func act(_ session: LabSession) async {
        let clock = session.clock
        let begin = clock.now
        for step in scenario.steps {
            guard await session.run.failure == nil, !Task.isCancelled else { return }
            if let after = step.after { try? await clock.sleep(for: after / speed) }
            if let at = step.at { try? await clock.sleep(until: begin + at / speed) }
            guard !Task.isCancelled else { return }
            switch step.kind {
            case .act(var act, let lasting):
                act.every = act.every / speed
                do { try await session.perform(act, lasting: lasting.map { $0 / speed }) } catch {
                    await session.fail("“\(act.name.rawValue)” could not be done: \(error)")
                }
            case .expectation(let expectation, let within):
                await session.expect(expectation, within: patience(within))
            }
        }
    }

    private func patience(_ within: Duration) -> Duration {
        speed <= 1 ? within / speed : max(within / speed, min(within, Self.leastPatience))
    }
}
