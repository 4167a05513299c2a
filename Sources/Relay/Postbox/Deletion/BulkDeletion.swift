/// What became of each letter that was to be deleted; as an error, that not every one was.
public struct BulkDeletion: Error, Hashable, Sendable {
    /// A message that was not deleted.
    public struct Failure: Hashable, Sendable, Identifiable {
        /// The message's identifier, as the caller passed it.
        public var id: String
        /// Why it was not deleted.
        public var error: RelayError

        /// Makes a failure.
        public init(id: String, error: RelayError) {
            self.id = id
            self.error = error
        }

        /// Whether there was no such message any more.
        package var isMissing: Bool { error == .notFound(id) }
    }

    /// The most messages that one call deletes (Sudo relay's bound).
    public static let maximumCount = 25
    /// So many deletions are with the server at a time.
    package static let window = 128

    /// The identifiers that were deleted, in the order passed.
    public var deleted: [String]
    /// The ones that were certainly not deleted by this, in the order passed.
    public var failed: [Failure]
    /// The ones of which the server was asked and has not answered, in the order passed: they may be gone.
    public var unknown: [Failure]

    /// The ones that were not deleted as far as is known, those of which it is not known last.
    public var notDeleted: [Failure] { failed + unknown }

    /// The identifiers of letters that the network does not have any more, whoever has deleted them.
    package var gone: [String] { deleted + failed.filter(\.isMissing).map(\.id) }

    /// Makes a result.
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
    ///   - ids: the identifiers, as the caller passed them; the same one may be there twice.
    ///   - answers: what the server has answered for each; nil where it was not asked.
    ///   - reason: why it was not.
    init(of ids: [String], answers: [Result<Void, RelayError>?], unasked reason: RelayError) {
        self.init()
        for (id, answer) in zip(ids, answers) {
            switch answer {
            case .success: deleted.append(id)
            case .failure(let error):
                switch error {
                // These stand in the place of an answer.
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

    /// One sentence for each reason, with the letters that share it.
    private static func sentences(_ label: String, _ failures: [Failure]) -> [String] {
        var reasons: [RelayError] = []
        for failure in failures where !reasons.contains(failure.error) { reasons.append(failure.error) }
        return reasons.map { reason in
            let ids = failures.filter { $0.error == reason }.map(\.id).joined(separator: ", ")
            return "\(label): \(ids) (\(reason.words))"
        }
    }
}
