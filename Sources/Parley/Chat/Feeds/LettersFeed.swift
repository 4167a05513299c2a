import Relay

/// The person's postbox: the letters that come, those that are listed, read, deleted and written, and its postboxes.
actor LettersFeed {
    enum Request: Equatable, Sendable {
        /// Fetch the person's postboxes, their counts, and subscribe to new letters.
        case open
        /// Have letters rest while none is in view, or follow them again, behind what came last.
        case follow(Bool)
        /// Count the letters again; several requests in a short time may be answered by one count.
        case count
        /// Keep that a letter was read. It may take a moment.
        case keepRead(id: String, postbox: String)
        /// Fetch a page of letters, of one postbox or of all.
        case listPage(request: UInt64, postbox: String?, token: String?, limit: Int, order: LetterOrder)
        /// Go through a postbox, or all: fetch a portion of its letters. What it was read from goes on to be read; nil
        /// lets the session choose.
        case readPortion(
            request: UInt64, postbox: String?, token: String?, from: LetterPortion.Source?, order: LetterOrder)
        case delete(ids: [String])
        /// Delete no more of them than the network was asked for.
        case stopDeleting
        case post(id: String, user: String, postbox: String, subject: String?, text: String)
        /// Do something with the person's postboxes; `postboxes` tells what became of it.
        case postboxes(PostboxAct)
        /// Ask again which postboxes there are; nobody waits for the answer.
        case askForBoxes
        /// Tell which letters were sent from here, at most `limit`, the newest.
        case listSent(limit: Int)
        /// Write a letter's text into a file, over one that is there only where the person wants that.
        case save(text: String, path: String, overwrites: Bool)
    }

    let core: FeedCore
    /// Changes of the postboxes, one after the other.
    let inOrder: SerialTasks
    private let store: StoreFeed
    /// Whether the letters that come are followed: not before the first connection, nor where that failed a moment ago.
    private var isFollowing = false
    private var letters: PostboxEvents?
    private var rests = false
    private var isWanted = false
    /// Whether the network was asked for the newest letters, for this machine to keep.
    private var hasAskedForLetters = false
    /// Asks for the postboxes until the network tells them.
    var boxesTask: Task<Void, Never>?
    private var isCounting = false
    private var deletion: Task<Void, Never>?
    /// Grows with each question which letters were read, and with each that is: of answers the newest alone counts.
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
            // The list is opened or asked for anew: another device may have made a postbox.
            if token == nil { listPostboxes() }
            core.begin { await self.listPage(request, postbox, token, limit, order) }
        case .readPortion(let request, let postbox, let token, let source, let order):
            core.begin { await self.readLetters(request, postbox, token, from: source, order) }
        case .delete(let ids):
            deletion = core.begin { [core] in
                let result: BulkDeletion
                do throws(RelayError) {
                    result = try await core.client.deleteMessages(withMessageIds: ids) { done in
                        // The screen need not hear of each, and of none where it is behind.
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

    /// How long it takes until letters that could not be followed are followed again: longer each time.
    private static let firstPause = Duration.seconds(5)
    private static let longestPause = Duration.seconds(60)

    /// - Parameter pause: after which it is begun again where it fails.
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
                // Why a session ended is told by the connection's status.
                case .status(.error(.connection)): break
                case .status(let status):
                    await core.send(.postbox(.subscription(status)))
                    guard case .connected = status else { break }
                    // After an outage all may have changed elsewhere. Without the figures the subscription goes on.
                    if isAgain { listPostboxes() }
                    (isAgain, pause) = (true, Self.firstPause)
                    if let counts = try? await core.client.countMessages() {
                        await core.send(.postbox(.counts(counts)))
                        await settleReadLetters(counts)
                        // A slow answer holds up no letter that comes.
                        core.begin { await self.keepNewestLetters(counts) }
                    }
                case .unreadable(let letter): await core.send(.postbox(.created(PostboxMessage(letter))))
                case .gap: break
                }
            }
        } catch {
            // That it goes on so is no news.
            if pause == Self.firstPause { await core.send(.postbox(.subscription(.error(error)))) }
            (isFollowing, letters) = (false, nil)
            // Whoever may not read letters may with the next connection at the earliest.
            if case .notAuthorized = error { return }
            core.begin { [pause] in await self.followAgain(after: pause) }
        }
    }

    /// Follows letters again on the same connection; where there is none, or a newer one, that has done so or will.
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
            // While the network cannot be asked, it is what is kept, where letters were ever listed.
            guard core.client.status.state != .connected,
                let kept = try? await core.client.keptLetters(
                    limit: limit, nextToken: token, postbox: postbox, order: order),
                kept.asOf != nil || !kept.page.items.isEmpty
            else { return await core.send(.postbox(.pageFailed(request: request, error))) }
            await core.send(.postbox(.keptPage(request: request, kept)))
            await tellReadLetters(among: kept.page.items.map(\.id))
        }
    }

    /// Tells which of these letters were read on this machine, and how many of each postbox.
    func tellReadLetters(among ids: [String] = []) async {
        guard let store = await core.client.keptStore() else { return }
        readLettersQuestion &+= 1
        let question = readLettersQuestion
        guard let read = try? await store.readLetters(among: ids) else { return }
        let counts = question == readLettersQuestion ? read.counts : nil
        await core.send(.postbox(.read(read.ids, counts: counts)))
    }

    /// Pages that are listed at most to find out what was deleted elsewhere.
    private static let settlingPages = 10

    /// The same once the network has counted the letters. Where it has fewer than are known here, some were deleted
    /// elsewhere: the list takes them away, so that a new one is not taken for one that was read.
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

    /// Has this machine keep the newest letters that it lacks, once: without a connection they can be read and counted
    /// then, though nobody has opened the inbox. What comes later is kept as it comes.
    private func keepNewestLetters(_ counts: [String: Int]) async {
        guard !hasAskedForLetters, !rests,
            let kept = try? await core.client.keptStore()?.readLetters(among: []).kept,
            counts.contains(where: { $0.value > kept[$0.key] ?? 0 })
        else { return }
        hasAskedForLetters = true
        _ = try? await core.client.listMessages(limit: RelayClient.maximumPage, postbox: nil, order: .newestFirst)
    }
}
