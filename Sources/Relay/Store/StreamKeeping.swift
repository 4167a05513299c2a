import NATS

/// How the local store records a subscription: the messages as the server stored them, how far the subscription has
/// come, and what it skipped.
struct StreamKeeping<Event: Sendable>: Sendable {
    /// The store's name for the subscription.
    let name: String
    /// The store once it is open; nil if it cannot be opened.
    let opening: Task<LocalStore?, Never>
    /// The message of an event, as the server sent it and with its decoded content; nil for an event that is not
    /// stored.
    let message: @Sendable (Event, StoredMessage, StreamIdentity) -> KeptMessage?

    /// Records where a subscription to new messages starts, unless an earlier position is known: later messages are
    /// missed if they are not received, and earlier ones are not unread.
    func begin(at place: KeptPlace) async {
        guard let store = await opening.value else { return }
        do throws(RelayError) {
            guard try await store.cursor(of: name) == nil else { return }
        } catch { return }
        await store.append([], [.cursor(name, place), .readMark(name, place)])
    }

    /// The stream has lost everything after a sequence; another subscription may have reported that already. If the
    /// messages cannot be moved aside now, they hide new ones.
    func rewind(_ stream: StreamIdentity, through sequence: UInt64) async {
        guard let store = await opening.value else { return }
        do throws(RelayError) {
            try await store.flush()
            try await store.commit([.rewound(stream, through: sequence, foundBy: name)])
        } catch {
            store.tellFailing(error)
        }
    }
}
