/// The results of deleting letters, one by one; as an error, it means that not all were deleted.
public struct BulkDeletion: Error, Hashable, Sendable {
    /// A message that was not deleted.
    public struct Failure: Hashable, Sendable, Identifiable {
        /// The message's identifier, as the caller passed it.
        public var id: String
        /// The reason.
        public var error: RelayError

        /// Creates a failure.
        public init(id: String, error: RelayError) {
            self.id = id
            self.error = error
        }

        package var isMissing: Bool { error == .notFound(id) }
    }

    /// The most messages that one call deletes (Sudo relay's limit).
    public static let maximumCount = 25
    /// The most deletions in flight.
    package static let window = 128

    /// The identifiers of deleted letters, in the order passed.
    public var deleted: [String]
    /// Letters that this call certainly did not delete, in the order passed.
    public var failed: [Failure]
    /// Letters for which the server's answer is missing, in the order passed: they may be gone.
    public var unknown: [Failure]

    /// All letters that may not have been deleted, the unknown ones last.
    public var notDeleted: [Failure] { failed + unknown }

    /// The identifiers of letters that the network no longer has, whoever deleted them.
    package var gone: [String] { deleted + failed.filter(\.isMissing).map(\.id) }

    /// Creates a result.
    public init(deleted: [String] = [], failed: [Failure] = [], unknown: [Failure] = []) {
        self.deleted = deleted
        self.failed = failed
        self.unknown = unknown
    }

    /// None of the letters was deleted, for one reason.
    package init(none ids: [String], _ error: RelayError) {
        self.init(failed: ids.map { Failure(id: $0, error: error) })
    }

    /// The result of deleting letters.
    ///
    /// - Parameters:
    ///   - ids: The identifiers, as the caller passed them; one may occur twice.
    ///   - answers: The server's answer for each; nil if it was not asked.
    ///   - reason: Why it was not asked.
    init(of ids: [String], answers: [Result<Void, RelayError>?], unasked reason: RelayError) {
        self.init()
        for (id, answer) in zip(ids, answers) {
            switch answer {
            case .success: deleted.append(id)
            case .failure(let error):
                switch error {
                // These mean that there was no answer.
                case .timeout, .connection, .cancelled: unknown.append(Failure(id: id, error: error))
                default: failed.append(Failure(id: id, error: error))
                }
            case nil: failed.append(Failure(id: id, error: reason))
            }
        }
    }
}

extension BulkDeletion: CustomStringConvertible {
    /// The number of deleted letters, and the identifiers of the others with the reason of each.
    public var description: String {
        let sentences =
            ["Deleted \(deleted.count) of \(deleted.count + notDeleted.count) letters."]
            + Self.sentences("Not deleted", failed) + Self.sentences("Perhaps deleted", unknown)
        return sentences.joined(separator: " ")
    }

    /// One sentence for each reason, with the letters concerned.
    private static func sentences(_ label: String, _ failures: [Failure]) -> [String] {
        var reasons: [RelayError] = []
        for failure in failures where !reasons.contains(failure.error) { reasons.append(failure.error) }
        return reasons.map { reason in
            let ids = failures.filter { $0.error == reason }.map(\.id).joined(separator: ", ")
            return "\(label): \(ids) (\(reason.words))"
        }
    }
}
