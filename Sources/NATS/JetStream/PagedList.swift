/// A list that a server gives in pages, as a value. It ends where a page brings nothing new, and before it is much
/// longer than the first page promised, whatever the server claims.
///
/// A page begins with the last item of the one before. Where another one is there, some were deleted meanwhile and
/// those after them have moved up past the end of what was read: the list goes back to what it knows. So no item is
/// missing that was there all the time.
struct PagedList<Item> {
    private(set) var items: [Item] = []
    private(set) var offset = 0
    /// Whether a known item is expected there.
    private var isAnchored = false
    /// Whether the next page may bring nothing new.
    private var isReturning = false
    private var returns = 64
    private var names: Set<String> = []
    private var promised: Int?

    /// More than any server has.
    private static var limit: Int { 1 << 20 }
    private static var stride: Int { 256 }

    /// Takes a page in, in which nothing is in the place of an item that is just being deleted. Returns whether another
    /// is to be asked for, from ``offset`` on; a list that is longer than can be is a `protocolViolation`.
    mutating func take(
        _ page: [Item?], of total: Int, named name: (Item) -> String
    ) throws(NATSError) -> Bool {
        let first = promised ?? total
        guard first <= Self.limit else { throw .protocolViolation("it claims a list of \(total) entries") }
        promised = first
        if isAnchored, returns > 0, hasMovedUp(page, of: total, named: name) {
            returns -= 1
            offset = max(0, min(offset, total) - Self.stride)
            (isAnchored, isReturning) = (offset > 0, true)
            return true
        }
        var isNews = isReturning
        for item in page {
            guard let item else {
                isNews = true
                continue
            }
            guard names.insert(name(item)).inserted else { continue }
            items.append(item)
            isNews = true
        }
        let end = offset + page.count
        let last = page.lastIndex { $0 != nil }
        offset += last ?? page.count
        (isAnchored, isReturning) = (last != nil, false)
        let bound = 2 * first + 1_024
        return isNews && end < min(total, bound) && items.count < bound
    }

    private func hasMovedUp(_ page: [Item?], of total: Int, named name: (Item) -> String) -> Bool {
        guard let item = page.lazy.compactMap(\.self).first else { return page.isEmpty && total <= offset }
        return !names.contains(name(item))
    }
}
