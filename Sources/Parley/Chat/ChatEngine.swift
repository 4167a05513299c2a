import Relay

/// What all feeds of a chat share: its client, the queue to its screen, and the tasks they start.
struct FeedCore: Sendable {
    let client: RelayClient
    let connector: Connector
    let queue: EventQueue
    let tasks = ChatTasks()

    init(_ connector: Connector, _ queue: EventQueue) {
        client = RelayClient(configuration: connector.configuration)
        (self.connector, self.queue) = (connector, queue)
    }

    func send(_ event: ChatEvent) async { await queue.send(event) }

    @discardableResult
    func begin(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> { tasks.begin(work) }

    /// The local store, for requests that nothing else can answer.
    func store() async throws(RelayError) -> LocalStore {
        if let store = await client.keptStore() { return store }
        throw .invalidArgument("Nothing is kept on this machine; /log may say why")
    }
}

/// Carries out the screen's requests over one client and sends the news back. Each feed has its own requests and state.
struct ChatEngine: Sendable {
    let core: FeedCore
    let store: StoreFeed
    let topics: TopicsFeed
    private let people: PeopleFeed
    private let search: SearchFeed
    private let letters: LettersFeed
    private let keys: KeyValueFeed
    private let connection: ConnectionFeed
    private let lab: LabFeed
    private let notifier: NotifierFeed

    init(_ connector: Connector, queue: EventQueue) {
        core = FeedCore(connector, queue)
        store = StoreFeed(core)
        topics = TopicsFeed(core, store)
        people = PeopleFeed(core)
        search = SearchFeed(core)
        letters = LettersFeed(core, store)
        keys = KeyValueFeed(core)
        connection = ConnectionFeed(core, letters)
        lab = LabFeed(core, topics)
        notifier = NotifierFeed(queue, core.tasks)
    }

    enum Request: Sendable {
        case effect(CoreEffect)
        /// Close the connection because the process is about to stop, then open the gate.
        case letGo(Gate)
    }

    /// Connects, reports, and carries out requests until there are no more; then saves what was typed and ends the
    /// session. All tasks of the feeds have ended when it returns.
    ///
    /// - Parameter kept: opened once everything is saved, or cannot be.
    func run(_ requests: AsyncStream<Request>, kept: Gate) async {
        let client = core.client
        // Subscribed here, so that a task that starts late misses nothing.
        let (openings, statuses, publishes) = (client.storeOpenings, client.statuses, client.publishes)
        await withDiscardingTaskGroup { group in
            group.addTask { await core.tasks.run() }
            group.addTask { await lab.tasks.run() }
            group.addTask { await store.follow(openings) }
            group.addTask { await store.followNews() }
            group.addTask { await connection.followTokenFailures() }
            group.addTask { await connection.follow(statuses) }
            group.addTask {
                for await news in publishes {
                    await core.send(.published(news))
                    await core.queue.labTap.withLockedValue(\.self)?.take(news)
                }
            }
            await client.beginConnecting(within: core.connector.connectTimeout)
            for await request in requests {
                switch request {
                case .effect(let effect): await perform(effect)
                case .letGo(let gate):
                    await client.outboxKept()
                    await client.lifecycleChanged(.stopping)
                    gate.open()
                }
            }
            await store.keepAll()
            await client.outboxKept()
            kept.open()
            await stop()
            group.cancelAll()
        }
    }

    func perform(_ effect: CoreEffect) async {
        switch effect {
        case .topics(let request): await topics.perform(request)
        case .people(let request): await people.perform(request)
        case .store(let request): await store.perform(request)
        case .search(let request): search.perform(request)
        case .letters(let request): await letters.perform(request)
        case .keys(let request): await keys.perform(request)
        case .connection(let request):
            if case .setSuspension(let policy) = request { lab.policy.withLockedValue { $0 = policy } }
            await connection.perform(request)
        case .lab(let request): await lab.perform(request)
        case .runNotifier(let line, let notification): await notifier.run(line, notification)
        }
    }

    /// Ends the session; queued messages get a moment to leave.
    func stop() async {
        await topics.end()
        core.connector.tokenCommand?.end()
        core.tasks.end()
        await lab.leave()
        await core.client.close()
    }
}
