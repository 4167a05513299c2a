/// The newest of many values: at least so many of them, and fewer than twice as many. The oldest are forgotten
/// together, which costs nothing for each. One that is inserted again is among the newest again.
///
/// Hundreds of thousands of messages a second are looked up here by their identifiers: a value is hashed once, for both
/// of the parts that remember it, and a part that is forgotten leaves its room to the next one.
package struct RecentSet<Element: Hashable & Sendable>: Equatable, Sendable {
    private var newer = Part()
    private var older = Part()
    private let capacity: Int

    package init(capacity: Int) { self.capacity = max(capacity, 1) }

    var isEmpty: Bool { newer.isEmpty && older.isEmpty }

    /// Whether a value is among the remembered ones.
    package func contains(_ element: Element) -> Bool {
        let hash = element.hashValue
        return newer.contains(element, hash) || older.contains(element, hash)
    }

    /// Adds a value; false when it is among the remembered ones.
    @discardableResult
    package mutating func insert(_ element: Element) -> Bool {
        let hash = element.hashValue
        let isOld = older.contains(element, hash)
        guard newer.insert(element, hash) else { return false }
        if newer.count == capacity {
            swap(&newer, &older)
            newer.removeAll()
        }
        return !isOld
    }

    /// Values in the order in which they came, and a table in which a value stands at the place that its hash names, or
    /// at the next free one. Half of the table at least is free.
    private struct Part: Equatable, Sendable {
        private var values: [Element] = []
        private var hashes: [Int] = []
        /// Numbers of values, from 1 on; 0 where a place is free.
        private var table: [UInt32] = []

        var count: Int { values.count }
        var isEmpty: Bool { values.isEmpty }

        func contains(_ element: Element, _ hash: Int) -> Bool {
            guard !values.isEmpty else { return false }
            return table[place(of: element, hash)] != 0
        }

        /// Adds a value; false when it is there.
        mutating func insert(_ element: Element, _ hash: Int) -> Bool {
            if 2 * values.count >= table.count { grow() }
            let place = place(of: element, hash)
            guard table[place] == 0 else { return false }
            values.append(element)
            hashes.append(hash)
            table[place] = UInt32(truncatingIfNeeded: values.count)
            return true
        }

        mutating func removeAll() {
            values.removeAll(keepingCapacity: true)
            hashes.removeAll(keepingCapacity: true)
            for place in table.indices { table[place] = 0 }
        }

        /// The place of a value, or the free one that it would have.
        private func place(of element: Element, _ hash: Int) -> Int {
            let mask = table.count - 1
            var place = hash & mask
            while true {
                let number = Int(table[place])
                if number == 0 || hashes[number - 1] == hash && values[number - 1] == element { return place }
                place = (place + 1) & mask
            }
        }

        private mutating func grow() {
            table = Array(repeating: 0, count: max(16, 2 * table.count))
            let mask = table.count - 1
            for (index, hash) in hashes.enumerated() {
                var place = hash & mask
                while table[place] != 0 { place = (place + 1) & mask }
                table[place] = UInt32(truncatingIfNeeded: index + 1)
            }
        }
    }
}
