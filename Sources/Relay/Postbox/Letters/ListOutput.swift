/// One page of a list.
public struct ListOutput<Item: Sendable>: Sendable {
    /// The page's items, in the list's order.
    public var items: [Item]
    /// Letters on the page that cannot be read, in the list's order.
    public var unreadable: [UnreadableLetter]
    /// The token for the next page; nil if this is the last.
    public var nextToken: String?

    /// Creates a page.
    public init(items: [Item], nextToken: String?, unreadable: [UnreadableLetter] = []) {
        self.items = items
        self.unreadable = unreadable
        self.nextToken = nextToken
    }
}

extension ListOutput: Equatable where Item: Equatable {}
extension ListOutput: Hashable where Item: Hashable {}

/// The order of a list of letters.
public enum LetterOrder: Sendable, Hashable {
    /// As they were stored, like Sudo's relay.
    case oldestFirst
    /// From the end backwards, like an inbox.
    case newestFirst
}
