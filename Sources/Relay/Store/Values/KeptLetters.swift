/// A list of letters from the network, for the local store.
package struct KeptLetterPage: Hashable, Sendable {
    package var letters: [KeptLetter]
    /// The identifiers of letters that cannot be decoded. They are not stored, but exist.
    package var unreadable: [String]
    /// When the postbox's stream was created, in nanoseconds since 1970.
    package var incarnation: UInt64
    /// The first sequence that the page covers.
    package var start: UInt64
    /// The first sequence after those.
    package var end: UInt64
    /// The requested postbox; nil for all.
    package var postbox: String?
    /// When it was listed.
    package var moment: Timestamp

    package init(
        letters: [KeptLetter], unreadable: [String] = [], incarnation: UInt64, start: UInt64, end: UInt64,
        postbox: String? = nil, moment: Timestamp
    ) {
        self.letters = letters
        self.unreadable = unreadable
        self.incarnation = incarnation
        self.start = start
        self.end = end
        self.postbox = postbox
        self.moment = moment
    }
}

/// Which letters were read, as far as this machine knows.
package struct ReadLetters: Hashable, Sendable {
    /// The read letters among the requested ones.
    package var ids: Set<String> = []
    /// The number of read letters of each postbox, by its identifier.
    package var counts: [String: Int] = [:]
    /// The number of stored letters of each postbox.
    package var kept: [String: Int] = [:]
}

/// Letters stored on this machine: the results of lists and subscriptions.
public struct KeptLetters: Hashable, Sendable {
    /// The page.
    public var page: ListOutput<PostboxMessage>
    /// When letters were last listed, if ever: later changes are unknown.
    public var asOf: Timestamp?
    /// The number of stored letters of each postbox, by its identifier.
    public var counts: [String: Int]

    /// Creates a list.
    public init(page: ListOutput<PostboxMessage>, asOf: Timestamp?, counts: [String: Int] = [:]) {
        self.page = page
        self.asOf = asOf
        self.counts = counts
    }
}
