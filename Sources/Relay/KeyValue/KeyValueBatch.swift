/// The results of storing several values with one call, key by key.
public struct KeyValueBatch: Hashable, Sendable {
    /// A value that was stored.
    public struct Success: Hashable, Sendable {
        /// The key.
        public var key: String
        /// Its new revision.
        public var revision: UInt64

        /// Creates a success.
        public init(key: String, revision: UInt64) {
            self.key = key
            self.revision = revision
        }
    }

    /// A value that was not stored.
    public struct Failure: Hashable, Sendable {
        /// The key.
        public var key: String
        /// The reason.
        public var error: RelayError

        /// Creates a failure.
        public init(key: String, error: RelayError) {
            self.key = key
            self.error = error
        }
    }

    /// The most values in flight at once. Nexconn and RongCloud refuse more with 23429; here any number is split.
    public static let maximumCount = 10

    /// The stored values, in the order passed.
    public var stored: [Success]
    /// The values that were not stored, in the order passed.
    public var failed: [Failure]

    /// The keys whose values wait in the outbox for a connection, in the order passed.
    public var waiting: [String]

    /// Creates a result.
    public init(stored: [Success] = [], failed: [Failure] = [], waiting: [String] = []) {
        self.stored = stored
        self.failed = failed
        self.waiting = waiting
    }

    /// The result of storing values.
    ///
    /// - Parameters:
    ///   - keys: The keys, as the caller passed them.
    ///   - results: The result for each.
    init(of keys: [String], _ results: [Result<UInt64, RelayError>]) {
        self.init()
        for (key, result) in zip(keys, results) {
            switch result {
            case .success(let revision): stored.append(Success(key: key, revision: revision))
            case .failure(let error): failed.append(Failure(key: key, error: error))
            }
        }
    }

    /// Splits keys into parts that may be sent at once: ten at most, and no key twice, so that the last of its values
    /// wins.
    static func parts(of keys: [String]) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var first = 0
        var seen: Set<String> = []
        for (place, key) in keys.enumerated() {
            if seen.count == maximumCount || seen.contains(key) {
                parts.append(first..<place)
                first = place
                seen = []
            }
            seen.insert(key)
        }
        if first < keys.count { parts.append(first..<keys.count) }
        return parts
    }
}
