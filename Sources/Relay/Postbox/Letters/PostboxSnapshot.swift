import NIOConcurrencyHelpers

/// A page of letters, and everything since it was requested: without gaps and without repetitions.
///
/// It ends with the last reference.
public final class PostboxSnapshot: Sendable {
    /// The page.
    public let page: ListOutput<PostboxMessage>
    private let live: PostboxEvents
    private let merge: NIOLockedValueBox<LetterMerge>
    /// Events that arrived while the page was read.
    private let early: NIOLockedValueBox<[PostboxEvent]>

    init(_ page: ListOutput<PostboxMessage>, _ live: PostboxEvents, early: [PostboxEvent], postbox: String?) {
        var merge = LetterMerge(postbox: postbox)
        self.page = merge.new(of: page)
        self.live = live
        self.merge = NIOLockedValueBox(merge)
        self.early = NIOLockedValueBox(early.reversed())
    }

    /// The events since the page was requested, for one reader: letters that are on no page, and the subscription's
    /// status as it changes.
    public var events: Events { Events(snapshot: self) }

    /// A further page, without the letters that were already reported as events.
    public func merged(_ page: ListOutput<PostboxMessage>) -> ListOutput<PostboxMessage> {
        merge.withLockedValue { $0.new(of: page) }
    }

    /// The events of a ``PostboxSnapshot``.
    public struct Events: AsyncSequence, Sendable {
        /// An event.
        public typealias Element = PostboxEvent
        /// The error that ends the sequence early.
        public typealias Failure = RelayError
        let snapshot: PostboxSnapshot

        /// Starts reading.
        public func makeAsyncIterator() -> Iterator {
            Iterator(snapshot: snapshot, live: snapshot.live.makeAsyncIterator())
        }

        /// Reads the events one by one.
        public struct Iterator: AsyncIteratorProtocol {
            let snapshot: PostboxSnapshot
            var live: PostboxEvents.Iterator

            /// The next event; nil at the end or if the task was cancelled.
            public nonisolated(nonsending) mutating func next() async throws(RelayError) -> PostboxEvent? {
                while true {
                    var event = snapshot.early.withLockedValue { $0.popLast() }
                    if event == nil { event = try await live.next() }
                    guard let event else { return nil }
                    if snapshot.merge.withLockedValue({ $0.isNew(event) }) { return event }
                }
            }

            /// The next event; nil at the end or if the task was cancelled.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(RelayError) -> PostboxEvent? {
                try await next()
            }
        }
    }
}

/// The letters that a reader of pages and events has seen, as a value.
///
/// Letters arrive as events in the stream's order and without gaps, so that two sequences describe which. A letter of a
/// page may still arrive as an event: the newest few thousand are remembered.
struct LetterMerge: Sendable {
    private let postbox: String?
    /// The part of the stream that has arrived as events.
    private var heard: (incarnation: UInt64, places: ClosedRange<UInt64>)?
    /// Letters of pages that have not arrived as events, and the newest events.
    private var seen = RecentSet<String>(capacity: 4_096)

    /// - Parameter postbox: Limits the letters to this postbox; nil for all.
    init(postbox: String? = nil) { self.postbox = postbox }

    /// The page without letters that were seen already.
    mutating func new(of page: ListOutput<PostboxMessage>) -> ListOutput<PostboxMessage> {
        var page = page
        page.items = page.items.filter { isNew($0.id) }
        page.unreadable = page.unreadable.filter { isNew($0.id) }
        return page
    }

    private mutating func isNew(_ id: String) -> Bool {
        if let place = PostboxMessageID(id), let heard, heard.incarnation == place.incarnation,
            place.sequence <= heard.places.upperBound
        {
            return place.sequence < heard.places.lowerBound
        }
        return seen.insert(id)
    }

    /// Whether an event is not a repetition.
    mutating func isNew(_ event: PostboxEvent) -> Bool {
        switch event {
        case .message(let letter): isNew(letter.id, in: letter.postboxId)
        case .unreadable(let letter): isNew(letter.id, in: letter.postboxId)
        case .status, .gap: true
        }
    }

    private mutating func isNew(_ id: String, in postbox: String) -> Bool {
        if let place = PostboxMessageID(id) {
            let known = heard.flatMap { $0.incarnation == place.incarnation ? $0.places : nil }
            let (first, last) = (known?.lowerBound ?? place.sequence, known?.upperBound ?? place.sequence)
            heard = (place.incarnation, min(first, place.sequence)...max(last, place.sequence))
        }
        return (self.postbox ?? postbox) == postbox && seen.insert(id)
    }
}

extension RelayClient {
    /// Subscribes to new letters, waits until none can be missed, and only then lists: a letter that arrives meanwhile
    /// is either on the page or among the events, never both.
    ///
    /// - Parameters:
    ///   - limit: The most letters on the page, 1 to 100; nil for one.
    ///   - postbox: Limits both the page and the events to this postbox; nil for all.
    ///   - order: The order of the page.
    /// - Throws: As ``listMessages(limit:nextToken:postbox:order:)``, and the reason if the subscription was refused.
    public func postboxSnapshot(
        limit: Int? = nil, postbox: String? = nil, order: LetterOrder = .oldestFirst
    ) async throws(RelayError) -> PostboxSnapshot {
        // Invalid arguments are found before anything is started.
        _ = try LetterPage(limit: limit, nextToken: nil, postbox: postbox, order: order)
        await wake()
        guard link?.connection != nil else { throw .notConnected }
        let live = try postboxMessages()
        var iterator = live.makeAsyncIterator()
        var early: [PostboxEvent] = []
        waiting: while true {
            guard let event = try await iterator.next() else { throw Task.isCancelled ? .cancelled : .notConnected }
            switch event {
            case .status(.error(let error)): throw error
            case .status(.connected): break waiting
            case .status: break
            case .message, .unreadable, .gap: early.append(event)
            }
        }
        let page = try await listMessages(limit: limit, nextToken: nil, postbox: postbox, order: order)
        return PostboxSnapshot(page, live, early: early, postbox: postbox)
    }
}
