/// Which subscription of which connection.
struct SubscriptionKey: Sendable, Hashable {
    var link: Int
    var number: String
}

/// Who subscribes to what.
struct SubscriptionIndex: Sendable {
    struct Entry: Sendable {
        var pattern: SubjectPattern
        var queue: String?
    }

    private(set) var entries: [SubscriptionKey: Entry] = [:]
    /// Those without wildcards, by their subject, in the order in which they came.
    private var exact: [String: [SubscriptionKey]] = [:]
    private var wildcards: [SubscriptionKey] = []

    mutating func add(_ key: SubscriptionKey, _ entry: Entry) {
        // A number that is taken stays with its first subscription, as on a real server.
        guard entries[key] == nil else { return }
        entries[key] = entry
        if entry.pattern.hasWildcards {
            wildcards.append(key)
        } else {
            exact[entry.pattern.text, default: []].append(key)
        }
    }

    mutating func remove(_ key: SubscriptionKey) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        if entry.pattern.hasWildcards {
            wildcards.removeAll { $0 == key }
        } else {
            exact[entry.pattern.text]?.removeAll { $0 == key }
            if exact[entry.pattern.text]?.isEmpty == true { exact[entry.pattern.text] = nil }
        }
    }

    /// Whose subscriptions a message to this subject is for.
    func keys(for subject: String) -> [SubscriptionKey] {
        (exact[subject] ?? []) + wildcards.filter { entries[$0]?.pattern.matches(subject) == true }
    }

    func hasInterest(in subject: String) -> Bool {
        exact[subject] != nil || wildcards.contains { entries[$0]?.pattern.matches(subject) == true }
    }
}
