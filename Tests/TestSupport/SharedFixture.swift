/// What the suites that run at the same time share: made for the first of them, ended with the last.
public actor SharedFixture<Value: Sendable> {
    private let make: @Sendable () async throws -> Value
    private let end: @Sendable (Value) -> Void
    private var users = 0
    private var making: Task<Value, any Error>?

    /// - Parameter make: runs in turn with the tests of real processes.
    public init(
        make: @escaping @Sendable () async throws -> Value, end: @escaping @Sendable (Value) -> Void
    ) {
        self.make = make
        self.end = end
    }

    /// Runs a suite with the value.
    public func use(_ body: @Sendable (Value) async throws -> Void) async throws {
        users += 1
        let making = making ?? Task { [make] in try await RealProcesses.inTurn(make) }
        self.making = making
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(making.value))
        } catch {
            result = .failure(error)
        }
        users -= 1
        if users == 0 {
            self.making = nil
            if let value = try? await making.value { end(value) }
        }
        try result.get()
    }
}
