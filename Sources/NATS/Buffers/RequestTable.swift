import NIOConcurrencyHelpers
import NIOCore

/// Identifies one request's answer: 64 random bits, so that no token helps to guess another.
struct RequestToken: Hashable {
    /// The length of the text: ten characters of six bits after one of four.
    static let length = 11
    private static let alphabet: StaticString = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"

    fileprivate let value: UInt64

    fileprivate init(_ value: UInt64) { self.value = value }

    init?(_ text: UnsafeRawBufferPointer) {
        guard text.count == Self.length, let first = Self.bits(text[0]), first < 16 else { return nil }
        var value = first
        for index in 1..<Self.length {
            guard let bits = Self.bits(text[index]) else { return nil }
            value = value << 6 | bits
        }
        self.value = value
    }

    @inline(__always)
    private static func bits(_ character: UInt8) -> UInt64? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(character - UInt8(ascii: "0"))
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt64(character - UInt8(ascii: "A")) + 10
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt64(character - UInt8(ascii: "a")) + 36
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }

    func write(into text: UnsafeMutableRawBufferPointer) {
        var rest = value
        for index in (0..<Self.length).reversed() {
            text[index] = Self.alphabet.utf8Start[Int(rest & 63)]
            rest >>= 6
        }
    }
}

/// Requests that wait for their answer. All answers come over one subscription; the subject's last token finds them.
final class RequestTable: Sendable {
    typealias Answer = @Sendable (Result<NATSMessage, NATSError>) -> Void

    enum Asker {
        /// Wants the entire message.
        case message(Answer)
        /// Had a message stored: many share one observer, so that none needs a closure of its own.
        case storage(any StorageObserver, id: String, tag: UInt64)

        fileprivate func answer(_ result: Result<NATSMessage, NATSError>) {
            switch self {
            case .message(let answer): answer(result)
            case .storage(let observer, let id, let tag):
                observer.answered(id, tag: tag, PublishAcknowledgement.read(result))
            }
        }

        fileprivate var wantsSubject: Bool { if case .message = self { true } else { false } }
    }

    private struct Entry {
        var order: UInt64
        var subject: String
        var deadline: NIODeadline
        /// How long the answer may take once the server has the request; nil if the deadline is absolute.
        var patience: TimeAmount?
        var asker: Asker
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var added: UInt64 = 0
        var random = RandomWords()
        var closedBy: NATSError?
        /// Why the server sends no answers at present.
        var refusal: NATSError?
    }

    /// `<prefix>.<connection>.`; a request's token follows.
    let stem: String
    private let state = NIOLockedValueBox(State())

    init(inbox: String) { stem = inbox + "." }

    /// The subject on which all answers arrive.
    var subscription: String { stem + "*" }

    var isEmpty: Bool { state.withLockedValue { $0.entries.isEmpty } }

    func reply(for token: RequestToken) -> String {
        let start = stem.utf8.count
        return String(unsafeUninitializedCapacity: start + RequestToken.length) { text in
            _ = text.initialize(fromContentsOf: stem.utf8)
            token.write(into: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: text[start...])))
            return start + RequestToken.length
        }
    }

    /// Registers a request and returns its token. The caller starts the clock. A request that may still be in flight at
    /// its deadline gets `patience` more, counted from when the server is known to have it.
    func add(
        subject: String, deadline: NIODeadline, patience: TimeAmount? = nil, for asker: Asker
    ) throws(NATSError) -> RequestToken {
        try state.withLockedValueThrowing { state throws(NATSError) -> RequestToken in
            if let error = state.closedBy ?? state.refusal { throw error }
            var token = state.random.next()
            state.added += 1
            let entry = Entry(
                order: state.added, subject: subject, deadline: deadline, patience: patience, asker: asker)
            // On a collision the earlier request keeps its token.
            while let other = state.entries.updateValue(entry, forKey: token) {
                state.entries[token] = other
                token = state.random.next()
            }
            return RequestToken(token)
        }
    }

    func remove(_ token: RequestToken) { _ = state.withLockedValue { $0.entries.removeValue(forKey: token.value) } }

    /// Resolves the request that a message to `subject` answers. The message is made only then, and its subject only
    /// for an asker that wants it.
    func resolve(_ subject: UnsafeRawBufferPointer, with message: (_ wantsSubject: Bool) -> NATSMessage) {
        let start = stem.utf8.count
        guard subject.count > start,
            let token = RequestToken(UnsafeRawBufferPointer(rebasing: subject[start...])),
            let entry = state.withLockedValue({ $0.entries.removeValue(forKey: token.value) })
        else { return }
        let message = message(entry.asker.wantsSubject)
        // A stored value may have such a status line too, and be the answer.
        if message.hasStatusLine, message.status == 503, message.headers["Nats-Sequence"] == nil {
            entry.asker.answer(.failure(.noResponders(subject: entry.subject)))
        } else {
            entry.asker.answer(.success(message))
        }
    }

    /// The server refused a publish to `subject`: fails the oldest request to it.
    func fail(subject: String, with error: NATSError) {
        let entry = state.withLockedValue { state -> Entry? in
            let oldest = state.entries.filter { $0.value.subject == subject }.min { $0.value.order < $1.value.order }
            return oldest.flatMap { state.entries.removeValue(forKey: $0.key) }
        }
        entry?.asker.answer(.failure(error))
    }

    /// Ends the requests whose time is up. Returns the patient ones, which continue until `arrived` reports them.
    func expire(at now: NIODeadline) -> [RequestToken] {
        let (expired, patient) = state.withLockedValue { state -> ([Entry], [RequestToken]) in
            let late = state.entries.filter { $0.value.deadline <= now }
            let patient = late.filter { $0.value.patience != nil }.map(\.key)
            for token in patient { state.entries[token]?.deadline = .distantFuture }
            let tokens = late.filter { $0.value.patience == nil }.keys
            return (tokens.compactMap { state.entries.removeValue(forKey: $0) }, patient.map(RequestToken.init))
        }
        for entry in expired { entry.asker.answer(.failure(.timeout("a request to \(entry.subject)"))) }
        return patient
    }

    /// The server has these requests now: each answer gets its usual time from here on.
    func arrived(_ tokens: [RequestToken], at now: NIODeadline) {
        state.withLockedValue { state in
            for token in tokens {
                guard let patience = state.entries[token.value]?.patience else { continue }
                state.entries[token.value]?.deadline = now + patience
                state.entries[token.value]?.patience = nil
            }
        }
    }

    /// The server refuses the answers' subscription: open requests fail, and none can be added until ``permit()``.
    func refuse(_ error: NATSError) {
        end(.timeout("a request whose answer the server does not permit")) { $0.refusal = error }
    }

    func permit() { state.withLockedValue { $0.refusal = nil } }

    func close(_ error: NATSError) { end(error) { $0.closedBy = $0.closedBy ?? error } }

    private func end(_ error: NATSError, _ change: (inout State) -> Void) {
        let entries = state.withLockedValue { state -> [Entry] in
            change(&state)
            return Array(exchange(&state.entries, with: [:]).values)
        }
        for entry in entries { entry.asker.answer(.failure(error)) }
    }
}
