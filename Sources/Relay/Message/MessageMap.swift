/// A map that keeps its entries in order, and keeps every entry, even under a repeated key.
///
/// Looking up a repeated key finds its last entry, as JavaScript does.
public struct MessageMap: Hashable, Sendable {
    /// One key with its value.
    public struct Entry: Hashable, Sendable {
        /// The key, of any type; text almost always.
        public var key: MessageValue
        /// The value.
        public var value: MessageValue

        /// Makes an entry.
        public init(key: MessageValue, value: MessageValue) {
            self.key = key
            self.value = value
        }
    }

    /// The entries in order.
    public var entries: [Entry]

    /// Makes a map of these entries.
    public init(_ entries: [Entry] = []) { self.entries = entries }

    /// The value under a text key. Setting replaces the last entry under the key in place, or appends one; setting nil
    /// removes every entry under it.
    public subscript(key: String) -> MessageValue? {
        get {
            entries.last { entry in
                if case .string(let text) = entry.key { text == key } else { false }
            }?.value
        }
        set {
            guard let newValue else {
                entries.removeAll { $0.key == .string(key) }
                return
            }
            if let index = entries.lastIndex(where: { $0.key == .string(key) }) {
                entries[index].value = newValue
            } else {
                entries.append(Entry(key: .string(key), value: newValue))
            }
        }
    }
}

extension MessageMap: RandomAccessCollection {
    /// The first entry's position.
    public var startIndex: Int { 0 }
    /// The position after the last entry.
    public var endIndex: Int { entries.count }
    /// The entry at a position.
    public subscript(position: Int) -> Entry { entries[position] }
}

extension MessageMap: ExpressibleByDictionaryLiteral {
    /// A map, its entries in the order written.
    public init(dictionaryLiteral elements: (String, MessageValue)...) {
        self.init(elements.map { Entry(key: .string($0), value: $1) })
    }
}
