/// What the postbox reports.
public enum PostboxEvent: Hashable, Sendable {
    /// The state of the subscription.
    case status(PlatformSubscriptionStatus)
    /// A letter was stored in one of the user's postboxes.
    case message(PostboxMessage)
    /// Letters that came while nobody listened are gone already.
    case gap(lost: UInt64)
}

extension Subscription where Event == PostboxEvent {
    /// Calls back for what comes, one after the other, and returns at the end.
    ///
    /// - Parameters:
    ///   - statusChangeHandler: hears the subscription's status.
    ///   - resultHandler: hears the letters.
    func callBack(
        statusChangeHandler: (@Sendable (PlatformSubscriptionStatus) -> Void)?,
        resultHandler: @Sendable (Result<PostboxMessage, RelayError>) -> Void
    ) async {
        do throws(RelayError) {
            var iterator = makeAsyncIterator()
            while let event = try await iterator.next() {
                switch event {
                case .message(let message): resultHandler(.success(message))
                case .status(let status): statusChangeHandler?(status)
                case .gap: break
                }
            }
            statusChangeHandler?(.disconnected)
        } catch {
            resultHandler(.failure(error))
            statusChangeHandler?(.error(error))
        }
    }
}
