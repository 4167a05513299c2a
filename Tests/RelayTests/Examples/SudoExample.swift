import Relay
import Synchronization

// The example of the article "The postbox", word for word.

/// Handles each letter once, and deletes it.
final class LetterHandler: Sendable {
    private let client: RelayClient
    private let handle: @Sendable (PostboxMessage) -> Void
    /// If this token is cleaned up or goes out of scope then the subscription ends.
    private let subscriptionToken = Mutex<SubscriptionToken?>(nil)

    init(_ client: RelayClient, handle: @escaping @Sendable (PostboxMessage) -> Void) {
        self.client = client
        self.handle = handle
    }

    /// Handles what is in the postboxes.
    func handleAll() async throws {
        var allMessages: [PostboxMessage] = []
        var messageResult = try await client.listMessages(limit: nil, nextToken: nil)
        allMessages.append(contentsOf: messageResult.items)
        while messageResult.nextToken != nil {
            messageResult = try await client.listMessages(limit: nil, nextToken: messageResult.nextToken)
            allMessages.append(contentsOf: messageResult.items)
        }
        for message in allMessages { handle(message) }
        for start in stride(from: 0, to: allMessages.count, by: BulkDeletion.maximumCount) {
            let part = allMessages[start..<min(start + BulkDeletion.maximumCount, allMessages.count)]
            _ = try await client.bulkDeleteMessage(withMessageIds: part.map(\.id))
        }
    }

    /// Handles what comes from now on.
    func subscribe() async throws {
        let token = try await client.subscribeToMessageCreated(
            statusChangeHandler: { [weak self] status in
                switch status {
                case .initialized, .connecting, .connected: break
                case .disconnected, .error: self?.subscriptionToken.withLock { $0 = nil }
                }
            },
            resultHandler: { [weak self] result in
                guard case .success(let message) = result, let self else { return }
                handle(message)
                Task { try? await self.client.deleteMessage(withMessageId: message.id) }
            })
        subscriptionToken.withLock { $0 = token }
    }

    /// Hears of nothing any more.
    func unsubscribe() async {
        await client.unsubscribeAll()
    }
}
