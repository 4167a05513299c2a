/// One page of a list.
public struct ListOutput<Item: Sendable>: Sendable {
    /// The page's items, oldest first.
    public var items: [Item]
    /// What to pass for the next page; nil when this is the last.
    public var nextToken: String?

    /// Makes a page.
    public init(items: [Item], nextToken: String?) {
        self.items = items
        self.nextToken = nextToken
    }
}

extension ListOutput: Equatable where Item: Equatable {}
extension ListOutput: Hashable where Item: Hashable {}
