/// The newest of many values, a bounded set that forgets the oldest.
struct RecentSet<Element: Hashable & Sendable>: Hashable, Sendable {
    private var known: Set<Element> = []
    private var ring: [Element] = []
    private var oldest = 0
    private let capacity: Int

    init(capacity: Int) { self.capacity = max(capacity, 1) }

    /// Adds a value; false when it is among the remembered ones.
    mutating func insert(_ element: Element) -> Bool {
        guard known.insert(element).inserted else { return false }
        if ring.count < capacity {
            ring.append(element)
        } else {
            known.remove(ring[oldest])
            ring[oldest] = element
            oldest = (oldest + 1) % capacity
        }
        return true
    }
}
