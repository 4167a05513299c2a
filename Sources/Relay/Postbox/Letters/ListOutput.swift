/// One page of a list.
public struct ListOutput<Item: Sendable>: Sendable {
    /// The page's items, in the list's order.
    public var items: [Item]
    /// What belongs on the page and cannot be read, in the list's order; the other items are there all the same.
    public var unreadable: [UnreadableLetter]
    /// What to pass for the next page; nil when this is the last.
    public var nextToken: String?

    /// Makes a page.
    public init(items: [Item], nextToken: String?, unreadable: [UnreadableLetter] = []) {
        self.items = items
        self.unreadable = unreadable
        self.nextToken = nextToken
    }
}

extension ListOutput: Equatable where Item: Equatable {}
extension ListOutput: Hashable where Item: Hashable {}

/// In which order letters are listed.
public enum LetterOrder: Sendable, Hashable {
    /// As they were stored, as Sudo's relay lists them.
    case oldestFirst
    /// From the end backwards, as an inbox shows them.
    case newestFirst
}
