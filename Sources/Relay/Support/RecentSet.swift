/// The newest of many values: at least `capacity`, and fewer than twice as many. The oldest are forgotten together,
/// which costs nothing for each. A value that is inserted again counts as new.
package struct RecentSet<Element: Hashable & Sendable>: Equatable, Sendable {
    private var newer: Set<Element> = []
    private var older: Set<Element> = []
    private let capacity: Int

    package init(capacity: Int) { self.capacity = max(capacity, 1) }

    var isEmpty: Bool { newer.isEmpty && older.isEmpty }

    package func contains(_ element: Element) -> Bool { newer.contains(element) || older.contains(element) }

    /// Adds a value; false if it is remembered already.
    @discardableResult
    package mutating func insert(_ element: Element) -> Bool {
        guard newer.insert(element).inserted else { return false }
        let isNew = !older.contains(element)
        if newer.count == capacity {
            swap(&newer, &older)
            newer.removeAll(keepingCapacity: true)
        }
        return isNew
    }
}
