import Foundation
import NIOConcurrencyHelpers
import Testing

/// The one bound on tests with real servers, sockets and programs, and on those that only calculate, but for long: so
/// few run at once as a machine with two processors carries, so that deadlines measure the program and not the crowd.
/// Those that mostly wait have turns of their own.
public struct RealProcesses: TestTrait, SuiteTrait, TestScoping {
    /// Applies to every test of a suite.
    public var isRecursive: Bool { true }

    /// How long a test may take once its turn has come.
    private static let limit: Duration = .seconds(
        ProcessInfo.processInfo.environment["PARLEY_TEST_SECONDS"].flatMap { Int($0) } ?? 300)

    private static let turns = Turns(count: 4)
    /// Servers that elect leaders and find out that one of them is gone do so by timers of their own, as a client finds
    /// out that nothing answers: that leaves the processors to others meanwhile.
    private static let turnsOfWaits = Turns(count: 3)
    private static let isCalmOnce = NIOLockedValueBox(false)
    @TaskLocal private static var isTurn = false

    private let mostlyWaits: Bool

    fileprivate init(mostlyWaits: Bool = false) { self.mostlyWaits = mostlyWaits }

    /// Runs the test when its turn has come.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A suite that mostly waits may be part of one of real processes: one turn is enough.
        let isWaiting = test.traits.contains { ($0 as? RealProcesses)?.mostlyWaits == true }
        guard mostlyWaits == isWaiting else { return try await function() }
        try await Self.inTurn(mostlyWaits ? Self.turnsOfWaits : Self.turns) {
            // It does not leave the group, which ends with this call.
            try await withoutActuallyEscaping(function) { function in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await function() }
                    group.addTask {
                        try await Task.sleep(for: Self.limit)
                        throw TestFailure("\(test.name) has not ended within \(Self.limit)")
                    }
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        }
    }

    /// Runs what is no test of its own but starts programs, such as a fixture's making, when its turn has come.
    static func inTurn<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await inTurn(turns, body)
    }

    private static func inTurn<Value: Sendable>(
        _ turns: Turns, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        await turns.take()
        await calm()
        let result: Result<Value, any Error>
        do {
            result = .success(try await $isTurn.withValue(true) { try await body() })
        } catch {
            result = .failure(error)
        }
        await turns.giveBack()
        return try result.get()
    }

    /// Returns when tests that only calculate, of which all may begin at once, leave the processors to others. What
    /// comes first of all would find the processors free while the crowd behind it is still being begun: the first calm
    /// has to last.
    private static func calm() async {
        if isCalmOnce.withLockedValue({ $0 }) { return await calm(times: 1) }
        await calm(times: 20)
        isCalmOnce.withLockedValue { $0 = true }
    }

    /// Returns when what was begun has come to its turn at once, so many times in a row.
    private static func calm(times: Int) async {
        let deadline = ContinuousClock.now + .seconds(300)
        var left = times
        while ContinuousClock.now < deadline {
            let begin = ContinuousClock.now
            await Task.detached {}.value
            left = begin.duration(to: .now) < .milliseconds(100) ? left - 1 : times
            if left <= 0 { return }
            try? await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Refuses a test that would start a program outside the bound.
    static func checkTurn(_ program: String) throws {
        guard isTurn else { throw TestFailure("\(program) is started by a suite that lacks the trait .realProcesses") }
    }

    private actor Turns {
        private var free: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(count: Int) { free = count }

        func take() async {
            if free > 0 {
                free -= 1
            } else {
                await withCheckedContinuation { waiting.append($0) }
            }
        }

        func giveBack() {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
    }
}

extension Trait where Self == RealProcesses {
    /// The test runs real servers, sockets or programs and waits its turn for that.
    public static var realProcesses: Self { Self() }

    /// The test runs a cluster of real servers, of which it mostly waits for elections and for what servers find out by
    /// time.
    public static var realClusters: Self { Self(mostlyWaits: true) }

    /// The test runs real servers or programs, and mostly waits for what happens by time alone: a silence, a pause, an
    /// expiry.
    public static var longWaits: Self { Self(mostlyWaits: true) }

    /// The test keeps a processor busy for a second or more, and waits its turn with those of real processes: in one
    /// run with them it would take the processors that their deadlines count on.
    public static var processorBound: Self { Self() }
}
