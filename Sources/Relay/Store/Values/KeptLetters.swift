/// What a list of letters had, for the local store.
package struct KeptLetterPage: Hashable, Sendable {
    /// The letters.
    package var letters: [KeptLetter]
    /// The identifiers of those that cannot be read. They are not kept, and are there all the same.
    package var unreadable: [String]
    /// When the postbox's stream was made, in nanoseconds since 1970.
    package var incarnation: UInt64
    /// The first sequence that the page is about.
    package var start: UInt64
    /// The first sequence that it is not about any more.
    package var end: UInt64
    /// The postbox that was asked for; nil for all.
    package var postbox: String?
    /// When it was listed.
    package var moment: Timestamp

    /// Describes a page.
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
    /// Those that were read, of the letters that were asked about.
    package var ids: Set<String> = []
    /// How many were read of each postbox, by its identifier.
    package var counts: [String: Int] = [:]
    /// How many letters are kept of each postbox.
    package var kept: [String: Int] = [:]
}

/// Letters as this machine keeps them: what lists and subscriptions brought.
public struct KeptLetters: Hashable, Sendable {
    /// The page.
    public var page: ListOutput<PostboxMessage>
    /// When letters were listed last: what came or was deleted since then is not known. Nil where they never were.
    public var asOf: Timestamp?
    /// How many letters are kept of each postbox, by its identifier.
    public var counts: [String: Int]

    /// Describes letters.
    public init(page: ListOutput<PostboxMessage>, asOf: Timestamp?, counts: [String: Int] = [:]) {
        self.page = page
        self.asOf = asOf
        self.counts = counts
    }
}
