/// An event of the postbox.
public enum PostboxEvent: Hashable, Sendable {
    /// The state of the subscription.
    case status(PlatformSubscriptionStatus)
    /// A letter was stored in one of the user's postboxes.
    case message(PostboxMessage)
    /// A letter arrived that cannot be read; others follow.
    case unreadable(UnreadableLetter)
    /// Letters that arrived while nothing listened are already gone.
    case gap(lost: UInt64)
}

extension Subscription where Event == PostboxEvent {
    /// Passes events to callbacks one by one, and returns at the end. A status is reported only if it has changed.
    ///
    /// - Parameters:
    ///   - statusChangeHandler: Receives the subscription's status.
    ///   - resultHandler: Receives the letters, and an error for each that cannot be read.
    func callBack(
        statusChangeHandler: (@Sendable (PlatformSubscriptionStatus) -> Void)?,
        resultHandler: @Sendable (Result<PostboxMessage, RelayError>) -> Void
    ) async {
        var last: PlatformSubscriptionStatus?
        func tell(_ status: PlatformSubscriptionStatus) {
            guard status != last else { return }
            last = status
            statusChangeHandler?(status)
        }
        do throws(RelayError) {
            var iterator = makeAsyncIterator()
            while let event = try await iterator.next() {
                switch event {
                case .message(let message): resultHandler(.success(message))
                case .unreadable(let letter):
                    resultHandler(.failure(.invalidMessage("the letter \(letter.id) is not readable")))
                case .status(let status): tell(status)
                case .gap: break
                }
            }
            tell(.disconnected)
        } catch {
            resultHandler(.failure(error))
            tell(.error(error))
        }
    }
}
