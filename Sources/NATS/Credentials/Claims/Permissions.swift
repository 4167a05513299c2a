/// What a user may publish and subscribe to (the `pub`, `sub` and `resp` of a token, or an account's defaults).
public struct Permissions: Codable, Hashable, Sendable {
    /// Where it may publish; nil means everywhere.
    public var pub: SubjectRules?
    /// What it may subscribe to; nil means everything.
    public var sub: SubjectRules?
    /// Whether it may answer requests on subjects that it may not publish to otherwise.
    public var resp: ResponseRules?

    /// Makes permissions; without arguments, everything is permitted.
    public init(pub: SubjectRules? = nil, sub: SubjectRules? = nil, resp: ResponseRules? = nil) {
        self.pub = pub
        self.sub = sub
        self.resp = resp
    }
}

/// Which subjects are allowed and which are denied; a denial wins. Without an allowed one, all that is not denied is
/// allowed. An entry of a subscription may be `subject queue`.
public struct SubjectRules: Codable, Hashable, Sendable {
    /// The allowed subjects.
    public var allow: [String]?
    /// The denied subjects.
    public var deny: [String]?

    /// Makes rules; an empty list says nothing.
    public init(allow: [String] = [], deny: [String] = []) {
        self.allow = allow.isEmpty ? nil : allow
        self.deny = deny.isEmpty ? nil : deny
    }

    /// Whether a subscription to the pattern without a queue group is allowed, and no denial covers all of it.
    public func permits(_ pattern: String) -> Bool {
        if let deny, deny.contains(where: { SubjectPattern.covers($0, pattern) }) { return false }
        guard let allow, !allow.isEmpty else { return true }
        return allow.contains { SubjectPattern.covers($0, pattern) }
    }
}

/// Permission to answer requests: the reply subject of a received message becomes publishable for a while.
public struct ResponseRules: Codable, Hashable, Sendable {
    /// How many answers to one request; −1 means without bound.
    public var max: Int
    /// For how long after the request, in nanoseconds; −1 means without end.
    public var ttl: Int64

    /// Makes rules for answers.
    public init(max: Int = 1, ttl: Int64 = -1) {
        self.max = max
        self.ttl = ttl
    }
}

package enum SubjectPattern {
    package static func overlaps(_ first: String, _ second: String) -> Bool { intersection(first, second) != nil }

    /// The pattern of all subjects that match both patterns; nil where none does.
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

    /// The token before the first dot, and what is behind that; nil where there is no dot.
    private static func firstToken(of subject: Substring) -> (token: Substring, rest: Substring?) {
        guard let dot = subject.firstIndex(of: ".") else { return (subject, nil) }
        return (subject[..<dot], subject[subject.index(after: dot)...])
    }
}
