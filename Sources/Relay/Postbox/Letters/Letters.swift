import NATS

/// The letters in all of a user's postboxes, read and deleted over one connection.
struct Letters: Sendable {
    /// Whose postboxes they are.
    let owner: String
    let jetStream: JetStream
    /// What was deleted over the connection; nil where that is of no interest.
    var deleted: DeletedLetters?

    /// All of them are in one stream.
    private var stream: String { NetworkNames.postboxStream(of: owner) }

    /// Where a subscription reads them.
    var source: StreamSource {
        var source = StreamSource(name: stream, filter: nil, jetStream: jetStream)
        source.make = { [owner, jetStream] in
            // A new user's first call has the network make the stream.
            let register = PostboxServiceClient(owner: owner, connection: jetStream.connection)
            _ = try? await register.postboxes(of: nil)
        }
        return source
    }

    /// What a subscription to a user's letters tells.
    ///
    /// - Parameters:
    ///   - policy: what the loss of the connection does.
    ///   - completed: adds to letters what they do not say themselves, before the reader has them.
    static func words(
        for owner: String, _ policy: SubscriptionPolicy,
        completed: @escaping @Sendable ([PostboxMessage]) async -> [PostboxMessage]
    ) -> SubscriptionWords<PostboxEvent> {
        SubscriptionWords<PostboxEvent>(
            operation: "reading letters",
            message: { message, _, incarnation, _ in
                switch ReadLetter(message, incarnation: incarnation, owner: owner) {
                case .readable(let letter): (.message(letter), nil)
                case .unreadable(let letter): (.unreadable(letter), nil)
                }
            },
            live: .status(.connected), lost: { .gap(lost: $0) }, restarted: nil,
            interrupted: { error, passes in .status(passes ? .connecting : .error(error)) },
            standing: (policy, { .status($0) }),
            completed: { events in
                let letters = events.compactMap { if case .message(let letter) = $0 { letter } else { nil } }
                var whole = await completed(letters)[...]
                return events.map { event in
                    if case .message = event, let letter = whole.popFirst() { .message(letter) } else { event }
                }
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
        let info = try await info(during: operation, of: wanted.postbox)
        let incarnation = UInt64(clamping: info.created.nanoseconds)
        if let token = wanted.token, token.incarnation != incarnation { throw .invalidToken }
        var page = wanted
        if let deleted {
            page.isGone = { deleted.contains(PostboxMessageID(incarnation: incarnation, sequence: $0).text) }
        }
        do throws(NATSError) {
            page = try await filled(page, info)
        } catch { throw Self.explained(error, during: operation) }
        let output = page.output(incarnation: incarnation, owner: owner)
        return (output, incarnation, page.part(last: info.state.lastSequence))
    }

    /// Fills a page. One postbox's letters are picked by the server where it can: those from before senders were known
    /// have a subject that no filter has in common with the others, and an earlier server takes no filter for a
    /// disabled postbox, which has no subject in the stream any more.
    private func filled(_ wanted: LetterPage, _ info: StreamInfo) async throws(NATSError) -> LetterPage {
        let extent = StreamExtent(
            incarnation: nil, first: info.state.firstSequence, last: info.state.lastSequence)
        if let postbox = wanted.postbox, info.state.subjects?.isEmpty ?? true {
            do throws(NATSError) {
                var page = wanted
                page.isFiltered = true
                try await page.fill(
                    from: StreamSource(
                        name: stream, filter: "\(Self.subject(of: postbox, owner)).*", jetStream: jetStream),
                    in: extent)
                return page
            } catch .jetStream(let failure) where failure.code == 400 {
                // Picked here, below.
            }
        }
        var page = wanted
        try await page.fill(from: source, in: extent)
        return page
    }

    /// Reads one of them.
    ///
    /// - Throws: ``RelayError/notFound(_:)`` for one that is not there.
    func letter(_ id: String) async throws(RelayError) -> ReadLetter {
        let operation = "reading a letter"
        let incarnation = try await incarnation(during: operation)
        guard let place = PostboxMessageID(id), place.incarnation == incarnation else { throw .notFound(id) }
        do throws(NATSError) {
            let message = try await jetStream.message(in: stream, sequence: place.sequence)
            return ReadLetter(message, incarnation: incarnation, owner: owner)
        } catch .jetStream(let failure) where failure.meansMissingMessage {
            throw .notFound(id)
        } catch {
            throw Self.explained(error, during: operation)
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
            let postbox = PostboxAddress(subject)?.postbox ?? subject
            let sum = counts[postbox, default: 0].addingReportingOverflow(Int(clamping: count))
            counts[postbox] = sum.overflow ? .max : sum.partialValue
        }
        return counts
    }

    // MARK: Deleting

    /// Deletes letters, with one question about the stream for all. What has been sent to the server is waited for
    /// whatever happens, so that its end is known where the server tells it.
    ///
    /// - Parameters:
    ///   - ids: their identifiers, as callers hold them.
    ///   - isCancelled: whether nothing more is to be sent.
    ///   - progress: hears how many have come to their end.
    /// - Returns: what became of each.
    /// - Throws: what keeps the server from deleting any.
    func delete(
        _ ids: [String], unless isCancelled: @Sendable () -> Bool = { false },
        progress: (@Sendable (Int) -> Void)? = nil
    ) async throws(RelayError) -> BulkDeletion {
        guard !ids.isEmpty else { return BulkDeletion() }
        let incarnation = try await incarnation(during: "deleting letters")
        let ends = await withTaskGroup(
            of: (Int, BulkDeletion.LetterEnd).self, returning: [BulkDeletion.LetterEnd].self
        ) { group in
            var ends: [BulkDeletion.LetterEnd?] = Array(repeating: nil, count: ids.count)
            var (begun, ended) = (0, 0)
            while true {
                while begun < ids.count, begun - ended < BulkDeletion.window, !isCancelled(),
                    jetStream.connection.isOpen
                {
                    let index = begun
                    group.addTask { (index, await delete(ids[index], of: incarnation)) }
                    begun += 1
                }
                guard let (index, end) = await group.next() else { break }
                ends[index] = end
                ended += 1
                progress?(ended)
            }
            let reason: RelayError = isCancelled() ? .cancelled : .notConnected
            return ends.map { $0 ?? .failed(reason) }
        }
        return BulkDeletion(of: ids, ends: ends)
    }

    private func delete(_ id: String, of incarnation: UInt64) async -> BulkDeletion.LetterEnd {
        // A letter of an earlier stream had its place there; in this one the place is another letter's.
        guard let place = PostboxMessageID(id), place.incarnation == incarnation else { return .failed(.notFound(id)) }
        do throws(NATSError) {
            try await jetStream.deleteMessage(in: stream, sequence: place.sequence)
            // At once: others list letters while a long deletion goes on.
            deleted?.insert(id)
            return .deleted
        } catch .jetStream(let failure)
            where failure.meansMissingMessage
        {
            return .failed(.notFound(id))
        } catch {
            return BulkDeletion.LetterEnd(Self.explained(error, during: "deleting a letter"))
        }
    }

    // MARK: The stream

    /// When the stream was made, in nanoseconds since 1970: it is what tokens and identifiers belong to.
    private func incarnation(during operation: String) async throws(RelayError) -> UInt64 {
        UInt64(clamping: try await info(during: operation).created.nanoseconds)
    }

    private static func subject(of postbox: String, _ owner: String) -> String {
        NetworkNames.letters(to: owner, postbox)
    }

    /// - Parameter postbox: has the answer say whether this one has letters from before senders were known.
    private func info(
        during operation: String, of postbox: String? = nil
    ) async throws(RelayError) -> StreamInfo {
        let filter = postbox.map { Self.subject(of: $0, owner) }
        do throws(NATSError) { return try await jetStream.streamInfo(stream, subjectsFilter: filter) } catch {
            throw Self.explained(error, during: operation)
        }
    }

    /// The user has no postbox yet.
    static let noPostbox = RelayError.notFound("The postbox")

    private static func explained(_ error: NATSError, during operation: String) -> RelayError {
        if case .jetStream(let failure) = error, failure.errorCode == JetStreamFailure.streamNotFound {
            return Self.noPostbox
        }
        return RelayError(error, during: operation)
    }
}
