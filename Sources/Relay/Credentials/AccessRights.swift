import NATS

/// The rights of credentials on their network, as the network states them.
public struct AccessRights: Codable, Hashable, Sendable {
    /// Access to the network's key-value store.
    public enum KeyValueAccess: String, Codable, Hashable, Sendable, CaseIterable, Comparable {
        /// None.
        case none
        /// Keys can be read and watched.
        case read
        /// Keys can be changed as well.
        case write

        /// Orders access from none to write.
        public static func < (left: Self, right: Self) -> Bool {
            allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
        }
    }

    /// Patterns of the topics that may be written to.
    public var publish: [String]
    /// Patterns of the topics that may be read.
    public var subscribe: [String]
    /// Access to the network's key-value store.
    public var keyValue: KeyValueAccess
    /// Whether the user may send letters, and read and delete their own.
    public var letters: Bool

    /// Rights to everything.
    public static let all = AccessRights(topics: [">"])

    /// Rights to topics in both directions, and to everything else.
    public init(topics: [String]) { self.init(publish: topics, subscribe: topics) }

    /// Creates rights.
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

    /// Whether these rights exceed others nowhere.
    public func isWithin(_ others: AccessRights) -> Bool {
        publish.allSatisfy(others.mayPublish) && subscribe.allSatisfy(others.mayRead) && keyValue <= others.keyValue
            && (!letters || others.letters)
    }

    /// The rights that both include.
    public func intersection(_ others: AccessRights) -> AccessRights {
        func common(_ left: [String], _ right: [String]) -> [String] {
            left.flatMap { one in right.compactMap { SubjectPattern.intersection(one, $0) } }
        }
        return AccessRights(
            publish: common(publish, others.publish), subscribe: common(subscribe, others.subscribe),
            keyValue: min(keyValue, others.keyValue), letters: letters && others.letters)
    }
}
