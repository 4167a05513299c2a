import Relay

/// What a person asks of the network's key-value store with `/kv`.
enum KeyValueRequest: Hashable, Sendable {
    case get(String)
    case put(key: String, value: MessageValue)
    case delete(String)
    /// The keys that match, or all.
    case keys(String?)

    /// How it is written.
    static let usage = "/kv get KEY, /kv put KEY VALUE, /kv delete KEY or /kv keys [PATTERN]"

    /// Reads what follows `/kv`; nil when it is none of these.
    init?(_ text: String) {
        let (verb, rest) = Self.split(Substring(text))
        let (key, value) = Self.split(rest)
        switch verb.lowercased() {
        case "get" where !key.isEmpty && value.isEmpty: self = .get(String(key))
        case "put" where !value.isEmpty: self = .put(key: String(key), value: MessageValue(typed: String(value)))
        case "delete" where !key.isEmpty && value.isEmpty: self = .delete(String(key))
        case "keys" where value.isEmpty: self = .keys(key.isEmpty ? nil : String(key))
        default: return nil
        }
    }

    /// The first word, and what comes behind it.
    private static func split(_ text: Substring) -> (word: Substring, rest: Substring) {
        let word = text.prefix { !$0.isWhitespace }
        return (word, text.dropFirst(word.count).drop { $0.isWhitespace })
    }
}

extension MessageValue {
    /// What a person writes as a value: JSON where it is that, or else the text itself.
    init(typed text: String) {
        self = (try? JSONText.parse(text)) ?? .string(text)
    }
}

extension KeyValueRequest {
    /// Carries it out.
    ///
    /// - Returns: what to tell the person.
    func answer(from client: RelayClient) async throws(RelayError) -> String {
        switch self {
        case .get(let key):
            guard let stored = try await client.get(key: key) else { return "\(key) has no value." }
            return Self.words(stored)
        case .put(let key, let value):
            let revision = try await client.put(key: key, value: value)
            return "\(key) is stored as revision \(revision)."
        case .delete(let key):
            try await client.delete(key: key)
            return "\(key) is deleted."
        case .keys(let pattern):
            return Self.words(try await client.keys(matching: pattern ?? ">"))
        }
    }

    /// What a key has.
    static func words(_ stored: StoredValue) -> String {
        "\(stored.key) = \(stored.value) (revision \(stored.revision))"
    }

    /// Which keys there are.
    static func words(_ keys: [String]) -> String {
        guard !keys.isEmpty else { return "No key has a value." }
        return "\(Wording.count(keys.count, "key")): \(keys.joined(separator: ", "))"
    }
}
