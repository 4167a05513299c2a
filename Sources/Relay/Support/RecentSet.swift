/// The newest of many values: at least so many of them, and fewer than twice as many. The oldest are forgotten together,
/// which costs nothing for each.
struct RecentSet<Element: Hashable & Sendable>: Hashable, Sendable {
    private var newer: Set<Element> = []
    private var older: Set<Element> = []
    private let capacity: Int

    init(capacity: Int) { self.capacity = max(capacity, 1) }

    var isEmpty: Bool { newer.isEmpty && older.isEmpty }

    func contains(_ element: Element) -> Bool { newer.contains(element) || older.contains(element) }

    /// Adds a value; false when it is among the remembered ones.
    mutating func insert(_ element: Element) -> Bool {
        guard !older.contains(element), newer.insert(element).inserted else { return false }
        if newer.count == capacity {
            older = newer
            newer = Set(minimumCapacity: capacity)
        }
        return true
    }
}
