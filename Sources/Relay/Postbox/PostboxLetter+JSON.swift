import Platform

extension Timestamp {
    /// This machine's clock.
    static var now: Timestamp { Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)) }
}

extension PostboxLetter {
    /// The bytes to publish.
    func encoded() -> [UInt8] {
        // Plain text and numbers always encode; the fallback keeps the text should that ever change.
        (try? JSONEncoder().encode(self)).map(Array.init) ?? Array(message.utf8)
    }

    /// Reads what anybody may have published: a letter, or a text as it is; nil for bytes that are neither.
    init?(reading payload: [UInt8]) {
        if let letter = try? JSONDecoder().decode(PostboxLetter.self, from: Data(payload)) {
            self = letter
        } else if let text = String(validating: payload, as: UTF8.self) {
            self.init(id: "", createdAt: 0, message: text)
        } else {
            return nil
        }
    }
}
