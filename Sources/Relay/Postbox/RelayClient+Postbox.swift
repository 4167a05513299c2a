import NATS
import NIOCore

/// What the postbox reports.
public enum PostboxEvent: Hashable, Sendable {
    /// The state of the subscription.
    case status(PlatformSubscriptionStatus)
    /// A letter was stored in one of the user's postboxes.
    case message(PostboxMessage)
    /// Letters that came while nobody listened are gone already.
    case gap(lost: UInt64)
}

// The postbox, with the calls of Sudo's relay.
extension RelayClient {
    /// The most letters a page may hold.
    public static let maximumPage = 100

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

    /// Lists letters of one postbox, or of all; see ``listMessages(limit:nextToken:)``.
    public func listMessages(
        limit: Int? = nil, nextToken: String? = nil, postbox: String?
    ) async throws(RelayError) -> ListOutput<PostboxMessage> {
        let limit = limit ?? 1
        guard (1...Self.maximumPage).contains(limit) else {
            throw .invalidArgument("The limit is from 1 to \(Self.maximumPage)")
        }
        if let postbox, !Self.isToken(postbox) { throw .invalidArgument("The postbox's name is not one") }
        let token = try nextToken.map { text throws(RelayError) in try PageToken(text) }
        let (jetStream, user) = try postboxContext()
        do throws(NATSError) {
            let info = try await jetStream.streamInfo("PB_" + user)
            let incarnation = UInt64(clamping: info.created.nanoseconds)
            if let token, token.incarnation != incarnation { return try Self.wrongToken() }
            let found = try await Self.letters(
                in: "PB_" + user, of: postbox, from: token?.sequence ?? 1, limit: limit, jetStream)
            return ListOutput(
                items: found.letters.map { Self.letter($0, incarnation: incarnation, owner: user) },
                nextToken: found.next.map { PageToken(incarnation: incarnation, sequence: $0).text })
        } catch {
            if error == Self.foreignToken { throw .invalidToken }
            throw Self.postboxError(error, during: "listing the letters")
        }
    }

    private static let foreignToken = NATSError.invalidArgument("a token of another postbox")

    private static func wrongToken() throws(NATSError) -> ListOutput<PostboxMessage> { throw foreignToken }

    /// Letters from a place on, and the place of the next one. One postbox's are picked here and not by the server: a
    /// disabled postbox has no subject of its own there any more, and its letters are still to be read.
    private static func letters(
        in stream: String, of postbox: String?, from sequence: UInt64, limit: Int, _ jetStream: JetStream
    ) async throws(NATSError) -> (letters: [StoredMessage], next: UInt64?) {
        var found: [StoredMessage] = []
        var bytes = 0
        var start = sequence
        while true {
            // One more than wanted tells where the next page begins.
            let wanted = postbox == nil ? limit + 1 - found.count : 256
            let page = try await jetStream.page(
                of: stream, from: .sequence(start), limit: wanted, bytes: max(1, pageBytes - bytes))
            for message in page.messages where postbox == nil || PostboxAddress(message.subject)?.postbox == postbox {
                bytes += message.size
                guard found.count < limit, found.isEmpty || bytes <= pageBytes else { return (found, message.sequence) }
                found.append(message)
            }
            guard page.pending > 0, let last = page.messages.last else { return (found, nil) }
            start = last.sequence + 1
        }
    }

    /// Letters of more bytes than these stand on several pages, however few they are.
    private static let pageBytes = 64 << 20

    /// How many letters each postbox holds, by its identifier.
    public func countMessages() async throws(RelayError) -> [String: Int] {
        let (jetStream, user) = try postboxContext()
        do throws(NATSError) {
            let info = try await jetStream.streamInfo("PB_" + user, subjectsFilter: ">")
            var counts: [String: Int] = [:]
            for (subject, count) in info.state.subjects ?? [:] {
                counts[PostboxAddress(subject)?.postbox ?? subject, default: 0] += Int(clamping: count)
            }
            return counts
        } catch { throw Self.postboxError(error, during: "counting the letters") }
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
        let (jetStream, user) = try postboxContext()
        guard !ids.isEmpty else { return BulkDeletion() }
        let stream = "PB_" + user
        let incarnation: UInt64
        do throws(NATSError) {
            incarnation = UInt64(clamping: try await jetStream.streamInfo(stream).created.nanoseconds)
        } catch { throw Self.postboxError(error, during: "deleting letters") }
        let results = await withTaskGroup(of: (Int, RelayError?).self) { group in
            for (index, id) in ids.enumerated() {
                group.addTask { (index, await Self.delete(id, in: stream, incarnation, jetStream)) }
            }
            return await group.reduce(into: [Int: RelayError?]()) { $0[$1.0] = $1.1 }
        }
        var deletion = BulkDeletion()
        for (index, id) in ids.enumerated() {
            if let error = results[index] ?? nil {
                deletion.failed.append(.init(id: id, error: error))
            } else {
                deletion.deleted.append(id)
            }
        }
        return deletion
    }

    private static func delete(
        _ id: String, in stream: String, _ incarnation: UInt64, _ jetStream: JetStream
    ) async -> RelayError? {
        guard let place = PostboxMessageID(id), place.incarnation == incarnation else { return .notFound(id) }
        do throws(NATSError) {
            try await jetStream.deleteMessage(in: stream, sequence: place.sequence)
            return nil
        } catch .jetStream(let failure)
            where failure.meansMissingMessage
        {
            return .notFound(id)
        } catch {
            return postboxError(error, during: "deleting a letter")
        }
    }

    // MARK: Subscribing

    /// New letters from now on, through any outage.
    public func postboxMessages() throws(RelayError) -> PostboxEvents {
        guard let user else { throw .notInitialized }
        let stream = StreamSubscription(
            from: .new,
            SubscriptionWords<PostboxEvent>(
                message: { message, incarnation, _ in
                    (.message(Self.letter(message, incarnation: incarnation, owner: user)), nil)
                },
                live: .status(.connected), lost: { .gap(lost: $0) }, restarted: nil,
                interrupted: { error, passes in .status(passes ? .connecting : .error(error)) }))
        return follow(stream, as: "the postbox") { _, jetStream in
            StreamSource(name: "PB_" + user, filter: nil, jetStream: jetStream)
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
            do throws(RelayError) {
                var iterator = events.makeAsyncIterator()
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
        let token = SubscriptionToken { task.cancel() }
        listeners.keep(token)
        return token
    }

    /// Ends every subscription made by ``subscribeToMessageCreated(statusChangeHandler:resultHandler:)``.
    public func unsubscribeAll() {
        listeners.cancelTokens()
    }

    // MARK: Steps

    private func postboxContext() throws(RelayError) -> (JetStream, String) {
        guard let user, Self.isToken(user) else {
            throw .invalidArgument("The user is not known; sign in with credentials that name one")
        }
        guard let jetStream = link?.jetStream else { throw .notConnected }
        return (jetStream, user)
    }

    static func postboxError(_ error: NATSError, during operation: String) -> RelayError {
        if case .jetStream(let failure) = error, failure.errorCode == JetStreamFailure.streamNotFound {
            return .notFound("The postbox")
        }
        return RelayError(error, during: operation)
    }

    static func letter(_ message: StoredMessage, incarnation: UInt64, owner: String) -> PostboxMessage {
        let letter = PostboxLetter(reading: Array(message.payload.readableBytesView))
        let stored = Timestamp(milliseconds: message.time.milliseconds)
        let address = PostboxAddress(message.subject)
        return PostboxMessage(
            id: PostboxMessageID(incarnation: incarnation, sequence: message.sequence).text, createdAt: stored,
            updatedAt: stored, ownerId: owner, sudoId: letter.sudoId ?? owner, postboxId: address?.postbox ?? "",
            message: letter.message, from: address?.sender)
    }
}
