/// What a bulk deletion did, message by message.
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

    /// The identifiers that were deleted, in the order passed.
    public var deleted: [String]
    /// The ones that were not, in the order passed.
    public var failed: [Failure]

    /// Makes a result.
    public init(deleted: [String] = [], failed: [Failure] = []) {
        self.deleted = deleted
        self.failed = failed
    }

    /// The result of deleting letters.
    ///
    /// - Parameters:
    ///   - ids: the identifiers, as the caller passed them; the same one may be there twice.
    ///   - failures: by their places among these, why some letters were not deleted.
    init(of ids: [String], failures: [Int: RelayError]) {
        self.init()
        for (index, id) in ids.enumerated() {
            if let error = failures[index] {
                failed.append(Failure(id: id, error: error))
            } else {
                deleted.append(id)
            }
        }
    }
}
