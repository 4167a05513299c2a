extension MessageMap {
    /// Everything that a payload holds, in its order, keys included that this version gives no meaning to: a
    /// MessagePack map, as ``Envelope`` writes it, or a JSON object.
    ///
    /// A binary value under `message` that holds JSON is that JSON, as it is in an envelope.
    ///
    /// - Returns: nil when the payload holds neither.
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
        for index in map.entries.indices where map.entries[index].key == "message" {
            map.entries[index].value = Envelope.opened(map.entries[index].value)
        }
        self = map
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
}
