import NATS

/// What credentials may do on their network, as the network says.
public struct AccessRights: Codable, Hashable, Sendable {
    /// The use of the network's key-value store.
    public enum KeyValueAccess: String, Codable, Hashable, Sendable, CaseIterable, Comparable {
        /// None.
        case none
        /// Keys are read and watched.
        case read
        /// Keys are changed as well.
        case write

        /// A smaller access before a greater one.
        public static func < (left: Self, right: Self) -> Bool {
            allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
        }
    }

    /// The topics that may be written to, as patterns.
    public var publish: [String]
    /// The topics that may be read, as patterns.
    public var subscribe: [String]
    /// The use of the network's key-value store.
    public var keyValue: KeyValueAccess
    /// Whether letters may be sent, and the user's own be read and deleted.
    public var letters: Bool

    /// Rights to everything.
    public static let all = AccessRights(topics: [">"])

    /// Rights to topics in both directions, and to all else.
    public init(topics: [String]) { self.init(publish: topics, subscribe: topics) }

    /// Makes rights.
    public init(publish: [String], subscribe: [String], keyValue: KeyValueAccess = .write, letters: Bool = true) {
        (self.publish, self.subscribe, self.keyValue, self.letters) = (publish, subscribe, keyValue, letters)
    }

    private enum CodingKeys: String, CodingKey {
        case publish, subscribe, letters
        case keyValue = "kv"
    }
}

extension AccessRights {
    /// Whether a topic may be written to.
    public func mayPublish(to topic: String) -> Bool { publish.contains { SubjectPattern.covers($0, topic) } }

    /// Whether all topics of a pattern may be read.
    public func mayRead(_ pattern: String) -> Bool { subscribe.contains { SubjectPattern.covers($0, pattern) } }

    /// Whether these go nowhere beyond others.
    public func isWithin(_ others: AccessRights) -> Bool {
        publish.allSatisfy(others.mayPublish) && subscribe.allSatisfy(others.mayRead) && keyValue <= others.keyValue
            && (!letters || others.letters)
    }

    /// What both of two rights allow.
    public func intersection(_ others: AccessRights) -> AccessRights {
        func common(_ left: [String], _ right: [String]) -> [String] {
            left.flatMap { one in right.compactMap { SubjectPattern.intersection(one, $0) } }
        }
        return AccessRights(
            publish: common(publish, others.publish), subscribe: common(subscribe, others.subscribe),
            keyValue: min(keyValue, others.keyValue), letters: letters && others.letters)
    }
}
