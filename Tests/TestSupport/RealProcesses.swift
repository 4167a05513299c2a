import Testing

/// Keeps the number of tests that run real servers and programs at the same time within what a small machine carries,
/// so that their deadlines measure the program and not the crowd.
public struct RealProcesses: TestTrait, SuiteTrait, TestScoping {
    /// Applies to every test of a suite.
    public var isRecursive: Bool { true }

    /// Tests of this kind that run at once.
    private static let permits = Permits(count: 3)

    /// Runs the test when its turn has come.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Self.permits.take()
        do {
            try await function()
        } catch {
            await Self.permits.giveBack()
            throw error
        }
        await Self.permits.giveBack()
    }

    private actor Permits {
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
    /// The test runs real servers or programs and waits its turn for that.
    public static var realProcesses: Self { Self() }
}
