import Relay

// What is kept on this machine: read before the network is asked, and written as the person goes on.
extension ChatEngine {
    /// Opens the local store and tells what the person was at.
    func openStore() async {
        guard let store = await client.keptStore() else { return await queue.send(.opened(nil)) }
        do throws(RelayError) {
            let desk = try await store.desk()
            keptTopics = desk.joined
            let unsent = try await client.keptOutbox()
            let isReadOnly = if case .readOnly = store.opening { true } else { false }
            await queue.send(
                .opened(
                    KeptDesk(
                        topics: desk.joined, drafts: desk.drafts, lines: desk.lines, unsent: unsent,
                        ignored: desk.ignored, muted: desk.muted, choices: DeskChoices(desk.choices),
                        place: desk.place.flatMap { Place(kept: $0) }, isReadOnly: isReadOnly)))
        } catch {
            await tellStoreTrouble(error)
            await queue.send(.opened(nil))
        }
    }

    /// Shows the newest page of what is kept of a topic. What of the rest was not read comes behind it, for which
    /// nobody waits.
    ///
    /// - Returns: how far it was received; nil where nothing of it was.
    func restore(_ topic: String) async -> KeptPlace? {
        guard let store = await client.keptStore(), let pattern = try? TopicPattern(topic) else { return nil }
        do throws(RelayError) {
            let cursor = try await store.cursor(of: topic)
            let mark = try await store.readMark(of: topic)
            var page = try await client.keptMessages(topic: topic, limit: ChatModel.historyPage)
            let first = page.isComplete ? nil : page.messages.first?.place.sequence
            var isOpen = cursor == nil
            if page.messages.isEmpty {
                // What was carried over from a damaged store is here, though nobody knows whether it is whole.
                page = try await client.keptMessages(topic: topic, limit: ChatModel.historyPage, acrossHoles: true)
                isOpen = isOpen || !page.messages.isEmpty
            }
            let newest = page.messages.last?.place
            guard let stream = cursor?.stream ?? newest?.stream else { return nil }
            if let cursor, let newest, !isOpen, newest.sequence < cursor.sequence {
                let ends = [newest.sequence, cursor.sequence]
                isOpen = try await !store.holes(of: pattern, in: stream, among: ends).isEmpty
            }
            // A stream that was made anew since then has nothing that was read. What was only read as history is not
            // new.
            let unmarked = cursor == nil ? newest?.sequence ?? 0 : 0
            let readThrough = mark.map { $0.stream == stream ? $0.sequence : 0 } ?? unmarked
            let kept = KeptTopic(
                messages: page.messages.map(Self.shown), gaps: page.gaps, isComplete: page.isComplete,
                isOpen: isOpen, readThrough: readThrough)
            await queue.send(.past(topic, .kept(kept)))
            if let first, first > readThrough { readBack(topic, before: first, through: readThrough) }
            return cursor
        } catch {
            await tellStoreTrouble(error)
            return nil
        }
    }

    /// Reads a topic so far back that what is not read can be counted.
    private func readBack(_ topic: String, before sequence: UInt64, through readThrough: UInt64) {
        readBacks[topic]?.cancel()
        readBacks[topic] = Task { [client, queue] in
            var kept = KeptTopic(readThrough: readThrough)
            var next = sequence
            do throws(RelayError) {
                while !Task.isCancelled, next > readThrough,
                    kept.messages.count < Conversation.rowLimit - ChatModel.historyPage
                {
                    let page = try await client.keptMessages(topic: topic, before: next, limit: ChatModel.historyPage)
                    kept.messages = page.messages.map(Self.shown) + kept.messages
                    kept.gaps = page.gaps + kept.gaps
                    guard !page.isComplete, let first = page.messages.first?.place.sequence else { break }
                    next = first
                }
            } catch {
                await tellStoreTrouble(error)
            }
            guard !Task.isCancelled, !kept.messages.isEmpty || !kept.gaps.isEmpty else { return }
            await queue.send(.past(topic, .keptUnread(kept)))
        }
    }

    /// A whole page of older messages that are kept, for which nobody waits; nil where there is none, so that the
    /// network is asked.
    static func kept(
        _ topic: String, before sequence: UInt64, _ limit: Int, _ client: RelayClient
    ) async -> ChatEvent.PastNews? {
        guard let page = try? await client.keptMessages(topic: topic, before: sequence, limit: limit),
            page.messages.count == limit
        else { return nil }
        return .history(page.messages.map(shown), gaps: page.gaps, before: sequence, isComplete: false)
    }

    /// Older messages as the screen shows them.
    static func news(_ page: TopicHistory, before sequence: UInt64?) -> ChatEvent.PastNews {
        let messages =
            page.unreadable.isEmpty
            ? page.messages : (page.messages + page.unreadable.map(shown)).sorted { $0.sequence < $1.sequence }
        return page.isOffline
            ? .keptHistory(messages, gaps: page.gaps, isComplete: page.isComplete)
            : .history(messages, gaps: page.gaps, before: sequence, isComplete: page.isComplete)
    }

    /// The letters that are kept, while the network cannot be asked; nil where it can, or where none were ever listed.
    static func keptPage(
        _ postbox: String?, _ token: String?, _ limit: Int, _ order: LetterOrder, _ client: RelayClient
    ) async -> KeptLetters? {
        guard client.status.state != .connected,
            let kept = try? await client.keptLetters(
                limit: limit, nextToken: token, postbox: postbox, order: order)
        else { return nil }
        return kept.asOf == nil && kept.page.items.isEmpty ? nil : kept
    }

    /// Tells which of these letters were read on this machine, and how many of each postbox.
    func tellReadLetters(among ids: [String] = []) async {
        guard let store = await client.keptStore() else { return }
        readLettersQuestion &+= 1
        let question = readLettersQuestion
        guard let read = try? await store.readLetters(among: ids) else { return }
        let counts = question == readLettersQuestion ? read.counts : nil
        await queue.send(.postbox(.read(read.ids, counts: counts)))
    }

    /// Pages that are listed at most to find out what was deleted elsewhere.
    private static let settlingPages = 10

    /// The same once the network has counted the letters. Where it has fewer than are known here, some were deleted
    /// elsewhere: the list takes them away, so that a new one is not taken for one that was read.
    func settleReadLetters(_ counts: [String: Int]) async {
        guard let store = await client.keptStore(), let known = try? await store.readLetters(among: []) else { return }
        let isLess =
            known.counts.contains { $0.value > counts[$0.key] ?? 0 }
            || known.kept.contains { $0.value > counts[$0.key] ?? 0 }
        var token: String?
        for _ in 0..<Self.settlingPages where isLess {
            guard let page = try? await client.listMessages(limit: 100, nextToken: token) else { break }
            token = page.nextToken
            if token == nil { break }
        }
        await tellReadLetters()
    }

    /// Has this machine keep the newest letters that it lacks, once: without a connection they can be read and counted
    /// then, though nobody has opened the inbox. What comes later is kept as it comes.
    func keepNewestLetters(_ counts: [String: Int]) async {
        guard !hasAskedForLetters, !lettersRest, let store = await client.keptStore(),
            let kept = try? await store.readLetters(among: []).kept,
            counts.contains(where: { $0.value > kept[$0.key] ?? 0 })
        else { return }
        hasAskedForLetters = true
        _ = try? await client.listMessages(limit: RelayClient.maximumPage, postbox: nil, order: .newestFirst)
    }

    static func shown(_ kept: KeptMessage) -> TopicMessage {
        kept.message
            ?? TopicMessage(
                unreadable: kept.payload.count, topic: kept.topic, sequence: kept.place.sequence, time: kept.time)
    }

    // MARK: Writing

    /// Keeps something now: no end of the program takes it from then on.
    func commit(_ changes: StoreChange...) async { await commit(changes) }

    private func commit(_ changes: [StoreChange]) async {
        guard !changes.isEmpty, let store = await client.keptStore() else { return }
        do throws(RelayError) {
            // What waits is older: written later, it would undo what is kept now.
            if isStoreBehind { try await store.flush() }
            isStoreBehind = false
            try await store.commit(changes)
        } catch {
            // It is kept as soon as the store takes something. Until then the store tells of it, once.
            isStoreBehind = true
            await store.append([], changes)
        }
    }

    /// Returns when all that was to be kept is kept, or cannot be: a try waits two seconds for another program that has
    /// the store locked, and a full disk refuses at once.
    func keepAll() async {
        guard let store = await client.keptStore() else { return }
        for _ in 0..<4 {
            do throws(RelayError) { return try await store.flush() } catch {}
        }
    }

    /// Keeps which topics were joined and left here, and in which order they were put. Another chat may share the
    /// store, and has joined others.
    func keepJoined(_ topics: [String]) async {
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
        guard let store = await client.keptStore() else { return }
        await store.append([], [change])
    }

    /// Keeps that a letter was read.
    func keepLetterRead(_ id: String, _ postbox: String) async {
        readLettersQuestion &+= 1
        await keep(.letterRead(id: id, postbox: postbox))
    }

    /// Keeps up to where a conversation was read. Without a stream nothing of it is kept.
    func keepReadMark(_ topic: String, _ sequence: UInt64) async {
        guard let stream = subscriptions[topic]?.source else { return }
        await keep(.readMark(topic, KeptPlace(stream: stream, sequence: sequence)))
    }
}
