import NIOConcurrencyHelpers
import NIOCore

/// Requests that wait for their answer. All answers come over one subscription; the subject's last token finds them.
final class RequestTable: Sendable {
    typealias Answer = @Sendable (Result<NATSMessage, NATSError>) -> Void

    private struct Entry {
        var subject: String
        var deadline: NIODeadline
        var answer: Answer
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var nextToken: UInt64 = 1
        var closedBy: NATSError?
    }

    private let state = NIOLockedValueBox(State())

    var isEmpty: Bool { state.withLockedValue { $0.entries.isEmpty } }

    /// Registers a request and gives it its token. Whoever adds to the empty table starts the clock.
    func add(subject: String, deadline: NIODeadline, answer: @escaping Answer) throws(NATSError) -> (
        token: UInt64, isFirst: Bool
    ) {
        try state.withLockedValueThrowing { state throws(NATSError) -> (UInt64, Bool) in
            if let error = state.closedBy { throw error }
            let token = state.nextToken
            let isFirst = state.entries.isEmpty
            state.nextToken += 1
            state.entries[token] = Entry(subject: subject, deadline: deadline, answer: answer)
            return (token, isFirst)
        }
    }

    /// Forgets a request whose asker gave up.
    func remove(_ token: UInt64) {
        _ = state.withLockedValue { $0.entries.removeValue(forKey: token) }
    }

    /// An answer came.
    func resolve(_ token: UInt64, with message: NATSMessage) {
        guard let entry = state.withLockedValue({ $0.entries.removeValue(forKey: token) }) else { return }
        if message.hasStatusLine, message.status == 503 {
            entry.answer(.failure(.noResponders(subject: entry.subject)))
        } else {
            entry.answer(.success(message))
        }
    }

    /// The server refused a publish to `subject`; the oldest request to it is the one meant.
    func fail(subject: String, with error: NATSError) {
        let entry = state.withLockedValue { state -> Entry? in
            let tokens = state.entries.filter { $0.value.subject == subject }.keys
            return tokens.min().flatMap { state.entries.removeValue(forKey: $0) }
        }
        entry?.answer(.failure(error))
    }

    /// Ends those whose time is up.
    func expire(at now: NIODeadline) {
        let expired = state.withLockedValue { state -> [Entry] in
            let tokens = state.entries.filter { $0.value.deadline <= now }.keys
            return tokens.compactMap { state.entries.removeValue(forKey: $0) }
        }
        for entry in expired { entry.answer(.failure(.timeout("a request to \(entry.subject)"))) }
    }

    /// Ends all; none can be added any more.
    func close(_ error: NATSError) {
        let entries = state.withLockedValue { state -> [Entry] in
            if state.closedBy == nil { state.closedBy = error }
            defer { state.entries = [:] }
            return Array(state.entries.values)
        }
        for entry in entries { entry.answer(.failure(error)) }
    }
}
