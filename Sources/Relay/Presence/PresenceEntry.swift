import NATS

/// One entry of the bucket `relay_here`: the presence of one device of a user in one topic.
///
/// The key is `<user>.<device>.<topic>`. The network's imports let users write only below their own names, and read
/// only keys that end in a topic they may read; so the first token authenticates the user, and no one learns who is in
/// a topic without access to it. The value is JSON, `{"state":"here"}` or `{"state":"away","text":…}`, with
/// `"typing":true` while the person types there. Other fields are ignored.
struct PresenceEntry: Hashable, Sendable {
    static let bucket = NetworkNames.presence
    static let stream = NetworkNames.stream(ofBucket: bucket)
    static let maximumBytes = 2_048

    var user: String
    var device: String
    /// Nil if the device has left.
    var presence: Presence?
    var isTyping: Bool

    static func subject(user: String, device: String, topic: String) -> String {
        NetworkNames.key("\(SessionClaim.key(for: user)).\(device).\(topic)", in: bucket)
    }

    static func filter(topic: String) -> String { NetworkNames.key("*.*.\(topic)", in: bucket) }

    init(user: String, device: String, presence: Presence?, isTyping: Bool = false) {
        self.user = user
        self.device = device
        self.presence = presence
        self.isTyping = isTyping
    }

    /// Decodes a stored entry; nil if it is invalid.
    init?(_ entry: KeyValueEntry) {
        let tokens = entry.key.split(separator: ".", maxSplits: 2, omittingEmptySubsequences: false)
        guard tokens.count == 3, tokens[1].utf8.count <= 64, let user = Self.user(ofKey: tokens[0]) else { return nil }
        self.user = user
        device = String(tokens[1])
        isTyping = false
        guard entry.operation == .put else { return }
        guard entry.value.readableBytes <= Self.maximumBytes,
            let value = try? JSONText.parse(bytes: entry.value.readableBytesView),
            let presence = Self.presence(in: value)
        else { return nil }
        self.presence = presence
        isTyping = value["typing"]?.boolValue == true
    }

    /// The stored value of a device's presence.
    static func value(_ presence: Presence, isTyping: Bool = false) -> [UInt8] {
        var map: MessageMap = [:]
        switch presence {
        case .here: map["state"] = "here"
        case .away(let text):
            map["state"] = "away"
            map["text"] = .string(text)
        }
        if isTyping { map["typing"] = true }
        return Array(JSONText.text(.map(map)).utf8)
    }

    private static func presence(in value: MessageValue) -> Presence? {
        switch value["state"]?.stringValue {
        case "here": return .here
        case "away": return .away(shortened(value["text"]?.stringValue ?? ""))
        default: return nil
        }
    }

    /// Cuts another user's text to the permitted length.
    private static func shortened(_ text: String) -> String {
        var text = String(text.prefix(Presence.maximumTextLength))
        while text.utf8.count > Presence.maximumTextBytes { text.unicodeScalars.removeLast() }
        return text
    }

    /// The user of a key: the inverse of ``SessionClaim/key(for:)``.
    static func user(ofKey key: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = key.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        guard (1...64).contains(bytes.count) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
