/// What the postbox reports.
public enum PostboxEvent: Hashable, Sendable {
    /// The state of the subscription.
    case status(PlatformSubscriptionStatus)
    /// A letter was stored in one of the user's postboxes.
    case message(PostboxMessage)
    /// A letter came that cannot be read; the others go on.
    case unreadable(UnreadableLetter)
    /// Letters that came while nobody listened are gone already.
    case gap(lost: UInt64)
}

extension Subscription where Event == PostboxEvent {
    /// Calls back for what comes, one after the other, and returns at the end. A status is told when it is another one.
    ///
    /// - Parameters:
    ///   - statusChangeHandler: hears the subscription's status.
    ///   - resultHandler: hears the letters, and of each that cannot be read.
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
