import Relay

/// Carries out what the screen asks for, over one client, and brings the news back.
actor ChatEngine {
    let client: RelayClient
    private var user: String
    let connector: Connector
    let queue: EventQueue
    /// The joined topics, whose news go to the queue.
    private(set) var subscriptions: [String: TopicEvents] = [:]
    /// What reads back to what was read in each topic.
    var readBacks: [String: Task<Void, Never>] = [:]
    /// The topics that rest while they are out of view.
    private var resting: Set<String> = []
    private var watchers: [Task<Void, Never>] = []
    private var lettersTask: Task<Void, Never>?
    private var letters: PostboxEvents?
    private(set) var lettersRest = false
    /// Whether the network was asked for the newest letters, for this machine to keep.
    var hasAskedForLetters = false
    /// Asks for the postboxes until the network tells them.
    var boxesTask: Task<Void, Never>?
    private var countTask: Task<Void, Never>?
    /// Letters that are leaving the postbox.
    private var deletion: Task<Void, Never>?
    private var keyValueTask: Task<Void, Never>?
    private var keyWatch: Task<Void, Never>?
    private var peopleWatch: Task<Void, Never>?
    /// The newest change of the postboxes; it waits for those before it.
    var postboxesTask: Task<Void, Never>?
    /// The newest search; it waits for those before it.
    var searchTask: Task<Void, Never>?
    /// The command of the configuration that notifies the person, while it runs.
    var notifier: Task<Void, Never>?
    private var wantsPostbox = false
    /// Grows with each question which letters were read, and with each that is: of answers the newest alone counts.
    var readLettersQuestion: UInt64 = 0
    /// The joined topics, as far as this chat has told the local store.
    var keptTopics: [String] = []
    /// The lab, while the connection goes through it.
    var lab: ChatLab?
    /// The lab that ended last, of which what was done can still be saved.
    var endedLab: ChatLab?
    /// Sees what is handed over and what arrives, for the lab.
    let labTap = LabTap()
    /// What becomes of the connection while the person is away, as it was said last.
    var lifecyclePolicy: LifecyclePolicy
    /// What the lab does, one after the other.
    var labTask: Task<Void, Never>?
    /// Whether something that was to be kept at once waits in the local store, which took nothing.
    var isStoreBehind = false
    /// What was told last of a trouble of the local store that is not over.
    private var storeTrouble: String?
    /// Why there was no access token; shown when the session ends because of it.
    private var tokenFailure: String?

    init(_ connector: Connector, queue: EventQueue) {
        client = RelayClient(configuration: connector.configuration)
        user = connector.user
        lifecyclePolicy = connector.configuration.lifecycle
        self.connector = connector
        self.queue = queue
    }

    /// Connects and reports from then on.
    func start() async {
        // Watched from here on, so that no task's late start misses anything.
        let (statuses, publishes) = (client.statuses, client.publishes)
        let (openings, queue) = (client.storeOpenings, queue)
        watchers.append(
            Task {
                for await opening in openings {
                    guard let words = Self.words(opening) else { continue }
                    await queue.send(.notice(words, isFailure: opening.error != nil))
                    // A failure that is told is in the log already.
                    if opening.error == nil { await queue.send(.log(words)) }
                }
            })
        watchers.append(
            Task { [weak self, client] in
                guard let news = await client.storeNews() else { return }
                for await one in news { await self?.tell(one) }
            })
        if let tokenCommand = connector.tokenCommand {
            watchers.append(
                Task { [weak self] in
                    for await words in tokenCommand.failures { await self?.tokenFailed(words) }
                })
        }
        watchers.append(
            Task { [weak self] in
                for await status in statuses { await self?.statusChanged(status) }
            })
        watchers.append(
            Task { [labTap] in
                for await news in publishes {
                    await queue.send(.published(news))
                    if labTap.isAttached { await labTap.take(news) }
                }
            })
        await client.beginConnecting(within: connector.connectTimeout)
    }

    /// What is said of the local store's opening; nil where all is well.
    static func words(_ opening: LocalStore.Opening) -> String? {
        switch opening {
        // That there is a new one where there was none is no news to anybody.
        case .memory, .found, .made: return nil
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

    /// What is said of a store that takes nothing, or takes everything again.
    static func words(_ news: StoreNews) -> String {
        switch news {
        case .failing(let error): return error.words
        case .recovered(0): return "The local store keeps what comes again."
        case .recovered(let notKept):
            let missing = Wording.count(notKept, "message of the meantime is", plural: "messages of the meantime are")
            return "The local store keeps what comes again. \(missing) on the network alone."
        }
    }

    /// Says that the local store takes nothing, or takes everything again.
    func tell(_ news: StoreNews) async {
        if case .failing(let error) = news { return await tellStoreTrouble(error) }
        storeTrouble = nil
        let words = Self.words(news)
        await queue.send(.notice(words, isFailure: false))
        await queue.send(.log(words))
    }

    /// Says what is wrong with the local store, once until it is over, whoever finds it.
    func tellStoreTrouble(_ error: RelayError) async {
        guard storeTrouble != error.words else { return }
        storeTrouble = error.words
        await queue.send(.notice(error.words, isFailure: true))
    }

    /// Ends the session; what waits to be sent has a moment to leave.
    func stop() async {
        for task in readBacks.values { task.cancel() }
        subscriptions = [:]
        lettersTask?.cancel()
        boxesTask?.cancel()
        deletion?.cancel()
        keyWatch?.cancel()
        peopleWatch?.cancel()
        connector.tokenCommand?.end()
        notifier?.cancel()
        await leaveLab()
        await client.close()
        for watcher in watchers { watcher.cancel() }
    }

    /// The process is about to stop. Returns when the connection is closed, whatever it is kept for otherwise.
    func letGo() async { await client.lifecycleChanged(.stopping) }

    // MARK: Effects

    func perform(_ effect: CoreEffect) async {
        switch effect {
        case .subscribe(let topic): await subscribe(topic)
        case .unsubscribe(let topic):
            readBacks.removeValue(forKey: topic)?.cancel()
            subscriptions.removeValue(forKey: topic)?.cancel()
            labTap.leave(topic)
            resting.remove(topic)
        case .follow(let topic, let isFollowed):
            if isFollowed { resting.remove(topic) } else { resting.insert(topic) }
            subscriptions[topic]?.setOnScreen(isFollowed)
        case .followLetters(let areFollowed):
            lettersRest = !areFollowed
            letters?.setOnScreen(areFollowed)
        case .loadHistory(let topic, let before, let limit): loadHistory(topic, before, limit)
        case .openStore: await openStore()
        case .keepJoined(let topics): await keepJoined(topics)
        case .keepLine(let line): await commit(.line(line))
        case .keepIgnored(let name, let isIgnored): await commit(.ignored(name, isIgnored))
        case .keepMuted(let name, let isMuted): await commit(.muted(name, isMuted))
        case .keepChoice(let name, let value): await commit(.choice(name.rawValue, value))
        case .keepDraft(let draft): await keep(.draft(conversation: draft.conversation, draft.text))
        case .keepPlace(let place): await keep(.place(place.kept))
        case .keepReadMark(let topic, let sequence): await keepReadMark(topic, sequence)
        case .publish(let id, let topic, let text): await publish(id, topic, text)
        case .sendAgain(let id, let topic, let text): await sendAgain(id, topic, text)
        case .drop(let ids): await drop(ids)
        case .search(let request, let query, let limit): search(request, query, limit)
        case .readAround(let request, let topic, let place, let direction, let limit):
            readAround(request, topic, place, direction, limit)
        case .openPostbox:
            wantsPostbox = true
            tellKeptPostboxes()
            if client.status.state == .connected { openPostbox() }
        case .countLetters: countLetters()
        case .keepLetterRead(let id, let postbox): await keepLetterRead(id, postbox)
        case .listPage(let request, let postbox, let token, let limit, let order):
            listPage(request, postbox, token, limit, order)
        case .readLetters(let request, let postbox, let token, let source, let order):
            readLetters(request, postbox, token, from: source, order)
        case .delete(let ids):
            deletion = Task { [client, queue] in
                let result: BulkDeletion
                do throws(RelayError) {
                    result = try await client.deleteMessages(withMessageIds: ids) { done in
                        // The screen need not hear of each, and of none where it is behind.
                        guard done.isMultiple(of: BulkDeletion.maximumCount) else { return }
                        _ = queue.offer(.postbox(.deleting(done: done)))
                    }
                } catch { result = BulkDeletion(none: ids, error) }
                await queue.send(.postbox(.deleted(result)))
            }
        case .stopDeleting: deletion?.cancel()
        case .postLetter(let id, let user, let postbox, let subject, let text):
            await postLetter(id, user, postbox, subject, text)
        case .postboxes(let act): perform(act)
        case .listSent(let limit): listSent(limit)
        case .saveLetter(let text, let path, let overwrites):
            let outcome = await blocking { LetterFile.save(text, to: path, overwrites: overwrites) }
            await queue.send(.postbox(.saving(outcome)))
        case .keyValue(let request): perform(request)
        case .changeKey(let id, let change): await perform(change, id)
        case .watchPeople(let topic): watchPeople(of: topic)
        case .appear(let topics): await appear(in: topics)
        case .setPresence(let presence): await setPresence(presence)
        case .typing(let topic): await setTyping(in: topic)
        case .setActive(let isActive): await client.setAppStateActive(isActive)
        case .setSuspension(let policy):
            lifecyclePolicy = policy
            lab?.lifecyclePolicyChanged(policy)
            await client.setLifecyclePolicy(policy)
        case .runNotifier(let line, let notification): runNotifier(line, notification)
        case .nudge: await client.nudge()
        case .probe: await client.lifecycleChanged(.probe)
        case .disconnect: await client.disconnect()
        case .reconnect: await client.reconnect()
        case .openLab: openLab()
        case .labActs(let deeds): perform(deeds)
        case .watchLab(let isWatched): await lab?.watch(isWatched)
        case .saveLab(let path): await saveLab(path)
        case .endLab: endLab()
        }
    }

    private func watchPeople(of topic: String?) {
        peopleWatch?.cancel()
        peopleWatch = topic.map { people(of: $0) }
    }

    // MARK: Connection

    private func statusChanged(_ status: ConnectionStatus) async {
        if status.state == .connected, let name = client.user, name != user || !connector.isNamed {
            // A token names its user; until one arrives the user is not known.
            user = name
            await queue.send(.identified(.init(user: name, network: connector.network)))
        }
        if status.state == .connected {
            await queue.send(.bounded(messageBytes: client.largestText))
            await queue.send(.permitted(client.accessRights))
        }
        await queue.send(.statusChanged(status))
        if status.state == .disconnected, let words = tokenFailure {
            tokenFailure = nil
            await queue.send(.notice("\(words) /reconnect tries again.", isFailure: true))
        } else if status.state == .connected {
            tokenFailure = nil
        }
        if status.state == .connected, wantsPostbox, lettersTask == nil { openPostbox() }
    }

    private func tokenFailed(_ words: String) async {
        tokenFailure = words
        await queue.send(.log(words))
        // The end of the session may have been quicker.
        if client.status.state == .disconnected { await statusChanged(client.status) }
    }

    // MARK: Topics

    private func subscribe(_ topic: String) async {
        subscriptions.removeValue(forKey: topic)?.cancel()
        // What was missed since then comes from the network, and nothing that is here already.
        let start = await restore(topic).map { SubscriptionStart.after($0) } ?? .new
        do throws(RelayError) {
            let subscription = try await client.messages(
                topic: topic, from: start, onScreenOnly: true,
                into: TopicFeed(topic: topic, queue: queue, labTap: labTap))
            subscriptions[topic] = subscription
            if resting.contains(topic) { subscription.setOnScreen(false) }
        } catch {
            await queue.send(.topic(topic, [.interrupted(error, passes: false)]))
        }
    }

    /// The topics that are followed now.
    var followedTopics: [String] { subscriptions.keys.filter { !resting.contains($0) } }

    /// Older messages are loaded in parts of so many bytes, however large each of them is.
    private static let historyBytes = 16 << 20

    private func loadHistory(_ topic: String, _ before: UInt64?, _ limit: Int) {
        Task { [client, queue] in
            if let before, let page = await Self.kept(topic, before: before, limit, client) {
                return await queue.send(.past(topic, page))
            }
            do throws(RelayError) {
                let page = try await client.history(
                    topic: topic, before: before, limit: limit, bytes: Self.historyBytes)
                await queue.send(.past(topic, Self.news(page, before: before)))
            } catch {
                await queue.send(.past(topic, .historyFailed(error)))
            }
        }
    }

    private func publish(_ id: String, _ topic: String, _ text: String) async {
        // What nobody here listens to comes back to nobody.
        if subscriptions[topic] != nil { await labTap.handsOver(id, to: topic) }
        let time = WallClock.now
        do throws(RelayError) {
            try await client.enqueueLine(
                topic: topic, text: text, from: writer, writtenAt: time, id: id, keepsRefused: true)
        } catch {
            await failed(id, error)
        }
    }

    /// Who writes; nil where a token is to bring the name, for which the line waits.
    private var writer: String? {
        !connector.isNamed && connector.tokenCommand != nil && client.user == nil ? nil : user
    }

    /// Sends a line again. Where the local store does not have it, it is sent as what may be stored already.
    private func sendAgain(_ id: String, _ topic: String, _ text: String) async {
        if subscriptions[topic] != nil { await labTap.handsOver(id, to: topic) }
        do throws(RelayError) {
            do throws(RelayError) { return try await client.sendAgain(id: id) } catch {
                switch error {
                case .notFound, .storage: break
                default: throw error
                }
            }
            try await client.enqueueLine(
                topic: topic, text: text, from: writer, writtenAt: WallClock.now, id: id, mayBeStored: true,
                keepsRefused: true)
        } catch {
            await failed(id, error)
        }
    }

    private func drop(_ ids: [String]) async {
        do throws(RelayError) { try await client.drop(ids: ids) } catch {
            await queue.send(.notice("\(error.words) What was dropped comes back at the next start.", isFailure: true))
        }
    }

    /// The core did not take a message.
    private func failed(_ id: String, _ error: RelayError) async {
        let news = PublishNews(id: id, state: .failed(error))
        await queue.send(.published(news))
        await labTap.take(news)
    }

    // MARK: Postbox

    private func openPostbox() {
        listPostboxes()
        lettersTask = Task { [client, queue] in
            do throws(RelayError) {
                let counts = try await client.countMessages()
                await queue.send(.postbox(.counts(counts)))
                await settleReadLetters(counts)
                await queue.send(.postbox(.subscription(.connecting)))
                var iterator = try await subscribeToLetters().makeAsyncIterator()
                var isAgain = false
                while let event = try await iterator.next() {
                    switch event {
                    case .message(let letter): await queue.send(.postbox(.created(letter)))
                    // Why a session ended is told by the connection's status.
                    case .status(.error(.connection)): break
                    case .status(let status):
                        await queue.send(.postbox(.subscription(status)))
                        guard case .connected = status else { break }
                        // After an outage all may have changed elsewhere. Without the figures the subscription goes on.
                        if isAgain { listPostboxes() }
                        isAgain = true
                        if let counts = try? await client.countMessages() {
                            await queue.send(.postbox(.counts(counts)))
                            await settleReadLetters(counts)
                            // A slow answer holds up no letter that comes.
                            Task { await keepNewestLetters(counts) }
                        }
                    case .unreadable(let letter):
                        await queue.send(.postbox(.created(PostboxMessage(letter))))
                    case .gap: break
                    }
                }
            } catch {
                await queue.send(.postbox(.subscription(.error(error))))
                postboxEnded()
            }
        }
    }

    private func subscribeToLetters() async throws(RelayError) -> PostboxEvents {
        let events = try await client.postboxMessages(onScreenOnly: true)
        letters = events
        if lettersRest { events.setOnScreen(false) }
        return events
    }

    /// Tried again with the next connection.
    private func postboxEnded() { (lettersTask, letters) = (nil, nil) }

    private func countLetters() {
        guard countTask == nil else { return }
        countTask = Task { [client, queue] in
            try? await Task.sleep(for: .milliseconds(100))
            countEnds()
            guard let counts = try? await client.countMessages() else { return }
            await queue.send(.postbox(.counts(counts)))
            await tellReadLetters()
        }
    }

    private func countEnds() { countTask = nil }

    private func listPage(
        _ request: UInt64, _ postbox: String?, _ token: String?, _ limit: Int, _ order: LetterOrder
    ) {
        Task { [client, queue] in
            do throws(RelayError) {
                let page = try await client.listMessages(
                    limit: limit, nextToken: token, postbox: postbox, order: order
                ).withUnreadable(order)
                await queue.send(.postbox(.page(request: request, page)))
                await tellReadLetters(among: page.items.map(\.id))
            } catch {
                if let kept = await Self.keptPage(postbox, token, limit, order, client) {
                    await queue.send(.postbox(.keptPage(request: request, kept)))
                    return await tellReadLetters(among: kept.page.items.map(\.id))
                }
                await queue.send(.postbox(.pageFailed(request: request, error)))
            }
        }
    }

    private func postLetter(
        _ id: String, _ user: String, _ postbox: String, _ subject: String?, _ text: String
    ) async {
        do throws(RelayError) {
            try await client.enqueueLetter(
                to: user, postbox: postbox, subject: subject, text: text, id: id, keepsRefused: true)
        } catch {
            await failed(id, error)
        }
    }

    // MARK: Keys and values

    private func perform(_ request: KeyValueRequest) {
        switch request {
        case .watch(let pattern): return watchKeys(pattern ?? ">")
        case .unwatch: return endKeyWatch()
        case .get, .put, .delete, .purge, .history, .keys: break
        }
        keyValueTask = Task { [client, queue, keyValueTask] in
            // One after the other, so that a person reads what was just set.
            await keyValueTask?.value
            do throws(RelayError) {
                await queue.send(.keys(try await request.answer(from: client), isFailure: false))
            } catch {
                await queue.send(.keys(KeyValueRequest.words(error), isFailure: true))
            }
        }
    }

    /// Hands a change to the core at once, which keeps it from then on and tells what becomes of it.
    private func perform(_ change: KeyValueRequest.Change, _ id: String) async {
        do throws(RelayError) {
            let pending = try await change.enqueue(at: client, id: id)
            guard client.status.state == .connected else { return }
            keyValueTask = Task { [keyValueTask] in
                await keyValueTask?.value
                _ = try? await pending.receipt(within: .seconds(10))
            }
        } catch {
            await failed(id, error)
        }
    }

    /// Tells of each change of some keys, in place of those that were watched before.
    private func watchKeys(_ pattern: String) {
        keyWatch?.cancel()
        keyWatch = Task { [client, queue] in
            if client.status.state != .connected {
                let words = "\(pattern) is watched as soon as there is a connection. /kv unwatch ends it."
                await queue.send(.notice(words, isFailure: false))
            }
            do throws(RelayError) {
                var iterator = try await client.watch(key: pattern).makeAsyncIterator()
                // What is there already would drown the screen; /kv keys lists it.
                var isLive = false
                var count = 0
                while let event = try await iterator.next() {
                    switch event {
                    case .change(let change):
                        guard isLive else {
                            if change.stored != nil { count += 1 }
                            continue
                        }
                        await queue.send(.keys(KeyValueRequest.words(change), isFailure: false))
                    case .live:
                        guard !isLive else { continue }
                        isLive = true
                        let words = "Watching \(pattern), \(Wording.count(count, "key")) now. /kv unwatch ends it."
                        await queue.send(.notice(words, isFailure: false))
                    case .restarted: await queue.send(.log("The network's key-value store was made anew."))
                    case .interrupted(let error, _): await queue.send(.keys(error.words, isFailure: true))
                    }
                }
            } catch {
                await queue.send(.keys(error.words, isFailure: true))
            }
        }
    }

    private func endKeyWatch() {
        let words = keyWatch == nil ? "No keys are watched." : "Keys are watched no more."
        keyWatch?.cancel()
        keyWatch = nil
        Task { [queue] in await queue.send(.notice(words, isFailure: false)) }
    }
}
