import Relay

/// The local store of the chat's state: read before the network is asked, and written as the user works.
actor StoreFeed {
    enum Request: Equatable, Sendable {
        /// Open the local store and report where the user left off.
        case open
        /// Save the joined topics in order.
        case keepJoined([String])
        case keepLine(KeptLine)
        /// Save a draft; an empty one is removed. It may take a moment.
        case keepDraft(Draft)
        case keepIgnored(String, Bool)
        /// Save whether a topic or pattern is muted.
        case keepMuted(String, Bool)
        /// Save a choice about the screen; nil for the default.
        case keepChoice(DeskChoices.Name, Bool?)
        /// Save what is in view, for the next start to begin there. It may take a moment.
        case keepPlace(Place)
    }

    private let core: FeedCore
    /// The joined topics as this chat last saved them.
    private var keptTopics: [String] = []
    /// Whether a change that should have been committed at once still waits after a failure.
    private var isBehind = false
    /// The last reported failure of the local store; nil once it has recovered.
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

    /// Commits before returning, so that the changes survive a crash.
    private func commit(_ changes: [StoreChange]) async {
        guard !changes.isEmpty, let store = await core.client.keptStore() else { return }
        do throws(RelayError) {
            // Waiting changes are older and must not overwrite these.
            if isBehind { try await store.flush() }
            isBehind = false
            try await store.commit(changes)
        } catch {
            // The store writes it once it can, and reports the failure itself.
            isBehind = true
            await store.append([], changes)
        }
    }

    /// Returns once everything is saved, or cannot be: an attempt waits two seconds for a program that has locked the
    /// store, and fails at once on a full disk.
    func keepAll() async {
        guard let store = await core.client.keptStore() else { return }
        for _ in 0..<4 where (try? await store.flush()) != nil { return }
    }

    /// Saves which topics were joined, left or reordered here. Only differences, since another chat that shares the
    /// store may have joined others.
    private func keepJoined(_ topics: [String]) async {
        let before = keptTopics
        keptTopics = topics
        let left = before.filter { !topics.contains($0) }
        let joined = topics.filter { !before.contains($0) }
        let isInOrder = before.filter { topics.contains($0) } + joined == topics
        let order: [StoreChange] = isInOrder ? [] : [.order(topics)]
        await commit(left.map { .leave($0) } + joined.map { .join($0) } + order)
    }

    /// Saves a change within a moment, together with others and after the messages that arrived before it.
    func keep(_ change: StoreChange) async {
        guard let store = await core.client.keptStore() else { return }
        await store.append([], [change])
    }

    // MARK: Reporting

    func follow(_ openings: AsyncStream<LocalStore.Opening>) async {
        for await opening in openings {
            guard let words = Self.words(opening) else { continue }
            await core.send(.notice(words, isFailure: opening.error != nil))
            // The notice of a failure is in the log already.
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

    /// Reports a failure of the local store, once until it recovers.
    func tellTrouble(_ error: RelayError) async {
        guard trouble != error.words else { return }
        trouble = error.words
        await core.send(.notice(error.words, isFailure: true))
    }

    /// The notice about the local store's opening; nil if all is well.
    static func words(_ opening: LocalStore.Opening) -> String? {
        switch opening {
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
