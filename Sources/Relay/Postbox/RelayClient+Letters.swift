// Subscribing to new letters and deleting letters, with the calls of Sudo's relay.
extension RelayClient {
    /// New letters from now on, through any outage unless ``RelayConfiguration/subscriptions`` says otherwise. Letters
    /// missed during an outage arrive before the status is `connected` again.
    ///
    /// - Parameter onScreenOnly: Whether the subscription is for a view and ends while that is off the screen
    ///   (``Subscription/setOnScreen(_:)``). It starts on the screen.
    public func postboxMessages(onScreenOnly: Bool = false) throws(RelayError) -> PostboxEvents {
        let user = try postboxOwner()
        let opening = keepsMessages ? openingStore() : nil
        let words = Letters.words(for: user, configuration.subscriptions) { [weak self] letters in
            let letters = await self?.withPersonas(letters) ?? letters
            // Letters are few, and any without room in the store come with the next list, so nothing waits for it.
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
    ///   - statusChangeHandler: Receives the subscription's status, `initialized` first.
    ///   - resultHandler: Receives the letters one by one, and `invalidMessage` for each that cannot be read.
    /// - Returns: A token to retain: the subscription ends with the last reference, or with `cancel()`.
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
    /// - Returns: Its identifier.
    /// - Throws: ``RelayError/notFound(_:)`` if it is gone already; ``RelayError/timeout(_:)`` or
    ///   ``RelayError/connection(_:)`` if the server's answer is missing, so that the letter may be gone.
    @discardableResult
    public func deleteMessage(withMessageId id: String) async throws(RelayError) -> String {
        let deletion = try await deleteMessages(withMessageIds: [id])
        if let failure = deletion.notDeleted.first { throw failure.error }
        return id
    }

    /// Deletes up to 25 letters, as Sudo's relay does.
    ///
    /// - Returns: The identifiers, in the order passed; every letter is gone.
    /// - Throws: A ``BulkDeletion`` unless all were deleted. It says which are gone, which remain, and why; none is
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

    /// Deletes any number of letters, many at a time. If the task is cancelled or the connection lost, no further
    /// deletions are sent, and those in flight are awaited.
    ///
    /// - Parameters:
    ///   - ids: Their identifiers.
    ///   - progress: Receives the number of completed deletions after each.
    /// - Returns: The deleted letters, and the others or unknown ones, each with its reason.
    /// - Throws: ``RelayError/notConnected``, or the reason why the server cannot delete any.
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
                    // A separate task, out of reach of a cancellation that would leave the letter's fate unknown.
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
        // Letters that the network no longer has are removed here too.
        await keptStore()?.forgetLetters(deletion.gone)
        return deletion
    }
}
