/// A page of the list of a user's postboxes, as a value.
struct PostboxPage: Sendable {
    static let maximumLimit = 100

    /// The position of a postbox in the list, which never changes, whatever is created or deleted.
    private struct Place: Comparable {
        let createdAt: UInt64
        /// Distinguishes postboxes created in the same millisecond.
        let name: UInt64

        init(createdAt: UInt64, name: UInt64) {
            self.createdAt = createdAt
            self.name = name
        }

        init(of postbox: Postbox) {
            createdAt = UInt64(clamping: postbox.createdAt.milliseconds)
            // FNV-1a
            name = postbox.id.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        }

        static func < (first: Place, second: Place) -> Bool {
            (first.createdAt, first.name) < (second.createdAt, second.name)
        }
    }

    private let limit: Int
    /// The position of the last postbox of the previous page.
    private let last: Place?

    /// Asks for a page.
    ///
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the limit, ``RelayError/invalidToken``.
    init(limit: Int?, nextToken: String?) throws(RelayError) {
        let limit = limit ?? Self.maximumLimit
        guard (1...Self.maximumLimit).contains(limit) else {
            throw .invalidArgument("The limit is from 1 to \(Self.maximumLimit)")
        }
        self.limit = limit
        guard let nextToken else {
            last = nil
            return
        }
        guard let (createdAt, name) = OpaqueCode.decode(.postboxes, nextToken) else { throw .invalidToken }
        last = Place(createdAt: createdAt, name: name)
    }

    /// The page.
    ///
    /// - Parameter postboxes: All of the user's, in any order.
    func output(of postboxes: [Postbox]) -> ListOutput<Postbox> {
        let all = postboxes.map { (place: Place(of: $0), postbox: $0) }.sorted { $0.place < $1.place }
        let rest = all.filter { entry in last.map { $0 < entry.place } ?? true }
        let page = rest.prefix(limit)
        let token = page.last.map { OpaqueCode.encode(.postboxes, $0.place.createdAt, $0.place.name) }
        return ListOutput(items: page.map(\.postbox), nextToken: rest.count > limit ? token : nil)
    }
}
