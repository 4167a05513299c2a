import NATS

/// What keys look like: RelayX's grammar, `[a-zA-Z0-9_\-.=/]+`, of which the server takes what has no empty part
/// before, between or behind dots.
enum KeyGrammar {
    /// Keys are part of subjects, which have to fit into one line of the protocol.
    static let maximumBytes = 1_024

    /// - Throws: ``RelayError/invalidArgument(_:)`` for what cannot be a key.
    static func check(key: String) throws(RelayError) {
        guard key.utf8.count <= maximumBytes, KeyValueBucket.isKey(key) else {
            throw .invalidArgument(
                "A key has up to \(maximumBytes) letters, digits, and _ - . = / only, with no empty part between dots")
        }
    }

    /// - Throws: ``RelayError/invalidArgument(_:)`` for what is neither a key nor a pattern for keys.
    static func check(pattern: String) throws(RelayError) {
        let parts = pattern.split(separator: ".", omittingEmptySubsequences: false)
        let last = parts.count - 1
        let areParts = parts.enumerated().allSatisfy { place, part in
            part == "*" || part == ">" && place == last || KeyValueBucket.isKey(String(part))
        }
        guard pattern.utf8.count <= maximumBytes, areParts else {
            throw .invalidArgument(
                "A pattern is a key in which * stands for one part between dots, and > at the end for all that follow")
        }
    }
}
