import GRDB
import NIOConcurrencyHelpers

/// Who reads a store: those that do are waited for before it is closed, and those that come later are turned away,
/// since a pool of connections must not be closed while somebody asks it for one.
final class StoreReaders: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = NIOLockedValueBox(State())

    /// Reads in this very thread.
    func read<Value>(
        _ database: any DatabaseReader, _ work: (Database) throws -> Value
    ) throws -> Value {
        try enter()
        defer { leave() }
        return try database.read(work)
    }

    /// Reads in another thread.
    func read<Value: Sendable>(
        _ database: any DatabaseReader, _ work: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try enter()
        defer { leave() }
        return try await database.read(work)
    }

    /// Turns away who wants to read from now on, and returns when nobody does any more.
    func close() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLockedValue { state in
                state.isClosed = true
                if state.count > 0 { state.closers.append(continuation) }
                return state.count == 0
            }
            if isIdle { continuation.resume() }
        }
    }

    private func enter() throws {
        let isOpen = state.withLockedValue { state in
            guard !state.isClosed else { return false }
            state.count += 1
            return true
        }
        guard isOpen else { throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "the store is closed") }
    }

    private func leave() {
        let closers = state.withLockedValue { state in
            state.count -= 1
            defer { if state.count == 0 { state.closers = [] } }
            return state.count == 0 ? state.closers : []
        }
        for closer in closers { closer.resume() }
    }
}
