// The postbox, with the calls of Sudo's relay.
extension RelayClient {
    /// The most letters a page may hold.
    public static let maximumPage = LetterPage.maximumLimit

    /// Lists letters of all the user's postboxes, oldest first.
    ///
    /// - Parameters:
    ///   - limit: most letters, 1 to 100; nil for one. Letters of many MiB end a page before.
    ///   - nextToken: where an earlier page ended; nil for the beginning.
    /// - Returns: the letters, and the next page's token when there are more.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the limit, ``RelayError/invalidToken``,
    ///   ``RelayError/notConnected``, or the server's refusal.
    public func listMessages(
        limit: Int? = nil, nextToken: String? = nil
    ) async throws(RelayError) -> ListOutput<PostboxMessage> {
        try await listMessages(limit: limit, nextToken: nextToken, postbox: nil)
    }

    /// Lists letters of one postbox, or of all, in either order.
    ///
    /// - Parameters:
    ///   - limit: most letters, 1 to 100; nil for one. Letters of many MiB end a page before.
    ///   - nextToken: where an earlier page of the same order ended; nil for the list's beginning. Letters that come or go
    ///     between two pages have none of the others skipped or repeated; in a list that begins with the newest, those that
    ///     come are on no later page.
    ///   - postbox: only this one's letters; nil for all.
    ///   - order: which comes first.
    /// - Returns: the letters, and the next page's token when there are more.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the limit and the postbox's name, ``RelayError/invalidToken``,
    ///   which a token of the other order is too, ``RelayError/notConnected``, or the server's refusal.
    public func listMessages(
        limit: Int? = nil, nextToken: String? = nil, postbox: String?, order: LetterOrder = .oldestFirst
    ) async throws(RelayError) -> ListOutput<PostboxMessage> {
        let wanted = try LetterPage(limit: limit, nextToken: nextToken, postbox: postbox, order: order)
        var (page, incarnation, part) = try await inLetters { letters throws(RelayError) in
            try await letters.list(wanted)
        }
        page.items = await withPersonas(page.items)
        await keep(
            .lettersListed(
                KeptLetterPage(
                    letters: page.items.map { KeptLetter($0) }, incarnation: incarnation, start: part.lowerBound,
                    end: part.upperBound, postbox: postbox, moment: .now)))
        return page
    }

    /// Letters that this machine keeps, connected or not: those that lists and subscriptions have brought.
    /// Waits for the opening of the local store and for nothing else.
    ///
    /// - Parameters:
    ///   - limit: most letters, 1 to 100; nil for one.
    ///   - nextToken: where an earlier page of the same order ended, this call's or
    ///     ``listMessages(limit:nextToken:postbox:order:)``'s; nil for the list's beginning.
    ///   - postbox: only this one's letters; nil for all.
    ///   - order: which comes first.
    /// - Returns: the page, and as of when it is; nil where the configuration's store is no file, or could not be opened.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidToken``, ``RelayError/storage(_:)``.
    public func keptLetters(
        limit: Int? = nil, nextToken: String? = nil, postbox: String? = nil, order: LetterOrder = .oldestFirst
    ) async throws(RelayError) -> KeptLetters? {
        guard let store = await keptStore() else { return nil }
        return try await store.letterPage(
            limit: limit ?? 1, nextToken: nextToken, postbox: postbox, owner: user ?? "", order: order)
    }

    /// Has the local store keep something within a moment, where there is one.
    private func keep(_ changes: StoreChange...) async {
        guard !changes.isEmpty, let store = await keptStore() else { return }
        await store.append([], changes)
    }

    /// Reads one letter.
    ///
    /// - Parameter id: a ``PostboxMessage``'s, of this user's.
    /// - Throws: ``RelayError/notFound(_:)`` when it is gone, or is no letter of this user's;
    ///   ``RelayError/notConnected``, or the server's refusal.
    public func postboxMessage(withMessageId id: String) async throws(RelayError) -> PostboxMessage {
        let letter = try await letters().letter(id)
        return await withPersonas([letter]).first ?? letter
    }

    /// How many letters each postbox holds, by its identifier.
    public func countMessages() async throws(RelayError) -> [String: Int] {
        try await inLetters { letters throws(RelayError) in try await letters.counts() }
    }

    /// Deletes a letter.
    ///
    /// - Returns: its identifier.
    /// - Throws: ``RelayError/notFound(_:)`` when it is gone already.
    @discardableResult
    public func deleteMessage(withMessageId id: String) async throws(RelayError) -> String {
        let deletion = try await bulkDeleteMessage(withMessageIds: [id])
        if let failure = deletion.failed.first { throw failure.error }
        return id
    }

    /// Deletes up to 25 letters.
    ///
    /// - Returns: which were deleted and which not, each with its reason.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for more than 25, ``RelayError/notConnected``.
    @discardableResult
    public func bulkDeleteMessage(withMessageIds ids: [String]) async throws(RelayError) -> BulkDeletion {
        guard ids.count <= BulkDeletion.maximumCount else {
            throw .invalidArgument("At most \(BulkDeletion.maximumCount) letters are deleted with one call")
        }
        let deletion = try await letters().delete(ids)
        // What the network does not have any more goes here too.
        let missing = deletion.failed.filter { $0.error == .notFound($0.id) }.map(\.id)
        if let store = await keptStore() {
            await store.append([], (deletion.deleted + missing).map { .letterDeleted(.received, id: $0) })
        }
        return deletion
    }

    // MARK: Subscribing

    /// New letters from now on, through any outage.
    public func postboxMessages() throws(RelayError) -> PostboxEvents {
        guard let user else { throw .notInitialized }
        let intake = keepsMessages ? LetterIntake(openingStore()) : nil
        let words = Letters.words(for: user) { [weak self] letters in
            let letters = await self?.withPersonas(letters) ?? letters
            for letter in letters { intake?.take(.letter(KeptLetter(letter))) }
            return letters
        }
        let stream = StreamSubscription<PostboxEvent>(from: .new, words)
        return follow(stream, as: "the postbox") { _, jetStream in
            Letters(owner: user, jetStream: jetStream).source
        }.events
    }

    /// Calls back for every new letter in any of the user's postboxes, as Sudo's relay does.
    ///
    /// - Parameters:
    ///   - statusChangeHandler: hears the subscription's status, `initialized` first.
    ///   - resultHandler: hears the letters, one after the other.
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
        listeners.keep(token)
        return token
    }

    /// Ends every subscription made by ``subscribeToMessageCreated(statusChangeHandler:resultHandler:)``.
    public func unsubscribeAll() {
        listeners.cancelTokens()
    }

    // MARK: The user's own postboxes

    /// The user's postboxes. A user's first call has the network set up one named `personal`.
    ///
    /// - Parameter sudoId: only those of this persona (Sudo); nil for all.
    public func postboxes(sudoId: String? = nil) async throws(RelayError) -> [Postbox] {
        try await postboxRegister().postboxes(of: sudoId)
    }

    /// Makes a postbox and enables it.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, `_` and `-`; no other postbox of the user has it.
    ///   - sudoId: the persona (Sudo) that it belongs to, 1 to 128 bytes; nil for the user's first one.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for either, ``RelayError/notConnected``, or the network's refusal.
    public func createPostbox(_ name: String, sudoId: String? = nil) async throws(RelayError) -> Postbox {
        let made = try await postboxRegister().create(name, for: sudoId)
        link?.personas.forget(made.id)
        return made
    }

    /// Enables a postbox, or disables it: a disabled one takes no letters and keeps those it has.
    ///
    /// - Parameters:
    ///   - name: the postbox.
    ///   - isEnabled: whether it takes letters.
    ///   - sudoId: the persona (Sudo) that it has to belong to; nil for any of the user's.
    /// - Throws: ``RelayError/notFound(_:)`` where that persona has no such postbox.
    public func updatePostbox(
        _ name: String, isEnabled: Bool, sudoId: String? = nil
    ) async throws(RelayError) -> Postbox {
        try await postboxRegister().update(name, isEnabled: isEnabled, of: sudoId)
    }

    /// Deletes a postbox with its letters.
    ///
    /// - Parameters:
    ///   - name: the postbox.
    ///   - sudoId: the persona (Sudo) that it has to belong to; nil for any of the user's.
    /// - Throws: ``RelayError/notFound(_:)`` where that persona has no such postbox.
    public func deletePostbox(_ name: String, sudoId: String? = nil) async throws(RelayError) -> Postbox {
        try await postboxRegister().delete(name, of: sudoId)
    }

    // MARK: Steps

    /// Letters with the personas to which their postboxes belong. Where the network does not say, they are the owner's.
    private func withPersonas(_ letters: [PostboxMessage]) async -> [PostboxMessage] {
        guard let link, let owner = user, let register = try? postboxRegister(timeLimit: .seconds(2)) else {
            return letters
        }
        let unknown = link.personas.unknownPostboxes(of: letters)
        if !unknown.isEmpty {
            do throws(RelayError) {
                link.personas.take(try await register.postboxes(of: nil), asked: unknown, owner: owner)
            } catch {
                // A network without the service has no personas. One that is slow is asked again for the next letter.
                if case .server = error { link.personas.take([], asked: unknown, owner: owner) }
            }
        }
        return link.personas.assigned(to: letters)
    }

    /// Reads the letters. A new user has none yet, until the network is asked for the postboxes.
    private func inLetters<Value: Sendable>(
        _ read: @Sendable (Letters) async throws(RelayError) -> Value
    ) async throws(RelayError) -> Value {
        do throws(RelayError) {
            return try await read(letters())
        } catch {
            guard case .notFound = error, (try? await postboxes()) != nil else { throw error }
        }
        return try await read(letters())
    }

    private func letters() throws(RelayError) -> Letters {
        let owner = try postboxOwner()
        guard let jetStream = link?.jetStream else { throw .notConnected }
        return Letters(owner: owner, jetStream: jetStream)
    }

    private func postboxRegister(timeLimit: Duration = .seconds(10)) throws(RelayError) -> PostboxRegister {
        let owner = try postboxOwner()
        guard let connection = link?.connection else { throw .notConnected }
        return PostboxRegister(owner: owner, connection: connection, timeLimit: timeLimit)
    }

    private func postboxOwner() throws(RelayError) -> String {
        guard let user, user.isSubjectToken else {
            throw .invalidArgument("The user is not known; sign in with credentials that name one")
        }
        return user
    }
}
