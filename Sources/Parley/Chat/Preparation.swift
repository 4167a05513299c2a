import Dispatch
import NIOConcurrencyHelpers

/// Work that may take long, on a thread of its own, for a caller with other things to do meanwhile. It cannot be
/// cancelled; a process that ends earlier abandons it.
final class Preparation<Value: Sendable>: Sendable {
    private let outcome = NIOLockedValueBox<Result<Value, any Error>?>(nil)

    /// Begins the work; `wake` is called on its thread once the result is there.
    init(wake: @escaping @Sendable () -> Void, _ work: @escaping @Sendable () throws -> Value) {
        // Not a task: it blocks its thread for as long as the disk does.
        DispatchQueue(label: "preparation").async { [outcome] in
            let result = Result { try work() }
            outcome.withLockedValue { $0 = result }
            wake()
        }
    }

    /// The outcome; nil while the work goes on.
    var result: Result<Value, any Error>? { outcome.withLockedValue { $0 } }
}
