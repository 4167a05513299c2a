import NATS

/// The letters in all of a user's postboxes, read and deleted over one connection.
struct Letters: Sendable {
    /// Whose postboxes they are.
    let owner: String
    let jetStream: JetStream
    /// What was deleted over the connection a moment ago.
    let deleted: DeletedLetters

    /// All of them are in one stream.
    private var stream: String { NetworkNames.postboxStream(of: owner) }

    /// Where all of a user's letters are read.
    static func source(of owner: String, _ jetStream: JetStream) -> StreamSource {
        var source = StreamSource(name: NetworkNames.postboxStream(of: owner), filter: nil, jetStream: jetStream)
        source.make = {
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
        // The answer says whether the postbox has letters from before senders were known.
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

    /// Fills a page. One postbox's letters are picked by the server where it can: those from before senders were known
    /// have a subject that no filter has in common with the others, and an earlier server takes no filter for a
    /// disabled postbox, which has no subject in the stream any more.
    private func filled(_ wanted: LetterPage, _ info: StreamInfo) async throws(NATSError) -> LetterPage {
        let extent = StreamExtent(
            incarnation: nil, first: info.state.firstSequence, last: info.state.lastSequence)
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
        let info = try await info(during: "counting the letters", counting: ">")
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

    /// Deletes a letter.
    ///
    /// - Parameters:
    ///   - id: its identifier, as callers hold it.
    ///   - incarnation: when the stream was made, in nanoseconds since 1970.
    /// - Returns: what the server has answered.
    func delete(_ id: String, of incarnation: UInt64) async -> Result<Void, RelayError> {
        // A letter of an earlier stream had its place there; in this one the place is another letter's.
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

    /// When the stream was made, in nanoseconds since 1970: it is what tokens and identifiers belong to.
    func incarnation(during operation: String) async throws(RelayError) -> UInt64 {
        UInt64(clamping: try await info(during: operation).created.nanoseconds)
    }

    /// - Parameter subjects: has the answer say how many letters there are of these.
    private func info(during operation: String, counting subjects: String? = nil) async throws(RelayError) -> StreamInfo
    {
        do throws(NATSError) { return try await jetStream.streamInfo(stream, subjectsFilter: subjects) } catch {
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
