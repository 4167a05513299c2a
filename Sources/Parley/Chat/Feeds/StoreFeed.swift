import Relay

/// What is kept on this machine: read before the network is asked, and written as the person goes on.
actor StoreFeed {
    enum Request: Equatable, Sendable {
        /// Open the local store and tell what the person was at.
        case open
        /// Keep which topics are joined, in their order.
        case keepJoined([String])
        case keepLine(KeptLine)
        /// Keep the text being written; an empty one is forgotten. It may take a moment.
        case keepDraft(Draft)
        /// Keep that a name is ignored, or is no more.
        case keepIgnored(String, Bool)
        /// Keep that a topic or pattern is muted, or is no more.
        case keepMuted(String, Bool)
        /// Keep what was chosen about the screen; nil where that is what counts anyhow.
        case keepChoice(DeskChoices.Name, Bool?)
        /// Keep what is in view, to begin there at the next start. It may take a moment.
        case keepPlace(Place)
    }

    private let core: FeedCore
    /// The joined topics, as far as this chat has told the local store.
    private var keptTopics: [String] = []
    /// Whether something that was to be kept at once waits in the local store, which took nothing.
    private var isBehind = false
    /// What was told last of a trouble of the local store that is not over.
    private var trouble: String?

    init(_ core: FeedCore) { self.core = core }

    func perform(_ request: Request) async {
        switch request {
        case .open: await open()
        case .keepJoined(let topics): await keepJoined(topics)
        case .keepLine(let line): await commit([.line(line)])
        case .keepIgnored(let name, let isIgnored): await commit([.ignored(name, isIgnored)])
        case .keepMuted(let name, let isMuted): await commit([.muted(name, isMuted)])
        case .keepChoice(let name, let value): await commit([.choice(name.kept, value)])
        case .keepDraft(let draft): await keep(.draft(conversation: draft.conversation, draft.text))
        case .keepPlace(let place): await keep(.place(place.kept))
        }
    }

    private func open() async {
        guard let store = await core.client.keptStore() else { return await core.send(.opened(nil)) }
        do throws(RelayError) {
            let desk = try await store.desk()
            keptTopics = desk.joined
            let unsent = try await core.client.keptOutbox()
            let isReadOnly = if case .readOnly = store.opening { true } else { false }
            await core.send(
                .opened(
                    KeptDesk(
                        topics: desk.joined, drafts: desk.drafts, lines: desk.lines, unsent: unsent,
                        ignored: desk.ignored, muted: desk.muted, choices: DeskChoices(desk.choices),
                        place: desk.place.flatMap { Place(kept: $0) }, isReadOnly: isReadOnly)))
        } catch {
            await tellTrouble(error)
            await core.send(.opened(nil))
        }
    }

    // MARK: Writing

    /// Keeps something now: no end of the program takes it from then on.
    private func commit(_ changes: [StoreChange]) async {
        guard !changes.isEmpty, let store = await core.client.keptStore() else { return }
        do throws(RelayError) {
            // What waits is older: written later, it would undo what is kept now.
            if isBehind { try await store.flush() }
            isBehind = false
            try await store.commit(changes)
        } catch {
            // It is kept as soon as the store takes something. Until then the store tells of it, once.
            isBehind = true
            await store.append([], changes)
        }
    }

    /// Returns when all that was to be kept is kept, or cannot be: a try waits two seconds for another program that has
    /// the store locked, and a full disk refuses at once.
    func keepAll() async {
        guard let store = await core.client.keptStore() else { return }
        for _ in 0..<4 where (try? await store.flush()) != nil { return }
    }

    /// Keeps which topics were joined and left here, and in which order they were put. Another chat may share the
    /// store, and has joined others.
    private func keepJoined(_ topics: [String]) async {
        let before = keptTopics
        keptTopics = topics
        let left = before.filter { !topics.contains($0) }
        let joined = topics.filter { !before.contains($0) }
        let isInOrder = before.filter { topics.contains($0) } + joined == topics
        let order: [StoreChange] = isInOrder ? [] : [.order(topics)]
        await commit(left.map { .leave($0) } + joined.map { .join($0) } + order)
    }

    /// Keeps something within a moment, together with what else comes: a draft and a mark of what was read at once,
    /// behind the messages that came before.
    func keep(_ change: StoreChange) async {
        guard let store = await core.client.keptStore() else { return }
        await store.append([], [change])
    }

    // MARK: Telling

    func follow(_ openings: AsyncStream<LocalStore.Opening>) async {
        for await opening in openings {
            guard let words = Self.words(opening) else { continue }
            await core.send(.notice(words, isFailure: opening.error != nil))
            // A failure that is told is in the log already.
            if opening.error == nil { await core.send(.log(words)) }
        }
    }

    func followNews() async {
        guard let news = await core.client.storeNews() else { return }
        for await one in news { await tell(one) }
    }

    func tell(_ news: StoreNews) async {
        if case .failing(let error) = news { return await tellTrouble(error) }
        trouble = nil
        await core.send(.notice(Self.words(news), isFailure: false))
        await core.send(.log(Self.words(news)))
    }

    /// Says what is wrong with the local store, once until it is over, whoever finds it.
    func tellTrouble(_ error: RelayError) async {
        guard trouble != error.words else { return }
        trouble = error.words
        await core.send(.notice(error.words, isFailure: true))
    }

    /// What is said of the local store's opening; nil where all is well.
    static func words(_ opening: LocalStore.Opening) -> String? {
        switch opening {
        // That there is a new one where there was none is no news to anybody.
        case .nowhere, .found, .made: return nil
        case .failed(let error): return error.words
        case .readOnly(let path):
            return "The local store \(path) may not be written: its history can be read, and nothing new is kept. "
                + "What waits in its outbox stays there. Allow writing and start again, and all is kept as before."
        case .rescued(let rescue):
            let saved =
                rescue.entries > 0
                ? "\(Wording.count(rescue.entries, "entry", plural: "entries")) of it could be read into a new one"
                : "Nothing of it could be read, and a new one is begun"
            let name = rescue.path.split(separator: "/").last.map(String.init) ?? rescue.path
            return "The local store was damaged or of another version. \(saved); it is put aside as \(name). "
                + "Messages come again from the network."
        }
    }

    static func words(_ news: StoreNews) -> String {
        switch news {
        case .failing(let error): return error.words
        case .recovered(0): return "The local store keeps what comes again."
        case .recovered(let notKept):
            let missing = Wording.count(notKept, "message of the meantime is", plural: "messages of the meantime are")
            return "The local store keeps what comes again. \(missing) on the network alone."
        }
    }
}
