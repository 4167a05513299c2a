import NATS

/// A page of a list of letters, as a value: which are wanted, and those that were found, in the stream's order.
struct LetterPage: Sendable {
    /// The most letters a page may hold.
    static let maximumLimit = 100
    /// Letters of more bytes than these stand on several pages, however few they are.
    static let maximumBytes = 64 << 20
    /// How many letters are gone through at once for those of one postbox.
    private static let atOnce = 256

    /// Where an earlier page ended; nil for the beginning.
    let token: PageToken?
    /// The postbox whose letters are wanted; nil for all.
    let postbox: String?
    private let limit: Int
    private let bytes: Int
    private var letters: [StoredMessage] = []
    private var takenBytes = 0
    /// The place of the first letter that belongs on the next page; nil while there is none.
    private var next: UInt64?

    /// Asks for a page.
    ///
    /// - Parameters:
    ///   - limit: most letters, 1 to 100; nil for one.
    ///   - nextToken: where an earlier page ended; nil for the beginning.
    ///   - postbox: only this one's letters; nil for all.
    ///   - bytes: most bytes of all letters together, but for a single one that has more.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the limit and the postbox's name, ``RelayError/invalidToken``.
    init(
        limit: Int?, nextToken: String?, postbox: String?, bytes: Int = LetterPage.maximumBytes
    ) throws(RelayError) {
        let limit = limit ?? 1
        guard (1...Self.maximumLimit).contains(limit) else {
            throw .invalidArgument("The limit is from 1 to \(Self.maximumLimit)")
        }
        if let postbox, !postbox.isSubjectToken { throw .invalidArgument("The postbox's name is not one") }
        if let nextToken { token = try PageToken(nextToken) } else { token = nil }
        self.limit = limit
        self.bytes = bytes
        self.postbox = postbox
    }

    /// How many messages to read from the stream next: one more than are wanted tells where the next page begins.
    var missingMessages: Int { postbox == nil ? limit + 1 - letters.count : Self.atOnce }

    /// How many bytes they may have.
    var missingBytes: Int { max(1, bytes - takenBytes) }

    /// Takes the stream's next message, where it is wanted. One postbox's letters are picked here and not by the server:
    /// a disabled postbox has no subject of its own there any more, and its letters are still to be read.
    ///
    /// - Returns: false when the page is full, and the message belongs on the next one.
    mutating func take(_ message: StoredMessage) -> Bool {
        if let postbox, PostboxAddress(message.subject)?.postbox != postbox { return true }
        takenBytes += message.size
        guard letters.count < limit, letters.isEmpty || takenBytes <= bytes else {
            next = message.sequence
            return false
        }
        letters.append(message)
        return true
    }

    /// Where the page ends: the first place that it says nothing of.
    ///
    /// - Parameter last: the last sequence that the stream had before the page was read.
    func end(last: UInt64) -> UInt64 { next ?? max(last, letters.last?.sequence ?? 0) + 1 }

    /// The page as callers see it.
    ///
    /// - Parameters:
    ///   - incarnation: when the stream was made, in nanoseconds since 1970.
    ///   - owner: whose letters they are.
    func output(incarnation: UInt64, owner: String) -> ListOutput<PostboxMessage> {
        ListOutput(
            items: letters.map { PostboxMessage(reading: $0, incarnation: incarnation, owner: owner) },
            nextToken: next.map { PageToken(incarnation: incarnation, sequence: $0).text })
    }
}
