// Decoded values take more memory than they had bytes: an element of a single byte becomes a value of its own. Limits
// in bytes count messages by this size. It is computed for each message that arrives, so elements are visited in place:
// taking one out would copy it.

extension MessageValue {
    /// The bytes that it takes besides its own place: those of a text, and a place for each element.
    var heldBytes: Int {
        switch self {
        case .null, .bool, .int, .unsigned, .double, .timestamp: 0
        case .string(let text): text.utf8.count
        case .binary(let bytes), .extension(_, let bytes): bytes.count
        case .array(let values):
            values.withUnsafeBufferPointer { values in
                var bytes = Self.header + values.count * MemoryLayout<Self>.stride
                for index in values.indices { bytes += values[index].heldBytes }
                return bytes
            }
        case .map(let map): map.heldBytes
        }
    }

    /// The size of an array's header.
    static let header = 32
}

extension MessageMap {
    var heldBytes: Int {
        entries.withUnsafeBufferPointer { entries in
            var bytes = MessageValue.header + entries.count * MemoryLayout<Entry>.stride
            for index in entries.indices { bytes += entries[index].key.heldBytes + entries[index].value.heldBytes }
            return bytes
        }
    }
}

extension TopicMessage {
    /// The bytes that it takes: its value, its text unless that is the value itself, and its payload.
    package var heldBytes: Int {
        let held = MemoryLayout<Self>.stride + message.heldBytes + (payload?.heldBytes ?? 0)
        if case .string = message { return held }
        return held + text.utf8.count
    }
}
