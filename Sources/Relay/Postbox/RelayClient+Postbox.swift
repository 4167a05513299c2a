// The postbox, with the calls of Sudo's relay.
extension RelayClient {
    /// The most letters a page may hold.
    public static let maximumPage = LetterPage.maximumLimit

    /// Lists letters: of all the user's postboxes and oldest first, as Sudo's relay does, or of one, or newest first.
    ///
    /// - Parameters:
    ///   - limit: most letters, 1 to 100; nil for one. Letters of many MiB end a page before.
    ///   - nextToken: where an earlier page of the same order ended; nil for the list's beginning. Letters that come or
    ///     go between two pages have none of the others skipped or repeated; in a list that begins with the newest,
    ///     those that come are on no later page.
    ///   - postbox: only this one's letters; nil for all.
    ///   - order: which comes first.
    /// - Returns: the letters, and the next page's token when there are more.
    /// - Throws: ``RelayError/invalidArgument(_:)`` for the limit and the postbox's name, ``RelayError/invalidToken``,
    ///   which a token of the other order is too, ``RelayError/notConnected``, or the server's refusal.
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

    /// Letters that this machine keeps, connected or not: those that lists and subscriptions have brought.
    /// Waits for the opening of the local store and for nothing else.
    ///
    /// - Parameters:
    ///   - limit: most letters, 1 to 100; nil for one.
    ///   - nextToken: where an earlier page of the same order ended, this call's or
    ///     ``listMessages(limit:nextToken:postbox:order:)``'s; nil for the list's beginning.
    ///   - postbox: only this one's letters; nil for all.
    ///   - order: which comes first.
    /// - Returns: the page, and as of when it is; nil where the configuration's store is no file, or could not be
    ///   opened.
    /// - Throws: ``RelayError/invalidArgument(_:)``, ``RelayError/invalidToken``, ``RelayError/storage(_:)``.
    public func keptLetters(
        limit: Int? = nil, nextToken: String? = nil, postbox: String? = nil, order: LetterOrder = .oldestFirst
    ) async throws(RelayError) -> KeptLetters? {
        guard let store = await keptStore() else { return nil }
        return try await store.letterPage(
            limit: limit ?? 1, nextToken: nextToken, postbox: postbox, owner: user ?? "", order: order)
    }

    /// Has the local store keep something within a moment, where there is one.
    func keep(_ changes: StoreChange...) async {
        guard !changes.isEmpty, let store = await keptStore() else { return }
        await store.append([], changes)
    }

    /// Reads one letter.
    ///
    /// - Parameter id: a ``PostboxMessage``'s, of this user's.
    /// - Throws: ``RelayError/notFound(_:)`` when it is gone, or is no letter of this user's;
    ///   ``RelayError/invalidMessage(_:)`` for one that cannot be read, ``RelayError/notConnected``, or the server's
    ///   refusal.
    public func postboxMessage(withMessageId id: String) async throws(RelayError) -> PostboxMessage {
        let found = try await inLetters { letters throws(RelayError) in try await letters.letter(id) }
        guard case .readable(let letter) = found else { throw .invalidMessage("the letter \(id) is not readable") }
        return await withPersonas([letter]).first ?? letter
    }

    /// How many letters each postbox holds, by its identifier.
    public func countMessages() async throws(RelayError) -> [String: Int] {
        try await inLetters { letters throws(RelayError) in try await letters.counts() }
    }

    // MARK: Steps

    /// How long letters wait for the network's word to whom their postboxes belong, and how long that is listened for.
    private static let personaLimits = (wait: Duration.seconds(2), answer: Duration.seconds(10))

    /// Letters with the personas to which their postboxes belong. Where the network does not say, it is as it was when
    /// it last did, or they are the owner's.
    func withPersonas(_ letters: [PostboxMessage]) async -> [PostboxMessage] {
        guard let link, let owner = user, owner.isSubjectToken else { return letters }
        let unknown = personas.unknownPostboxes(of: letters)
        guard !unknown.isEmpty else { return personas.assigned(to: letters, of: owner) }
        if personas.isAnswerExpected {
            let answer = await Self.postboxes(of: owner, over: link, within: Self.personaLimits.wait)
            await heard(answer, about: unknown, over: link)
        } else if personas.beginAskingAside() {
            // It is as if it were gone: one question at a time goes on, and no letter waits for it.
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

    /// The postboxes as the network says them; nil where it does not in time.
    private static func postboxes(of owner: String, over link: LiveLink, within limit: Duration) async -> [Postbox]? {
        guard let connection = link.connection else { return nil }
        let register = PostboxServiceClient(owner: owner, connection: connection, timeLimit: limit)
        return try? await register.postboxes(of: nil)
    }

    /// Takes in which postboxes there are, or that the network does not say. What comes over an earlier connection is
    /// about none of this one's.
    private func heard(
        _ answer: [Postbox]?, about asked: Set<String>, over link: LiveLink, isAside: Bool = false
    ) async {
        guard link === self.link else { return }
        if isAside { personas.endAskingAside() }
        if let answer { await told(answer, about: asked) } else { personas.expectNoAnswer() }
    }

    /// Reads the letters, for which a resting connection comes back. A new user has none yet, until the network is
    /// asked for the postboxes.
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
