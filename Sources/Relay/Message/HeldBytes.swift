// Decoded values take more memory than their bytes did: an element of one byte becomes a value of its own. Wherever a
// bound of bytes applies to messages in memory, this is what they count. Every arriving message is counted, so elements
// are read in place: taking one out would copy it.

extension MessageValue {
    /// How many bytes it takes beside its own place: a text's, and a place for each element.
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

    /// What each array has before its elements.
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
    /// How many bytes it takes: its value, its text where that is not the value itself, and its payload.
    package var heldBytes: Int {
        let held = MemoryLayout<Self>.stride + message.heldBytes + (payload?.heldBytes ?? 0)
        if case .string = message { return held }
        return held + text.utf8.count
    }
}
