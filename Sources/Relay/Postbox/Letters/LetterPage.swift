import NATS

/// A page of a list of letters, as a value: which are wanted, and those that were found, in the list's order.
struct LetterPage: Sendable {
    /// The most letters a page may hold.
    static let maximumLimit = 100
    /// Letters of more bytes than these stand on several pages, however few they are.
    static let maximumBytes = 64 << 20
    /// How many letters are gone through at once where those of one postbox are picked here.
    private static let atOnce = 256

    /// Where an earlier page ended; nil for the list's beginning.
    let token: PageToken?
    /// The postbox whose letters are wanted; nil for all.
    let postbox: String?
    /// The list's order.
    let order: LetterOrder
    /// Whether the server gives the wanted postbox's letters alone; otherwise they are picked here.
    var isFiltered: Bool
    /// The places of letters that were deleted, though the server that is asked has them for a moment more.
    var deleted = RecentSet<UInt64>(capacity: 1)
    private let limit: Int
    private let bytes: Int
    private var letters: [StoredMessage] = []
    private var takenBytes = 0
    /// How many letters were passed over that were deleted.
    private var passed = 0
    /// The place of the first letter that belongs on the next page; nil while there is none.
    private var next: UInt64?

    /// Asks for a page.
    ///
    /// - Parameters:
    ///   - limit: most letters, 1 to 100; nil for one.
    ///   - nextToken: where an earlier page of the same order ended; nil for the list's beginning.
    ///   - postbox: only this one's letters; nil for all.
    ///   - order: the list's order.
    ///   - bytes: most bytes of all letters together, but for a single one that has more.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the limit and the postbox's name, ``RelayError/invalidToken``.
    init(
        limit: Int?, nextToken: String?, postbox: String?, order: LetterOrder = .oldestFirst,
        bytes: Int = LetterPage.maximumBytes
    ) throws(RelayError) {
        let limit = limit ?? 1
        guard (1...Self.maximumLimit).contains(limit) else {
            throw .invalidArgument("The limit is from 1 to \(Self.maximumLimit)")
        }
        if let postbox, !postbox.isSubjectToken { throw .invalidArgument("The postbox's name is not one") }
        if let nextToken { token = try PageToken(nextToken, order: order) } else { token = nil }
        self.limit = limit
        self.bytes = bytes
        self.postbox = postbox
        self.order = order
        isFiltered = postbox == nil
    }

    /// How many messages to read from the stream next: one more than are wanted tells where the next page begins. Where
    /// many were deleted, more are read at once, so that those that are left are found with few questions.
    var missingMessages: Int {
        isFiltered ? min(Self.atOnce, max(limit + 1 - letters.count, passed)) : Self.atOnce
    }

    /// How many bytes they may have.
    var missingBytes: Int { max(1, bytes - takenBytes) }

    /// Takes the next message in the list's order, where it is wanted.
    ///
    /// - Returns: false when the page is full, and the message belongs on the next one.
    mutating func take(_ message: StoredMessage) -> Bool {
        if let postbox, PostboxAddress(message.subject)?.postbox != postbox { return true }
        if deleted.contains(message.sequence) {
            passed += 1
            return true
        }
        takenBytes += message.size
        guard letters.count < limit, letters.isEmpty || takenBytes <= bytes else {
            next = message.sequence
            return false
        }
        letters.append(message)
        return true
    }

    /// Reads messages, from where the page begins, until it is full or there are no more.
    ///
    /// No server reads backwards: the place from which so many messages are left is found by counting, and they are
    /// read from there. Letters that come or go meanwhile make the part a little longer or shorter, and nothing else.
    mutating func fill(from source: StreamSource, in extent: StreamExtent) async throws(NATSError) {
        try await fill(last: extent.last) { [order] place, limit, bytes throws(NATSError) in
            switch order {
            case .oldestFirst:
                let part = try await source.page(from: place, limit: limit, bytes: bytes)
                guard part.pending > 0, let last = part.messages.last else { return (part.messages, nil) }
                return (part.messages, last.sequence + 1)
            case .newestFirst:
                let first = max(1, extent.first)
                guard place >= first else { return ([], nil) }
                let low = try await source.sequence(before: place + 1, newest: limit, in: extent)
                let part = try await source.newest(limit, from: low, through: place, bytes: bytes)
                return (part.messages.reversed(), part.reached > first ? part.reached - 1 : nil)
            }
        }
    }

    /// Takes messages, from where the page begins, until it is full or there are no more.
    ///
    /// - Parameters:
    ///   - last: the stream's last sequence.
    ///   - read: returns messages from a place on, in the list's order, within a limit and a number of bytes, though a
    ///     single one may have more; and the place to go on, nil when there are no more.
    mutating func fill(
        last: UInt64,
        _ read: (_ place: UInt64, _ limit: Int, _ bytes: Int) async throws(NATSError) -> (
            messages: [StoredMessage], next: UInt64?
        )
    ) async throws(NATSError) {
        var place: UInt64? = order == .oldestFirst ? token?.sequence ?? 1 : min(token?.sequence ?? .max, last)
        while let next = place {
            let part = try await read(next, missingMessages, missingBytes)
            for message in part.messages {
                guard take(message) else { return }
            }
            place = part.next
        }
    }

    /// The part of the stream that the page says all of.
    ///
    /// - Parameter last: the last sequence that the stream had before the page was read.
    func part(last: UInt64) -> Range<UInt64> {
        switch order {
        case .oldestFirst:
            let start = token?.sequence ?? 1
            return start..<max(start, next ?? max(last, letters.last?.sequence ?? 0) + 1)
        case .newestFirst:
            let end = max(1, min(token?.sequence ?? .max, last) + 1)
            return min(end, next.map { $0 + 1 } ?? 1)..<end
        }
    }

    /// The page as callers see it.
    ///
    /// - Parameters:
    ///   - incarnation: when the stream was made, in nanoseconds since 1970.
    ///   - owner: whose letters they are.
    func output(incarnation: UInt64, owner: String) -> ListOutput<PostboxMessage> {
        var page = ListOutput<PostboxMessage>(
            items: [], nextToken: next.map { PageToken(incarnation: incarnation, sequence: $0, order: order).text })
        for letter in letters {
            switch ReadLetter(letter, incarnation: incarnation, owner: owner) {
            case .readable(let letter): page.items.append(letter)
            case .unreadable(let letter): page.unreadable.append(letter)
            }
        }
        return page
    }
}
