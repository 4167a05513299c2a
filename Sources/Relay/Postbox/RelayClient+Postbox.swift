// The postbox, with the calls of Sudo's relay.
extension RelayClient {
    /// The most letters on a page.
    public static let maximumPage = LetterPage.maximumLimit

    /// Lists letters: of all the user's postboxes and oldest first, as Sudo's relay does, or of one, or newest first.
    ///
    /// - Parameters:
    ///   - limit: The most letters, 1 to 100; nil for one. Letters of many MiB end a page earlier.
    ///   - nextToken: Where an earlier page of the same order ended; nil for the list's beginning. Letters that arrive
    ///     or are deleted between two pages skip or repeat no others; in a list that begins with the newest, new ones
    ///     are on no later page.
    ///   - postbox: Limits the list to this postbox; nil for all.
    ///   - order: The list's order.
    /// - Returns: The letters, and the next page's token if there are more.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the limit and the postbox's name, ``RelayError/invalidToken``,
    ///   also for a token of the other order, ``RelayError/notConnected``, or the server's refusal.
    public func listMessages(
        limit: Int? = nil, nextToken: String? = nil, postbox: String? = nil, order: LetterOrder = .oldestFirst
    ) async throws(RelayError) -> ListOutput<PostboxMessage> {
        let wanted = try LetterPage(limit: limit, nextToken: nextToken, postbox: postbox, order: order)
        var (page, incarnation, part) = try await inLetters { letters throws(RelayError) in
            try await letters.list(wanted)
        }
        page.items = await withPersonas(page.items)
        await keep(
            .lettersListed(
                KeptLetterPage(
                    letters: page.items.map { KeptLetter($0) }, unreadable: page.unreadable.map(\.id),
                    incarnation: incarnation, start: part.lowerBound, end: part.upperBound, postbox: postbox,
                    moment: .now)))
        return page
    }

    /// Lists letters stored on this machine, connected or not: the results of earlier lists and subscriptions. Waits
    /// only for the local store to open.
    ///
    /// - Parameters:
    ///   - limit: The most letters, 1 to 100; nil for one.
    ///   - nextToken: Where an earlier page of the same order ended, of this call or of
    ///     ``listMessages(limit:nextToken:postbox:order:)``; nil for the list's beginning.
    ///   - postbox: Limits the list to this postbox; nil for all.
    ///   - order: The list's order.
    /// - Returns: The page and its date; nil if the configuration's store is no file, or could not be opened.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidToken``, ``RelayError/storage(_:)``.
    public func keptLetters(
        limit: Int? = nil, nextToken: String? = nil, postbox: String? = nil, order: LetterOrder = .oldestFirst
    ) async throws(RelayError) -> KeptLetters? {
        guard let store = await keptStore() else { return nil }
        return try await store.letterPage(
            limit: limit ?? 1, nextToken: nextToken, postbox: postbox, owner: user ?? "", order: order)
    }

    /// Writes changes into the local store within a moment, if there is one.
    func keep(_ changes: StoreChange...) async {
        guard !changes.isEmpty, let store = await keptStore() else { return }
        await store.append([], changes)
    }

    /// Reads one letter.
    ///
    /// - Parameter id: A ``PostboxMessage``'s, of this user's.
    /// - Throws: ``RelayError/notFound(_:)`` if it is gone or no letter of this user's;
    ///   ``RelayError/invalidMessage(_:)`` if it cannot be read, ``RelayError/notConnected``, or the server's refusal.
    public func postboxMessage(withMessageId id: String) async throws(RelayError) -> PostboxMessage {
        let found = try await inLetters { letters throws(RelayError) in try await letters.letter(id) }
        guard case .readable(let letter) = found else { throw .invalidMessage("the letter \(id) is not readable") }
        return await withPersonas([letter]).first ?? letter
    }

    /// The number of letters in each postbox, by its identifier.
    public func countMessages() async throws(RelayError) -> [String: Int] {
        try await inLetters { letters throws(RelayError) in try await letters.counts() }
    }

    // MARK: Steps

    /// How long letters wait for the personas of their postboxes, and how long an answer may take otherwise.
    private static let personaLimits = (wait: Duration.seconds(2), answer: Duration.seconds(10))

    /// Adds to letters the personas of their postboxes. If the network does not answer, those are the last known ones,
    /// or the owner.
    func withPersonas(_ letters: [PostboxMessage]) async -> [PostboxMessage] {
        guard let link, let owner = user, owner.isSubjectToken else { return letters }
        let unknown = personas.unknownPostboxes(of: letters)
        guard !unknown.isEmpty else { return personas.assigned(to: letters, of: owner) }
        if personas.isAnswerExpected {
            let answer = await Self.postboxes(of: owner, over: link, within: Self.personaLimits.wait)
            await heard(answer, about: unknown, over: link)
        } else if personas.beginAskingAside() {
            // The host seems to be gone: keep asking, one question at a time, but without a letter waiting.
            Task { [weak self] in
                let answer = await Self.postboxes(of: owner, over: link, within: Self.personaLimits.answer)
                await self?.heard(answer, about: unknown, over: link, isAside: true)
            }
        }
        if personas.needsMemory(for: letters), let kept = try? await keptPostboxes() {
            personas.remember(kept.items, of: owner)
        }
        return personas.assigned(to: letters, of: owner)
    }

    /// The postboxes according to the network; nil if it does not answer in time.
    private static func postboxes(of owner: String, over link: LiveLink, within limit: Duration) async -> [Postbox]? {
        guard let connection = link.connection else { return nil }
        let register = PostboxServiceClient(owner: owner, connection: connection, timeLimit: limit)
        return try? await register.postboxes(of: nil)
    }

    /// Handles the network's answer or the lack of one. An answer over an earlier connection is ignored.
    private func heard(
        _ answer: [Postbox]?, about asked: Set<String>, over link: LiveLink, isAside: Bool = false
    ) async {
        guard link === self.link else { return }
        if isAside { personas.endAskingAside() }
        if let answer { await told(answer, about: asked) } else { personas.expectNoAnswer() }
    }

    /// Reads letters, for which an idle connection returns. A new user has none until the network is asked for the
    /// postboxes.
    func inLetters<Value: Sendable>(
        _ read: @Sendable (Letters) async throws(RelayError) -> Value
    ) async throws(RelayError) -> Value {
        await wake()
        do throws(RelayError) {
            return try await read(letters())
        } catch {
            guard error == Letters.noPostbox, (try? await postboxes()) != nil else { throw error }
        }
        return try await read(letters())
    }

    private func letters() throws(RelayError) -> Letters {
        let owner = try postboxOwner()
        guard let link, let jetStream = link.jetStream else { throw .notConnected }
        return Letters(owner: owner, jetStream: jetStream, deleted: link.deletedLetters)
    }

    func postboxOwner() throws(RelayError) -> String {
        guard let user, user.isSubjectToken else {
            throw .invalidArgument("The user is not known; sign in with credentials that name one")
        }
        return user
    }
}
