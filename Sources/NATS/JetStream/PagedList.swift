/// A list that a server sends in pages, as a pure value. It ends at a page without new items, and before it is much
/// longer than the first page promised, whatever the server claims.
///
/// Each page starts with the last item of the previous one. If another item is there, some were deleted meanwhile and
/// later ones have moved up past the end of what was read: the list goes back to an item that it knows. So no item that
/// existed all along is missed.
struct PagedList<Item> {
    private(set) var items: [Item] = []
    private(set) var offset = 0
    /// Whether the next page should start with a known item.
    private var isAnchored = false
    /// Whether the next page may bring nothing new.
    private var isReturning = false
    private var returns = 64
    private var names: Set<String> = []
    private var promised: Int?

    /// More than any server has.
    private static var limit: Int { 1 << 20 }
    private static var stride: Int { 256 }

    /// Adds a page, in which nil stands for an item that is being deleted. Returns whether to request another from
    /// ``offset`` on; throws `protocolViolation` for an impossibly long list.
    mutating func take(_ page: [Item?], of total: Int, named name: (Item) -> String) throws(NATSError) -> Bool {
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
