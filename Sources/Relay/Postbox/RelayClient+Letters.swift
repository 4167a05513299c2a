// New letters as they come, and letters that are deleted, with the calls of Sudo's relay.
extension RelayClient {
    /// New letters from now on, through any outage where ``RelayConfiguration/subscriptions`` does not say otherwise.
    /// What came while there was no connection comes before the status is `connected` again.
    ///
    /// - Parameter onScreenOnly: whether the subscription is for a view, and is let go while that is off the screen:
    ///   ``Subscription/setOnScreen(_:)`` tells it. It begins on the screen.
    public func postboxMessages(onScreenOnly: Bool = false) throws(RelayError) -> PostboxEvents {
        let user = try postboxOwner()
        let opening = keepsMessages ? openingStore() : nil
        let words = Letters.words(for: user, configuration.subscriptions) { [weak self] letters in
            let letters = await self?.withPersonas(letters) ?? letters
            // Letters are few, and what finds no room in the store comes with the next list: nobody waits for it.
            await opening?.value?.offer(letters.map { .letter(KeptLetter($0)) })
            return letters
        }
        let stream = StreamSubscription<PostboxEvent>("the postbox", from: .new, words) { _, jetStream in
            Letters.source(of: user, jetStream)
        }
        return follow(stream, onScreenOnly: onScreenOnly).events
    }

    /// Calls back for every new letter in any of the user's postboxes, as Sudo's relay does.
    ///
    /// - Parameters:
    ///   - statusChangeHandler: hears the subscription's status, `initialized` first.
    ///   - resultHandler: hears the letters, one after the other, and `invalidMessage` for each that cannot be read.
    /// - Returns: keep it: the subscription ends with the last reference, or with `cancel()`.
    public func subscribeToMessageCreated(
        statusChangeHandler: (@Sendable (PlatformSubscriptionStatus) -> Void)? = nil,
        resultHandler: @escaping @Sendable (Result<PostboxMessage, RelayError>) -> Void
    ) throws(RelayError) -> SubscriptionToken {
        let events = try postboxMessages()
        statusChangeHandler?(.initialized)
        statusChangeHandler?(.connecting)
        let task = Task {
            await events.callBack(statusChangeHandler: statusChangeHandler, resultHandler: resultHandler)
        }
        let token = SubscriptionToken { task.cancel() }
        subscriptions.listeners.keep(token)
        return token
    }

    /// Ends every subscription made by ``subscribeToMessageCreated(statusChangeHandler:resultHandler:)``.
    public func unsubscribeAll() { subscriptions.listeners.cancelTokens() }

    // MARK: Deleting

    /// Deletes a letter.
    ///
    /// - Returns: its identifier.
    /// - Throws: ``RelayError/notFound(_:)`` when it is gone already; ``RelayError/timeout(_:)`` or
    ///   ``RelayError/connection(_:)`` when the server's answer did not come, and it may be gone.
    @discardableResult
    public func deleteMessage(withMessageId id: String) async throws(RelayError) -> String {
        let deletion = try await deleteMessages(withMessageIds: [id])
        if let failure = deletion.notDeleted.first { throw failure.error }
        return id
    }

    /// Deletes up to 25 letters, as Sudo's relay does.
    ///
    /// - Returns: the identifiers, in the order passed; every letter is gone.
    /// - Throws: a ``BulkDeletion`` unless all were deleted. It says which are gone, which remain, and why; none is
    ///   deleted if there are more than 25, or without a connection.
    @discardableResult
    public func bulkDeleteMessage(withMessageIds ids: [String]) async throws(BulkDeletion) -> [String] {
        let deletion: BulkDeletion
        do throws(RelayError) {
            guard ids.count <= BulkDeletion.maximumCount else {
                throw .invalidArgument("At most \(BulkDeletion.maximumCount) letters are deleted with one call")
            }
            deletion = try await deleteMessages(withMessageIds: ids)
        } catch { throw BulkDeletion(none: ids, error) }
        guard deletion.notDeleted.isEmpty else { throw deletion }
        return deletion.deleted
    }

    /// Deletes any number of letters, many at a time. Where the task is cancelled or the connection lost, what has not
    /// been sent yet is not deleted, and what has been is waited for.
    ///
    /// - Parameters:
    ///   - ids: their identifiers.
    ///   - progress: hears how many of them have come to their end, one after the other.
    /// - Returns: which were deleted, which not and of which it is not known, each with its reason.
    /// - Throws: ``RelayError/notConnected``, or what keeps the server from deleting any.
    public nonisolated func deleteMessages(
        withMessageIds ids: [String], progress: (@Sendable (_ ended: Int) -> Void)? = nil
    ) async throws(RelayError) -> BulkDeletion {
        let (letters, incarnation): (Letters, UInt64)
        do throws(RelayError) {
            (letters, incarnation) = try await inLetters { letters throws(RelayError) in
                (letters, try await letters.incarnation(during: "deleting letters"))
            }
        } catch {
            guard error == .cancelled else { throw error }
            return BulkDeletion(none: ids, error)
        }
        let answers = await withTaskGroup(of: (Int, Result<Void, RelayError>).self) { group in
            var answers: [Result<Void, RelayError>?] = Array(repeating: nil, count: ids.count)
            var (begun, ended) = (0, 0)
            while true {
                while begun < ids.count, begun - ended < BulkDeletion.window, !Task.isCancelled,
                    letters.jetStream.connection.isOpen
                {
                    let index = begun
                    // A task of its own, which no cancellation reaches: nobody would know what became of the letter.
                    group.addTask { await Task { (index, await letters.delete(ids[index], of: incarnation)) }.value }
                    begun += 1
                }
                guard let (index, answer) = await group.next() else { return answers }
                answers[index] = answer
                ended += 1
                progress?(ended)
            }
        }
        let reason: RelayError = Task.isCancelled ? .cancelled : .notConnected
        let deletion = BulkDeletion(of: ids, answers: answers, unasked: reason)
        // What the network does not have any more goes here too.
        await keptStore()?.forgetLetters(deletion.gone)
        return deletion
    }
}
