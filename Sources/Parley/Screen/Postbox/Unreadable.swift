import Relay

// Letters that cannot be read are shown as such: they count, and can be deleted.
extension PostboxMessage {
    /// Stands for a letter that cannot be read; its postbox's persona is not known with it.
    init(_ letter: UnreadableLetter) {
        self.init(
            id: letter.id, createdAt: letter.createdAt, updatedAt: letter.createdAt, ownerId: Self.nobody, sudoId: "",
            postboxId: letter.postboxId, message: "(a letter of \(letter.bytes) bytes that cannot be read)",
            from: letter.from)
    }

    /// Whether this stands for a letter that cannot be read, so that its text is not the letter's.
    var isUnreadable: Bool { ownerId == Self.nobody }

    /// Not a user's name: none contains a blank.
    private static var nobody: String { " " }
}

extension ListOutput where Item == PostboxMessage {
    /// The page with the letters that cannot be read in their places.
    func withUnreadable(_ order: LetterOrder) -> ListOutput<PostboxMessage> {
        guard !unreadable.isEmpty else { return self }
        let letters = (items + unreadable.map { PostboxMessage($0) }).map { letter in
            (place: PostboxMessageID(letter.id)?.sequence ?? 0, letter: letter)
        }
        let sorted = letters.sorted { order == .oldestFirst ? $0.place < $1.place : $0.place > $1.place }
        return ListOutput(items: sorted.map(\.letter), nextToken: nextToken)
    }
}

extension TopicMessage {
    init(unreadable bytes: Int, topic: String, sequence: UInt64, time: Timestamp) {
        self.init(
            id: "unreadable-\(sequence)", topic: topic, sequence: sequence, from: nil,
            text: "(a message of \(bytes) bytes that cannot be read)", message: .null, time: time, sentAt: time)
    }
}

extension TopicEvent {
    /// The message shown for it, with the present time if it has none; nil if it brings no message.
    func shown(at now: Timestamp) -> TopicMessage? {
        switch self {
        case .message(let message): message
        case .unreadable(let sequence, let topic, let bytes):
            TopicMessage(unreadable: bytes, topic: topic, sequence: sequence, time: now)
        case .gap, .live, .restarted, .interrupted: nil
        }
    }
}
