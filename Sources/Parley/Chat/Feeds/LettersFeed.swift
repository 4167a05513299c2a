import Relay

/// The user's letters: new ones, and those listed, read, deleted and written; and the postboxes.
actor LettersFeed {
    enum Request: Equatable, Sendable {
        /// Fetch the user's postboxes and their counts, and subscribe to new letters.
        case open
        /// Follow letters, resuming after the last one received; or suspend that while none is in view.
        case follow(Bool)
        /// Count the letters again; requests in quick succession may share one count.
        case count
        /// Save that a letter was read. It may take a moment.
        case keepRead(id: String, postbox: String)
        /// Fetch a page of letters, of one postbox or of all.
        case listPage(request: UInt64, postbox: String?, token: String?, limit: Int, order: LetterOrder)
        /// Browse a postbox, or all: fetch a portion of its letters from the same source as the one before; nil lets
        /// the session choose.
        case readPortion(
            request: UInt64, postbox: String?, token: String?, from: LetterPortion.Source?, order: LetterOrder)
        case delete(ids: [String])
        /// Stop after the deletions that the network was already asked for.
        case stopDeleting
        case post(id: String, user: String, postbox: String, subject: String?, text: String)
        /// Carry out an act on the user's postboxes, answered by a `postboxes` event.
        case postboxes(PostboxAct)
        /// Refresh the list of postboxes in the background.
        case askForBoxes
        /// List the newest letters sent from here, up to `limit`.
        case listSent(limit: Int)
        case save(text: String, path: String, overwrites: Bool)
    }

    let core: FeedCore
    /// Changes of the postboxes, one at a time.
    let inOrder: SerialTasks
    private let store: StoreFeed
    /// Whether new letters are followed: not before the first connection, nor just after a failure.
    private var isFollowing = false
    private var letters: PostboxEvents?
    private var rests = false
    private var isWanted = false
    /// Whether the newest letters were requested for this machine to keep.
    private var hasAskedForLetters = false
    /// Asks for the postboxes until the network answers.
    var boxesTask: Task<Void, Never>?
    private var isCounting = false
    private var deletion: Task<Void, Never>?
    /// Grows with each query for the read letters and with each letter read, so that stale counts are recognized.
    private var readLettersQuestion: UInt64 = 0

    init(_ core: FeedCore, _ store: StoreFeed) {
        (self.core, self.store, inOrder) = (core, store, SerialTasks(core.tasks, core.queue))
    }

    func perform(_ request: Request) async {
        switch request {
        case .open:
            isWanted = true
            tellKeptPostboxes()
            connected()
        case .follow(let areFollowed):
            rests = !areFollowed
            letters?.setOnScreen(areFollowed)
        case .count:
            guard !isCounting else { return }
            isCounting = true
            core.begin { await self.count() }
        case .keepRead(let id, let postbox):
            readLettersQuestion &+= 1
            await store.keep(.letterRead(id: id, postbox: postbox))
        case .listPage(let request, let postbox, let token, let limit, let order):
            // The list is new or refreshed, and another device may have created a postbox.
            if token == nil { listPostboxes() }
            core.begin { await self.listPage(request, postbox, token, limit, order) }
        case .readPortion(let request, let postbox, let token, let source, let order):
            core.begin { await self.readLetters(request, postbox, token, from: source, order) }
        case .delete(let ids):
            deletion = core.begin { [core] in
                let result: BulkDeletion
                do throws(RelayError) {
                    result = try await core.client.deleteMessages(withMessageIds: ids) { done in
                        // The screen need not hear of each letter, nor of any while it is behind.
                        guard done.isMultiple(of: BulkDeletion.maximumCount) else { return }
                        _ = core.queue.offer(.postbox(.deleting(done: done)))
                    }
                } catch { result = BulkDeletion(none: ids, error) }
                await core.send(.postbox(.deleted(result)))
            }
        case .stopDeleting: deletion?.cancel()
        case .post(let id, let user, let postbox, let subject, let text):
            do throws(RelayError) {
                try await core.client.submitLetter(to: user, postbox: postbox, subject: subject, text: text, id: id)
            } catch {
                await core.send(.published(PublishNews(id: id, state: .failed(error))))
            }
        case .postboxes(let act): perform(act)
        case .askForBoxes: listPostboxes()
        case .listSent(let limit): listSent(limit)
        case .save(let text, let path, let overwrites):
            let outcome = await blocking { LetterFile.save(text, to: path, overwrites: overwrites) }
            await core.send(.postbox(.saving(outcome)))
        }
    }

    /// There may be a connection now.
    func connected() {
        guard isWanted, !isFollowing, core.client.status.state == .connected else { return }
        isFollowing = true
        listPostboxes()
        core.begin { await self.follow(after: Self.firstPause) }
    }

    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(60)

    /// - Parameter pause: the time before the next attempt, should this one fail.
    private func follow(after pause: Duration) async {
        var pause = pause
        do throws(RelayError) {
            let counts = try await core.client.countMessages()
            await core.send(.postbox(.counts(counts)))
            await settleReadLetters(counts)
            await core.send(.postbox(.subscription(.connecting)))
            let events = try await core.client.postboxMessages(onScreenOnly: true)
            letters = events
            if rests { events.setOnScreen(false) }
            var iterator = events.makeAsyncIterator()
            var isAgain = false
            while let event = try await iterator.next() {
                switch event {
                case .message(let letter): await core.send(.postbox(.created(letter)))
                // The connection's status says why a session ended.
                case .status(.error(.connection)): break
                case .status(let status):
                    await core.send(.postbox(.subscription(status)))
                    guard case .connected = status else { break }
                    // Everything may have changed during an outage. The subscription goes on even without the counts.
                    if isAgain { listPostboxes() }
                    (isAgain, pause) = (true, Self.firstPause)
                    if let counts = try? await core.client.countMessages() {
                        await core.send(.postbox(.counts(counts)))
                        await settleReadLetters(counts)
                        // A slow answer must not hold up new letters.
                        core.begin { await self.keepNewestLetters(counts) }
                    }
                case .unreadable(let letter): await core.send(.postbox(.created(PostboxMessage(letter))))
                case .gap: break
                }
            }
        } catch {
            // Only the first failure is news.
            if pause == Self.firstPause { await core.send(.postbox(.subscription(.error(error)))) }
            (isFollowing, letters) = (false, nil)
            // A missing right can only come with a new connection.
            if case .notAuthorized = error { return }
            core.begin { [pause] in await self.followAgain(after: pause) }
        }
    }

    /// Follows letters again, unless the connection is gone or a newer one already follows them.
    private func followAgain(after pause: Duration) async {
        try? await Task.sleep(for: pause)
        guard !Task.isCancelled, !isFollowing, core.client.status.state == .connected else { return }
        isFollowing = true
        await follow(after: min(pause * 2, Self.longestPause))
    }

    private func count() async {
        try? await Task.sleep(for: .milliseconds(100))
        isCounting = false
        guard let counts = try? await core.client.countMessages() else { return }
        await core.send(.postbox(.counts(counts)))
        await tellReadLetters()
    }

    private func listPage(
        _ request: UInt64, _ postbox: String?, _ token: String?, _ limit: Int, _ order: LetterOrder
    ) async {
        do throws(RelayError) {
            let page = try await core.client.listMessages(
                limit: limit, nextToken: token, postbox: postbox, order: order
            ).withUnreadable(order)
            await core.send(.postbox(.page(request: request, page)))
            await tellReadLetters(among: page.items.map(\.id))
        } catch {
            // Offline, the kept letters are shown instead, if any were ever listed.
            guard core.client.status.state != .connected,
                let kept = try? await core.client.keptLetters(
                    limit: limit, nextToken: token, postbox: postbox, order: order),
                kept.asOf != nil || !kept.page.items.isEmpty
            else { return await core.send(.postbox(.pageFailed(request: request, error))) }
            await core.send(.postbox(.keptPage(request: request, kept)))
            await tellReadLetters(among: kept.page.items.map(\.id))
        }
    }

    /// Reports which of these letters were read on this machine, and how many of each postbox.
    func tellReadLetters(among ids: [String] = []) async {
        guard let store = await core.client.keptStore() else { return }
        readLettersQuestion &+= 1
        let question = readLettersQuestion
        guard let read = try? await store.readLetters(among: ids) else { return }
        let counts = question == readLettersQuestion ? read.counts : nil
        await core.send(.postbox(.read(read.ids, counts: counts)))
    }

    /// The most pages listed to find letters deleted elsewhere.
    private static let settlingPages = 10

    /// Reports the read letters after a count. If the network has fewer letters than are known here, some were deleted
    /// elsewhere: listing them forgets those, so that a new letter does not pass for a read one.
    private func settleReadLetters(_ counts: [String: Int]) async {
        guard let known = try? await core.client.keptStore()?.readLetters(among: []) else { return }
        func exceedsCounts(_ box: (key: String, value: Int)) -> Bool { box.value > counts[box.key] ?? 0 }
        let isLess = known.counts.contains(where: exceedsCounts) || known.kept.contains(where: exceedsCounts)
        var token: String?
        for _ in 0..<Self.settlingPages where isLess {
            guard let page = try? await core.client.listMessages(limit: 100, nextToken: token) else { break }
            token = page.nextToken
            if token == nil { break }
        }
        await tellReadLetters()
    }

    /// Fetches the newest letters that this machine lacks, once, so that they can be read and counted offline even if
    /// the inbox was never opened. Later letters are kept as they arrive.
    private func keepNewestLetters(_ counts: [String: Int]) async {
        guard !hasAskedForLetters, !rests,
            let kept = try? await core.client.keptStore()?.readLetters(among: []).kept,
            counts.contains(where: { $0.value > kept[$0.key] ?? 0 })
        else { return }
        hasAskedForLetters = true
        _ = try? await core.client.listMessages(limit: RelayClient.maximumPage, postbox: nil, order: .newestFirst)
    }
}
