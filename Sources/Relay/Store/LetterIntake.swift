import NIOConcurrencyHelpers

/// Hands the letters of a subscription to the local store, without waiting for it: letters are few, and what finds no
/// room comes with the next list.
final class LetterIntake: Sendable {
    private let opening: Task<LocalStore?, Never>
    private let store = NIOLockedValueBox<LocalStore?>(nil)

    init(_ opening: Task<LocalStore?, Never>) {
        self.opening = opening
        Task { [store] in
            let opened = await opening.value
            store.withLockedValue { $0 = opened }
        }
    }

    /// Takes a letter in. The store is open by then, since every dial waits for it.
    func take(_ change: StoreChange) {
        if let store = store.withLockedValue({ $0 }) { return store.offer([change]) }
        Task { [opening] in await opening.value?.offer([change]) }
    }
}
