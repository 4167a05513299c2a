import NIOConcurrencyHelpers
import NIOCore

/// Requests that wait for their answer. All answers come over one subscription; the subject's last token finds them.
final class RequestTable: Sendable {
    typealias Answer = @Sendable (Result<NATSMessage, NATSError>) -> Void

    private struct Entry {
        var subject: String
        var deadline: NIODeadline
        /// How long the answer may take once the server has the request; nil where the deadline holds in any case.
        var patience: TimeAmount?
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
    ///
    /// - Parameter patience: what the deadline is to be followed by while the request may still be on its way: so long
    ///   from the moment on when the server is known to have it.
    func add(
        subject: String, deadline: NIODeadline, patience: TimeAmount? = nil, answer: @escaping Answer
    ) throws(NATSError) -> (token: UInt64, isFirst: Bool) {
        try state.withLockedValueThrowing { state throws(NATSError) -> (UInt64, Bool) in
            if let error = state.closedBy { throw error }
            let token = state.nextToken
            let isFirst = state.entries.isEmpty
            state.nextToken += 1
            state.entries[token] = Entry(subject: subject, deadline: deadline, patience: patience, answer: answer)
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
    ///
    /// - Returns: the patient ones among them, which go on until `arrived` says that the server has them.
    func expire(at now: NIODeadline) -> [UInt64] {
        let (expired, patient) = state.withLockedValue { state -> ([Entry], [UInt64]) in
            let late = state.entries.filter { $0.value.deadline <= now }
            let patient = late.filter { $0.value.patience != nil }.map(\.key)
            for token in patient { state.entries[token]?.deadline = .distantFuture }
            let tokens = late.filter { $0.value.patience == nil }.keys
            return (tokens.compactMap { state.entries.removeValue(forKey: $0) }, patient)
        }
        for entry in expired { entry.answer(.failure(.timeout("a request to \(entry.subject)"))) }
        return patient
    }

    /// The server has these requests now: their answers may take their usual time, and no more.
    func arrived(_ tokens: [UInt64], at now: NIODeadline) {
        state.withLockedValue { state in
            for token in tokens {
                guard let patience = state.entries[token]?.patience else { continue }
                state.entries[token]?.deadline = now + patience
                state.entries[token]?.patience = nil
            }
        }
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
