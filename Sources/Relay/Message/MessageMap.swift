/// A map that keeps its entries in order, including those with a repeated key.
///
/// Looking up a repeated key finds its last entry, as in JavaScript.
public struct MessageMap: Hashable, Sendable {
    /// One key with its value.
    public struct Entry: Hashable, Sendable {
        /// The key, of any type; text almost always.
        public var key: MessageValue
        /// The value.
        public var value: MessageValue

        /// Creates an entry.
        public init(key: MessageValue, value: MessageValue) {
            self.key = key
            self.value = value
        }
    }

    /// The entries in order.
    public var entries: [Entry]

    /// Creates a map of these entries.
    public init(_ entries: [Entry] = []) { self.entries = entries }

    /// The value of a text key. Setting replaces the key's last entry in place, or appends one; setting nil removes
    /// every entry of the key.
    public subscript(key: String) -> MessageValue? {
        get { entries.last { $0.isUnder(key) }?.value }
        set {
            guard let newValue else {
                entries.removeAll { $0.isUnder(key) }
                return
            }
            if let index = entries.lastIndex(where: { $0.isUnder(key) }) {
                entries[index].value = newValue
            } else {
                entries.append(Entry(key: .string(key), value: newValue))
            }
        }
    }
}

extension MessageMap.Entry {
    fileprivate func isUnder(_ key: String) -> Bool {
        if case .string(let text) = self.key { text.isSame(as: key) } else { false }
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

extension MessageMap {
    /// Everything in a payload, in order, including keys without a meaning here: a MessagePack map, as ``Envelope``
    /// writes it, or a JSON object.
    ///
    /// A binary value under `message` that contains JSON becomes that JSON, as in an envelope.
    ///
    /// - Returns: Nil if the payload is neither.
    public init?(payload: some Collection<UInt8>) {
        // No MessagePack map begins with a brace or with white space.
        let first = payload.first { !Self.isSpace($0) }
        let value: MessageValue?
        if first == UInt8(ascii: "{") {
            value = try? JSONText.parse(bytes: payload)
        } else {
            value = try? MessagePack.decode(payload)
        }
        guard case .map(var map)? = value else { return nil }
        for index in map.entries.indices where map.entries[index].isUnder("message") {
            map.entries[index].value = Envelope.opened(map.entries[index].value)
        }
        self = map
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
}
