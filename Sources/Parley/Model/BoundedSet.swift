/// A set that forgets its oldest members beyond a limit.
struct BoundedSet: Equatable, Sendable {
    private var members: Set<String> = []
    private var order: [String] = []
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    func contains(_ member: String) -> Bool { members.contains(member) }

    mutating func insert(_ member: String) {
        guard members.insert(member).inserted else { return }
        order.append(member)
        guard order.count > limit + limit / 8 else { return }
        for old in order.prefix(order.count - limit) { members.remove(old) }
        order.removeFirst(order.count - limit)
    }
}
