import NATS
import NIOCore

// One of several servers is enough for most that a network asks.
extension [ServerAddress] {
    /// Tries one server after the other until one does what it is asked.
    /// - Throws: what the last of them said; that one cannot be reached only where that is so for all.
    func firstToTake<R>(_ body: (ServerAddress) async throws -> R) async throws(NetworkError) -> R {
        var failure: NetworkError?
        for address in self {
            do { return try await body(address) } catch {
                let error = NetworkError(error)
                if failure?.isUnreachableServer ?? true || !error.isUnreachableServer { failure = error }
            }
            if Task.isCancelled { throw .cancelled }
        }
        throw failure ?? .notRunning
    }
}

extension NATSConnection {
    /// Asks all who listen, and hands over one answer after the other.
    /// - Parameters:
    ///   - limit: how long answers are waited for.
    ///   - isEnough: takes an answer in, and says whether no more are needed.
    func askAll(
        _ subject: String, within limit: Duration, _ isEnough: ([UInt8]) -> Bool
    ) async throws(NetworkError) {
        let inbox = newInbox()
        try await reached {
            let subscription = try subscribe(to: inbox)
            try publish(ByteBuffer(), to: subject, reply: inbox)
            let alarm = Task {
                try await Task.sleep(for: limit)
                subscription.unsubscribe()
            }
            defer { alarm.cancel() }
            var iterator = subscription.makeAsyncIterator()
            // The status 503 says that nobody hears the question.
            while let answer = try await iterator.next(isolation: nil), answer.status != 503 {
                if isEnough(answer.bytes) { return }
            }
        }
        if Task.isCancelled { throw .cancelled }
    }
}
