import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// A value that arrives once, for one waiter. The first call that fulfils it wins; later ones change nothing.
///
/// It may be fulfilled before the wait begins, so an early cancellation is not lost. Inlinable, because every message
/// that is sent waits for one.
package final class Completion<Value: Sendable>: Sendable {
    @usableFromInline
    package enum State: Sendable {
        case pending
        case waiting(CheckedContinuation<Value, Never>)
        case fulfilled(Value)
        case taken
    }

    @usableFromInline
    let state: NIOLockedValueBox<State>

    @inlinable
    package init() { state = NIOLockedValueBox(.pending) }

    /// Hands over the value; false if another was there first.
    @inlinable
    @discardableResult
    package func fulfil(_ value: Value) -> Bool {
        let (continuation, isFirst) = state.withLockedValue { state -> (CheckedContinuation<Value, Never>?, Bool) in
            switch state {
            case .pending:
                state = .fulfilled(value)
                return (nil, true)
            case .waiting(let continuation):
                state = .taken
                return (continuation, true)
            case .fulfilled, .taken:
                return (nil, false)
            }
        }
        continuation?.resume(returning: value)
        return isFirst
    }

    /// The value if it is there already; it cannot be waited for afterwards.
    @inlinable
    func take() -> Value? {
        state.withLockedValue { state in
            guard case .fulfilled(let value) = state else { return nil }
            state = .taken
            return value
        }
    }

    /// Waits for the value. Call it once.
    @inlinable
    package nonisolated(nonsending) func value() async -> Value {
        if let ready = take() { return ready }
        // The lock is taken once more on the way out: a continuation that is resumed before its task has suspended
        // hands the value over inside the runtime, where the thread sanitizer cannot see it.
        defer { state.withLockedValue { _ in } }
        return await withCheckedContinuation { continuation in
            let ready = state.withLockedValue { state -> Value? in
                if case .fulfilled(let value) = state {
                    state = .taken
                    return value
                }
                state = .waiting(continuation)
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }
}

extension Completion {
    /// Waits for the value; a cancelled task gets `substitute`, even when it was cancelled before the call.
    package nonisolated(nonsending) func value(onCancel substitute: Value) async -> Value {
        await withTaskCancellationHandler {
            await value()
        } onCancel: {
            fulfil(substitute)
        }
    }

    /// Hands over `value` after `limit`, unless the waiter cancels this first. A sleeping task would leave its timer
    /// behind when it is cancelled, once for each of many waits.
    package func fulfil(_ value: Value, after limit: Duration) -> Scheduled<Void> {
        NIOSingletons.posixEventLoopGroup.next().scheduleTask(in: .nanoseconds(max(0, limit.nanoseconds))) {
            _ = self.fulfil(value)
        }
    }

    /// Waits for the result; a cancelled task gets `.cancelled`, even when it was cancelled before the call.
    package nonisolated(nonsending) func result<Success: Sendable>(
        onCancel: @escaping @Sendable () -> Void = {}
    ) async throws(NATSError) -> Success where Value == Result<Success, NATSError> {
        let result = await withTaskCancellationHandler {
            await value()
        } onCancel: {
            if fulfil(.failure(.cancelled)) { onCancel() }
        }
        return try result.get()
    }
}

extension NIOLockedValueBox {
    /// As `withLockedValue`, for a body with a typed error.
    ///
    /// This package uses SwiftNIO's locks because the thread sanitizer does not understand the standard library's.
    @inline(__always)
    func withLockedValueThrowing<Success, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Success
    ) throws(Failure) -> Success {
        let result = withLockedValue { value -> Result<Success, Failure> in
            do throws(Failure) { return .success(try body(&value)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
