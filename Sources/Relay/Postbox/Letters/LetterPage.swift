import NATS

/// A page of a list of letters, as a value: what was asked for, and the letters found, in the list's order.
struct LetterPage: Sendable {
    static let maximumLimit = 100
    static let maximumBytes = 64 << 20
    /// How many letters to read at once when filtering locally.
    private static let atOnce = 256

    /// Where an earlier page ended; nil for the list's beginning.
    let token: PageToken?
    /// Limits the list to this postbox; nil for all.
    let postbox: String?
    let order: LetterOrder
    /// Whether the server filters by postbox; otherwise that is done here.
    var isFiltered: Bool
    /// Sequences of deleted letters that a server may still list for a moment.
    var deleted = RecentSet<UInt64>(capacity: 1)
    private let limit: Int
    private let bytes: Int
    private var letters: [StoredMessage] = []
    private var takenBytes = 0
    /// How many deleted letters were skipped.
    private var passed = 0
    /// The sequence of the first letter of the next page, if there is one.
    private var next: UInt64?

    /// Asks for a page.
    ///
    /// - Parameters:
    ///   - limit: The most letters, 1 to 100; nil for one.
    ///   - nextToken: Where an earlier page of the same order ended; nil for the list's beginning.
    ///   - postbox: Limits the list to this postbox; nil for all.
    ///   - order: The list's order.
    ///   - bytes: The most bytes of all letters together; a single one may have more.
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

    /// How many messages to read next: one more than wanted shows where the next page begins. After many deletions,
    /// more are read at once, so that few requests find the remaining ones.
    var missingMessages: Int { isFiltered ? min(Self.atOnce, max(limit + 1 - letters.count, passed)) : Self.atOnce }

    /// How many bytes they may have.
    var missingBytes: Int { max(1, bytes - takenBytes) }

    /// Adds the next message in the list's order, if it belongs on the page.
    ///
    /// - Returns: False if the page is full, and the message belongs on the next one.
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

    /// Reads messages from the page's beginning until it is full or there are no more.
    ///
    /// No server reads backwards: the sequence from which this many messages are left is found by counting, and they
    /// are read from there. Letters that arrive or are deleted meanwhile only make the part a little longer or shorter.
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

    /// Adds messages from the page's beginning until it is full or there are no more.
    ///
    /// - Parameters:
    ///   - last: The stream's last sequence.
    ///   - read: Returns messages from a sequence on, in the list's order, within a limit and a number of bytes, though
    ///     a single one may have more; and the sequence to continue at, nil if there are no more.
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

    /// The part of the stream that the page covers completely.
    ///
    /// - Parameter last: The stream's last sequence before the page was read.
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
    ///   - incarnation: When the stream was created, in nanoseconds since 1970.
    ///   - owner: The letters' owner.
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
