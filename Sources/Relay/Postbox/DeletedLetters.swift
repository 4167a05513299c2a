import NIOConcurrencyHelpers

/// Letters that were deleted over one connection. A replica that lags behind lists them for a moment more, and no caller is
/// to have them again. They are forgotten with the connection: what a server has after a crash is there, and is listed.
final class DeletedLetters: Sendable {
    private let ids = NIOLockedValueBox(RecentSet<String>(capacity: 16_384))

    /// Takes in that these are gone.
    func insert(_ gone: [String]) {
        ids.withLockedValue { ids in
            for id in gone { _ = ids.insert(id) }
        }
    }

    /// A page without those that are gone.
    func absent(from page: ListOutput<PostboxMessage>) -> ListOutput<PostboxMessage> {
        ids.withLockedValue { ids in
            guard !ids.isEmpty else { return page }
            var page = page
            page.items.removeAll { ids.contains($0.id) }
            page.unreadable.removeAll { ids.contains($0.id) }
            return page
        }
    }
}
