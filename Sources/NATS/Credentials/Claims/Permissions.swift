/// The subjects that a user may publish and subscribe to (the `pub`, `sub` and `resp` of a token, or an account's
/// defaults).
public struct Permissions: Codable, Hashable, Sendable {
    /// The subjects to publish to; nil means all.
    public var pub: SubjectRules?
    /// The subjects to subscribe to; nil means all.
    public var sub: SubjectRules?
    /// Permission to answer requests on other subjects too.
    public var resp: ResponseRules?

    /// Creates permissions; without arguments, everything is permitted.
    public init(pub: SubjectRules? = nil, sub: SubjectRules? = nil, resp: ResponseRules? = nil) {
        self.pub = pub
        self.sub = sub
        self.resp = resp
    }
}

/// The allowed and the denied subjects; a denial wins. Without allowed ones, everything that is not denied is allowed.
/// An entry for subscriptions may be `subject queue`.
public struct SubjectRules: Codable, Hashable, Sendable {
    /// The allowed subjects.
    public var allow: [String]?
    /// The denied subjects.
    public var deny: [String]?

    /// Creates rules; an empty list is the same as none.
    public init(allow: [String] = [], deny: [String] = []) {
        self.allow = allow.isEmpty ? nil : allow
        self.deny = deny.isEmpty ? nil : deny
    }

    /// Whether a subscription to the pattern, without a queue group, is allowed and no denial covers all of it.
    public func permits(_ pattern: String) -> Bool {
        if let deny, deny.contains(where: { SubjectPattern.covers($0, pattern) }) { return false }
        guard let allow, !allow.isEmpty else { return true }
        return allow.contains { SubjectPattern.covers($0, pattern) }
    }
}

/// Permission to answer requests: the reply subject of a received message becomes publishable for some time.
public struct ResponseRules: Codable, Hashable, Sendable {
    /// The number of answers to one request; −1 means unlimited.
    public var max: Int
    /// The time after the request, in nanoseconds; −1 means unlimited.
    public var ttl: Int64

    /// Creates rules for answers.
    public init(max: Int = 1, ttl: Int64 = -1) {
        self.max = max
        self.ttl = ttl
    }
}

package enum SubjectPattern {
    package static func overlaps(_ first: String, _ second: String) -> Bool { intersection(first, second) != nil }

    /// The pattern of all subjects that match both patterns; nil if there are none.
    package static func intersection(_ first: String, _ second: String) -> String? {
        let first = first.split(separator: ".", omittingEmptySubsequences: false)
        let second = second.split(separator: ".", omittingEmptySubsequences: false)
        var common: [Substring] = []
        for (one, other) in zip(first, second) {
            if one == ">" { return (common + second[common.count...]).joined(separator: ".") }
            if other == ">" { return (common + first[common.count...]).joined(separator: ".") }
            guard one == other || one == "*" || other == "*" else { return nil }
            common.append(one == "*" ? other : one)
        }
        return first.count == second.count ? common.joined(separator: ".") : nil
    }

    package static func covers(_ outer: String, _ inner: String) -> Bool {
        var pattern: Substring? = outer[...]
        var subject: Substring? = inner[...]
        while let next = pattern {
            guard let other = subject else { return false }
            let (one, two) = (firstToken(of: next), firstToken(of: other))
            if one.token == ">" { return one.rest == nil }
            if two.token == ">" || one.token != "*" && one.token != two.token { return false }
            (pattern, subject) = (one.rest, two.rest)
        }
        return subject == nil
    }

    /// The token before the first dot, and the text after the dot; nil without a dot.
    private static func firstToken(of subject: Substring) -> (token: Substring, rest: Substring?) {
        guard let dot = subject.firstIndex(of: ".") else { return (subject, nil) }
        return (subject[..<dot], subject[subject.index(after: dot)...])
    }
}
