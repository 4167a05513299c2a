/// The members that were inserted last: so many of them at least, and fewer than twice as many. One that is inserted
/// again is among the newest again.
struct BoundedSet: Equatable, Sendable {
    private var newer: Set<String> = []
    private var older: Set<String> = []
    private let limit: Int

    init(limit: Int) { self.limit = max(limit, 1) }

    func contains(_ member: String) -> Bool { newer.contains(member) || older.contains(member) }

    mutating func insert(_ member: String) {
        guard newer.insert(member).inserted, newer.count >= limit else { return }
        older = newer
        newer = []
    }
}
