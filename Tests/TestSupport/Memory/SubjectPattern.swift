/// A subject that may hold wildcards: `*` matches one token, and `>` at the end one or more.
struct SubjectPattern: Sendable, Hashable {
    private enum Token: Sendable, Hashable {
        case exactly([UInt8])
        case any
        case rest
    }

    let text: String
    let hasWildcards: Bool
    private let tokens: [Token]

    init(_ text: String) {
        self.text = text
        let parts = Self.parts(of: text)
        tokens = parts.enumerated().map { index, part in
            if part == [UInt8(ascii: "*")] { return .any }
            if part == [UInt8(ascii: ">")], index == parts.count - 1 { return .rest }
            return .exactly(part)
        }
        hasWildcards = tokens.contains { $0 == .any || $0 == .rest }
    }

    private static func parts(of text: String) -> [[UInt8]] {
        text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map { Array($0) }
    }

    /// Whether a client may subscribe to it: no token is empty, and `>` comes last.
    var isValid: Bool {
        tokens.allSatisfy { token in
            switch token {
            case .exactly(let part): !part.isEmpty && part != [UInt8(ascii: ">")]
            case .any, .rest: true
            }
        }
    }

    /// Whether a message to this subject is meant.
    func matches(_ subject: String) -> Bool {
        guard hasWildcards else { return subject == text }
        let bytes = Array(subject.utf8)
        var start = 0
        for token in tokens {
            // Behind the last token it is one more than the length.
            guard start <= bytes.count else { return false }
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: ".") { end += 1 }
            switch token {
            case .exactly(let part): if !bytes[start..<end].elementsEqual(part) { return false }
            case .any: if start == end { return false }
            case .rest: return start < bytes.count
            }
            start = end + 1
        }
        return start > bytes.count
    }

    /// Whether some subject is meant by both.
    func overlaps(_ other: SubjectPattern) -> Bool {
        for index in 0..<max(tokens.count, other.tokens.count) {
            guard index < tokens.count, index < other.tokens.count else { return false }
            switch (tokens[index], other.tokens[index]) {
            case (.rest, _), (_, .rest): return true
            case (.exactly(let left), .exactly(let right)): if left != right { return false }
            case (.any, _), (_, .any): continue
            }
        }
        return true
    }
}
