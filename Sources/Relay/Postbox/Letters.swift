import NATS

/// The letters in all of a user's postboxes, read and deleted over one connection.
struct Letters: Sendable {
    /// Whose postboxes they are.
    let owner: String
    let jetStream: JetStream

    /// All of them are in one stream.
    private var stream: String { "PB_" + owner }

    /// Where a subscription reads them.
    var source: StreamSource { StreamSource(name: stream, filter: nil, jetStream: jetStream) }

    /// What a subscription to a user's letters tells.
    ///
    /// - Parameter completed: adds to letters what they do not say themselves, before the reader has them.
    static func words(
        for owner: String, completed: @escaping @Sendable ([PostboxMessage]) async -> [PostboxMessage]
    ) -> SubscriptionWords<PostboxEvent> {
        SubscriptionWords<PostboxEvent>(
            message: { message, incarnation, _ in
                (.message(PostboxMessage(reading: message, incarnation: incarnation, owner: owner)), nil)
            },
            live: .status(.connected), lost: { .gap(lost: $0) }, restarted: nil,
            interrupted: { error, passes in .status(passes ? .connecting : .error(error)) },
            completed: { events in
                let letters = events.compactMap { if case .message(let letter) = $0 { letter } else { nil } }
                return await completed(letters).map { .message($0) }
            })
    }

    // MARK: Reading

    /// Reads a page of them.
    ///
    /// - Parameter wanted: the page, with no letters in it yet.
    /// - Returns: the page, and the part of the stream that it is about.
    /// - Throws: ``RelayError/invalidToken`` for a token of a stream that is there no more, or the server's refusal.
    func list(
        _ wanted: LetterPage
    ) async throws(RelayError) -> (page: ListOutput<PostboxMessage>, incarnation: UInt64, part: Range<UInt64>) {
        let operation = "listing the letters"
        let info = try await info(during: operation)
        let incarnation = UInt64(clamping: info.created.nanoseconds)
        if let token = wanted.token, token.incarnation != incarnation { throw .invalidToken }
        let page: LetterPage
        do throws(NATSError) {
            page = try await filled(wanted)
        } catch { throw Self.explained(error, during: operation) }
        let start = page.token?.sequence ?? 1
        let part = start..<max(start, page.end(last: info.state.lastSequence))
        return (page.output(incarnation: incarnation, owner: owner), incarnation, part)
    }

    /// Reads one of them.
    ///
    /// - Throws: ``RelayError/notFound(_:)`` for one that is not there.
    func letter(_ id: String) async throws(RelayError) -> PostboxMessage {
        let operation = "reading a letter"
        let incarnation = try await incarnation(during: operation)
        guard let place = PostboxMessageID(id), place.incarnation == incarnation else { throw .notFound(id) }
        do throws(NATSError) {
            let message = try await jetStream.message(in: stream, sequence: place.sequence)
            return PostboxMessage(reading: message, incarnation: incarnation, owner: owner)
        } catch .jetStream(let failure) where failure.meansMissingMessage {
            throw .notFound(id)
        } catch {
            throw Self.explained(error, during: operation)
        }
    }

    private func filled(_ wanted: LetterPage) async throws(NATSError) -> LetterPage {
        var page = wanted
        var start = page.token?.sequence ?? 1
        while true {
            let part = try await jetStream.page(
                of: stream, from: .sequence(start), limit: page.missingMessages, bytes: page.missingBytes)
            for message in part.messages {
                guard page.take(message) else { return page }
            }
            guard part.pending > 0, let last = part.messages.last else { return page }
            start = last.sequence + 1
        }
    }

    /// How many there are in each postbox, by its identifier.
    func counts() async throws(RelayError) -> [String: Int] {
        let info: StreamInfo
        do throws(NATSError) {
            info = try await jetStream.streamInfo(stream, subjectsFilter: ">")
        } catch { throw Self.explained(error, during: "counting the letters") }
        return Self.counts(bySubject: info.state.subjects ?? [:])
    }

    /// How many letters each postbox has, where the stream has so many of each subject: one for every sender.
    static func counts(bySubject subjects: [String: UInt64]) -> [String: Int] {
        var counts: [String: Int] = [:]
        for (subject, count) in subjects {
            counts[PostboxAddress(subject)?.postbox ?? subject, default: 0] += Int(clamping: count)
        }
        return counts
    }

    // MARK: Deleting

    /// Deletes letters, all at once.
    ///
    /// - Parameter ids: their identifiers, as callers hold them.
    /// - Returns: which were deleted and which not.
    /// - Throws: what keeps the server from deleting any.
    func delete(_ ids: [String]) async throws(RelayError) -> BulkDeletion {
        guard !ids.isEmpty else { return BulkDeletion() }
        let incarnation = try await incarnation(during: "deleting letters")
        let failures = await withTaskGroup(of: (Int, RelayError?).self, returning: [Int: RelayError].self) { group in
            for (index, id) in ids.enumerated() {
                group.addTask { (index, await delete(id, of: incarnation)) }
            }
            var found: [Int: RelayError] = [:]
            for await (index, failure) in group { found[index] = failure }
            return found
        }
        return BulkDeletion(of: ids, failures: failures)
    }

    /// Deletes a letter.
    ///
    /// - Returns: why it was not deleted; nil when it was.
    private func delete(_ id: String, of incarnation: UInt64) async -> RelayError? {
        // A letter of an earlier stream had its place there; in this one the place is another letter's.
        guard let place = PostboxMessageID(id), place.incarnation == incarnation else { return .notFound(id) }
        do throws(NATSError) {
            try await jetStream.deleteMessage(in: stream, sequence: place.sequence)
            return nil
        } catch .jetStream(let failure)
            where failure.meansMissingMessage
        {
            return .notFound(id)
        } catch {
            return Self.explained(error, during: "deleting a letter")
        }
    }

    // MARK: The stream

    /// When the stream was made, in nanoseconds since 1970: it is what tokens and identifiers belong to.
    private func incarnation(during operation: String) async throws(RelayError) -> UInt64 {
        UInt64(clamping: try await info(during: operation).created.nanoseconds)
    }

    private func info(during operation: String) async throws(RelayError) -> StreamInfo {
        do throws(NATSError) { return try await jetStream.streamInfo(stream) } catch {
            throw Self.explained(error, during: operation)
        }
    }

    private static func explained(_ error: NATSError, during operation: String) -> RelayError {
        if case .jetStream(let failure) = error, failure.errorCode == JetStreamFailure.streamNotFound {
            return .notFound("The postbox")
        }
        return RelayError(error, during: operation)
    }
}
