import Dispatch
import NIOConcurrencyHelpers

/// Work that may take long, on a thread of its own: whoever needs what comes of it has something else to do meanwhile.
/// Nothing ends it. A process that ends before leaves it where it is.
final class Preparation<Value: Sendable>: Sendable {
    private let outcome = NIOLockedValueBox<Result<Value, any Error>?>(nil)

    /// Begins; `wake` is called on that thread, when the result is there.
    init(wake: @escaping @Sendable () -> Void, _ work: @escaping @Sendable () throws -> Value) {
        // It blocks its thread as long as the disk does, and begins before there is a task that could wait for it.
        DispatchQueue(label: "preparation").async { [outcome] in
            let result = Result { try work() }
            outcome.withLockedValue { $0 = result }
            wake()
        }
    }

    /// What came of it; nil while it goes on.
    var result: Result<Value, any Error>? { outcome.withLockedValue { $0 } }
}
