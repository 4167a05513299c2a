import Relay

/// A request to the network's key-value store, made with `/kv`.
enum KeyValueRequest: Hashable, Sendable {
    case get(String)
    case change(Change)
    /// Delete a key with its history.
    case purge(String)
    case history(String)
    /// The keys that match a pattern, or all.
    case keys(String?)
    /// Report changes of the keys that match a pattern, or of all.
    case watch(String?)
    case unwatch

    static let usage = "/kv get|delete|purge|history KEY, put KEY VALUE, keys|watch [PATTERN] or unwatch"

    /// Parses the argument of `/kv`; nil if invalid.
    init?(_ text: String) {
        let (verb, rest) = Self.split(Substring(text))
        let (key, value) = Self.split(rest)
        let pattern = key.isEmpty ? nil : String(key)
        switch verb.lowercased() {
        case "put" where !value.isEmpty:
            self = .change(Change(key: String(key), value: MessageValue(typed: String(value))))
        case "get" where !key.isEmpty && value.isEmpty: self = .get(String(key))
        case "delete" where !key.isEmpty && value.isEmpty:
            self = .change(Change(key: String(key), value: Optional.none))
        case "purge" where !key.isEmpty && value.isEmpty: self = .purge(String(key))
        case "history" where !key.isEmpty && value.isEmpty: self = .history(String(key))
        case "keys" where value.isEmpty: self = .keys(pattern)
        case "watch" where value.isEmpty: self = .watch(pattern)
        case "unwatch" where key.isEmpty: self = .unwatch
        default: return nil
        }
    }

    private static func split(_ text: Substring) -> (word: Substring, rest: Substring) {
        if text.first == "\"", let end = text.dropFirst().firstIndex(of: "\"") {
            return (text[..<end].dropFirst(), text[end...].dropFirst().drop { $0.isWhitespace })
        }
        let word = text.prefix { !$0.isWhitespace }
        return (word, text.dropFirst(word.count).drop { $0.isWhitespace })
    }
}

extension MessageValue {
    /// A value as typed: JSON if it is valid, or else the text itself.
    init(typed text: String) {
        self = (try? JSONText.parse(text)) ?? .string(text)
    }
}

// Changes go through the outbox, where they wait while there is no connection.
extension KeyValueRequest {
    /// The change to a key; nil for other requests, including a purge, which does not wait.
    var change: Change? { if case .change(let change) = self { change } else { nil } }

    struct Change: Hashable, Sendable {
        let key: String
        /// Nil to delete the key.
        let value: MessageValue?

        /// Hands the change to the core, which reports its progress under `id`.
        func enqueue(at client: RelayClient, id: String) async throws(RelayError) -> PendingPublish {
            guard let value else { return try await client.enqueueDeletion(ofKey: key, id: id) }
            return try await client.enqueue(key: key, value: value, id: id)
        }

        var waitingWords: String {
            "\(key) waits, and will be \(value == nil ? "deleted" : "put") when connected."
        }

        func doneWords(_ revision: UInt64) -> String {
            value == nil ? "\(key) is deleted." : "\(key) is stored as revision \(revision)."
        }

        /// The command that repeats it.
        var command: String { value.map { "/kv put \(key) \(JSONText.text($0))" } ?? "/kv delete \(key)" }
    }
}

extension KeyValueRequest {
    /// Carries out a request that needs no outbox, and returns the text to show.
    func answer(from client: RelayClient) async throws(RelayError) -> String {
        switch self {
        case .get(let key):
            guard let stored = try await client.get(key: key) else { return "\(key) has no value." }
            return Self.words(stored)
        case .purge(let key):
            try await client.purge(key: key)
            return "\(key) is deleted with its history."
        case .history(let key):
            return Self.words(try await client.history(ofKey: key), of: key)
        case .keys(let pattern):
            return Self.words(try await client.keys(matching: pattern ?? ">"))
        case .change, .watch, .unwatch: return ""
        }
    }

    static func words(_ changes: [KeyValueChange], of key: String) -> String {
        guard !changes.isEmpty else { return "\(key) has no history." }
        let parts = changes.map { change in
            let value = change.stored.map { JSONText.text($0.value) } ?? "removed"
            return "\(value) (revision \(change.revision))"
        }
        return "\(key): \(parts.joined(separator: ", "))"
    }

    static func words(_ change: KeyValueChange) -> String {
        change.stored.map { words($0) } ?? "\(change.key) was removed (revision \(change.revision))"
    }

    static func words(_ stored: StoredValue) -> String {
        "\(stored.key) = \(stored.value) (revision \(stored.revision))"
    }

    /// Why there is no answer. Does not ask the user to connect, which happens automatically.
    static func words(_ error: RelayError) -> String {
        error == .notConnected ? "Keys are read from the network, and there is no connection." : error.words
    }

    static func words(_ keys: [String]) -> String {
        guard !keys.isEmpty else { return "No key has a value." }
        return "\(Wording.count(keys.count, "key")): \(keys.joined(separator: ", "))"
    }
}
