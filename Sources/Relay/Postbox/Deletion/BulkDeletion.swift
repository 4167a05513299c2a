/// What became of each letter that was to be deleted.
public struct BulkDeletion: Hashable, Sendable {
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

    /// Makes a result.
    public init(deleted: [String] = [], failed: [Failure] = [], unknown: [Failure] = []) {
        self.deleted = deleted
        self.failed = failed
        self.unknown = unknown
    }

    /// The result of deleting letters.
    ///
    /// - Parameters:
    ///   - ids: the identifiers, as the caller passed them; the same one may be there twice.
    ///   - ends: what became of each.
    init(of ids: [String], ends: [LetterEnd]) {
        self.init()
        for (id, end) in zip(ids, ends) {
            switch end {
            case .deleted: deleted.append(id)
            case .failed(let error): failed.append(Failure(id: id, error: error))
            case .unknown(let error): unknown.append(Failure(id: id, error: error))
            }
        }
    }

    /// What became of a letter that was to be deleted.
    enum LetterEnd: Hashable, Sendable {
        case deleted
        case failed(RelayError)
        /// The server was asked, and nothing is known of its answer.
        case unknown(RelayError)

        /// What an error in place of an answer means.
        init(_ error: RelayError) {
            switch error {
            case .timeout, .connection, .cancelled: self = .unknown(error)
            default: self = .failed(error)
            }
        }
    }
}

/// The error of a bulk deletion that did not delete every letter, as in Sudo's relay.
public struct BulkDeletionError: Error, Hashable, Sendable {
    /// The letters that are gone, those that remain, and those of which neither is known, with the reasons.
    public var deletion: BulkDeletion

    /// Makes an error.
    public init(_ deletion: BulkDeletion) { self.deletion = deletion }

    /// None of the letters was deleted, for one reason.
    init(of ids: [String], _ error: RelayError) {
        self.init(BulkDeletion(failed: ids.map { BulkDeletion.Failure(id: $0, error: error) }))
    }
}

extension BulkDeletionError: CustomStringConvertible {
    /// The number of deleted letters, and the identifiers of the others with the reason of each.
    public var description: String {
        let count = deletion.deleted.count + deletion.notDeleted.count
        let sentences =
            ["Deleted \(deletion.deleted.count) of \(count) letters."]
            + Self.sentences("Not deleted", deletion.failed) + Self.sentences("Perhaps deleted", deletion.unknown)
        return sentences.joined(separator: " ")
    }

    /// One sentence for each reason, with the letters that share it.
    private static func sentences(_ label: String, _ failures: [BulkDeletion.Failure]) -> [String] {
        var reasons: [RelayError] = []
        for failure in failures where !reasons.contains(failure.error) { reasons.append(failure.error) }
        return reasons.map { reason in
            let ids = failures.filter { $0.error == reason }.map(\.id).joined(separator: ", ")
            return "\(label): \(ids) (\(reason.words))"
        }
    }
}
