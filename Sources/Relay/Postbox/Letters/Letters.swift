import NATS

/// The letters in all of a user's postboxes, read and deleted over one connection.
struct Letters: Sendable {
    let owner: String
    let jetStream: JetStream
    /// Letters deleted over the connection a moment ago.
    let deleted: DeletedLetters

    /// One stream holds all of them.
    private var stream: String { NetworkNames.postboxStream(of: owner) }

    /// The source of all of a user's letters.
    static func source(of owner: String, _ jetStream: JetStream) -> StreamSource {
        var source = StreamSource(name: NetworkNames.postboxStream(of: owner), filter: nil, jetStream: jetStream)
        source.make = {
            // A new user's first call has the network create the stream.
            let register = PostboxServiceClient(owner: owner, connection: jetStream.connection)
            _ = try? await register.postboxes(of: nil)
        }
        return source
    }

    /// The events of a subscription to a user's letters.
    ///
    /// - Parameters:
    ///   - policy: What the loss of the connection does.
    ///   - completed: Completes letters with data that they do not contain, before the reader gets them.
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

    /// Reads a page.
    ///
    /// - Parameter wanted: The page, still empty.
    /// - Returns: The page, and the part of the stream that it covers.
    /// - Throws: ``RelayError/invalidToken`` for a token of a stream that no longer exists, or the server's refusal.
    func list(
        _ wanted: LetterPage
    ) async throws(RelayError) -> (page: ListOutput<PostboxMessage>, incarnation: UInt64, part: Range<UInt64>) {
        let operation = "listing the letters"
        // The counts show whether the postbox has letters from before senders were recorded.
        let info = try await info(
            during: operation, counting: wanted.postbox.map { NetworkNames.letters(to: owner, $0) })
        let incarnation = UInt64(clamping: info.created.nanoseconds)
        if let token = wanted.token, token.incarnation != incarnation { throw .invalidToken }
        var page = wanted
        page.deleted = deleted.places(in: incarnation)
        do throws(NATSError) {
            page = try await filled(page, info)
        } catch { throw Self.explained(error, during: operation) }
        let output = page.output(incarnation: incarnation, owner: owner)
        return (output, incarnation, page.part(last: info.state.lastSequence))
    }

    /// Fills a page. The server filters by postbox if it can: letters from before senders were recorded have subjects
    /// that no filter shares with the others, and earlier servers reject a filter for a disabled postbox, whose subject
    /// is no longer in the stream.
    private func filled(_ wanted: LetterPage, _ info: StreamInfo) async throws(NATSError) -> LetterPage {
        let extent = StreamExtent(incarnation: nil, first: info.state.firstSequence, last: info.state.lastSequence)
        var page = wanted
        if let postbox = wanted.postbox, info.state.subjects?.isEmpty ?? true {
            page.isFiltered = true
            let filter = "\(NetworkNames.letters(to: owner, postbox)).*"
            do throws(NATSError) {
                try await page.fill(from: StreamSource(name: stream, filter: filter, jetStream: jetStream), in: extent)
                return page
            } catch .jetStream(let failure) where failure.code == 400 {
                page = wanted
            }
        }
        try await page.fill(from: Self.source(of: owner, jetStream), in: extent)
        return page
    }

    /// Reads a letter.
    ///
    /// - Throws: ``RelayError/notFound(_:)`` if it does not exist.
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

    /// The number of letters in each postbox, by its identifier.
    func counts() async throws(RelayError) -> [String: Int] {
        let info = try await info(during: "counting the letters", counting: ">")
        return Self.counts(bySubject: info.state.subjects ?? [:])
    }

    /// The number of letters in each postbox, from the stream's counts for each subject: one for every sender.
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

    /// Deletes a letter.
    ///
    /// - Parameters:
    ///   - id: Its identifier, as callers hold it.
    ///   - incarnation: When the stream was created, in nanoseconds since 1970.
    /// - Returns: The server's answer.
    func delete(_ id: String, of incarnation: UInt64) async -> Result<Void, RelayError> {
        // The sequence of a letter of an earlier stream belongs to another letter in this one.
        guard let place = PostboxMessageID(id), place.incarnation == incarnation else { return .failure(.notFound(id)) }
        do throws(NATSError) {
            try await jetStream.deleteMessage(in: stream, sequence: place.sequence)
            // At once: others list letters while a long deletion goes on.
            deleted.insert(place)
            return .success(())
        } catch .jetStream(let failure) where failure.meansMissingMessage {
            return .failure(.notFound(id))
        } catch {
            return .failure(Self.explained(error, during: "deleting a letter"))
        }
    }

    // MARK: The stream

    /// When the stream was created, in nanoseconds since 1970; tokens and identifiers belong to it.
    func incarnation(during operation: String) async throws(RelayError) -> UInt64 {
        UInt64(clamping: try await info(during: operation).created.nanoseconds)
    }

    /// - Parameter subjects: Has the answer count the letters of these subjects.
    private func info(during operation: String, counting subjects: String? = nil) async throws(RelayError) -> StreamInfo
    {
        do throws(NATSError) { return try await jetStream.streamInfo(stream, subjectsFilter: subjects) } catch {
            throw Self.explained(error, during: operation)
        }
    }

    /// The error for a user without postboxes.
    static let noPostbox = RelayError.notFound("The postbox")

    private static func explained(_ error: NATSError, during operation: String) -> RelayError {
        if case .jetStream(let failure) = error, failure.errorCode == JetStreamFailure.streamNotFound {
            return Self.noPostbox
        }
        return RelayError(error, during: operation)
    }
}
