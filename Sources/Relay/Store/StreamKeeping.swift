import NATS

/// What the local store is to have of what a subscription receives: the messages as the server stored them, how far the
/// subscription has come, and where it has left something out.
struct StreamKeeping<Event: Sendable>: Sendable {
    /// Under which name the store knows the subscription.
    let name: String
    /// The store, once it is open; nil where it cannot be opened.
    let opening: Task<LocalStore?, Never>
    /// The message that an event is about, as the server sent it and with what was read of it; nil for one that is not
    /// kept.
    let message: @Sendable (Event, StoredMessage, StreamIdentity) -> KeptMessage?

    /// Notes where a subscription to what is new begins, unless it is known how far an earlier one came: what is stored
    /// from then on is missed if it is not received, and nothing before it is unread.
    func begin(at place: KeptPlace) async {
        guard let store = await opening.value else { return }
        do throws(RelayError) {
            guard try await store.cursor(of: name) == nil else { return }
        } catch { return }
        await store.append([], [.cursor(name, place), .readMark(name, place)])
    }

    /// The stream has lost what it had behind a sequence; another subscription may have said so already. What cannot be
    /// put aside now hides what comes instead.
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
