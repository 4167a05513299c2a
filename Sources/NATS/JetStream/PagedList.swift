/// A list that a server gives in pages, as a value. It ends with what the first page promised, and before that where a
/// page brings nothing new, whatever the server claims.
struct PagedList<Item> {
    /// What has come, each once.
    private(set) var items: [Item] = []
    /// How many places of the list were given, empty ones included.
    private(set) var passed = 0
    private var names: Set<String> = []
    private var promised: Int?

    /// More than any server has.
    private static var limit: Int { 1 << 20 }

    /// Takes a page in.
    ///
    /// - Parameters:
    ///   - page: its places; nothing is in that of an item that is just being deleted.
    ///   - total: how long the whole list is, as the server says.
    ///   - name: what tells an item from the others.
    /// - Returns: whether another page is to be asked for, from ``passed`` on.
    /// - Throws: `protocolViolation` for a list that is longer than can be.
    mutating func take(
        _ page: [Item?], of total: Int, named name: (Item) -> String
    ) throws(NATSError) -> Bool {
        let end = promised ?? total
        guard end <= Self.limit else { throw .protocolViolation("it claims a list of \(total) entries") }
        promised = end
        passed += page.count
        var isNews = false
        for item in page {
            if let item {
                guard names.insert(name(item)).inserted else { continue }
                items.append(item)
            }
            isNews = true
        }
        return isNews && passed < end
    }
}
