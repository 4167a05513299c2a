import Relay

/// Carries out what the screen asks for, over one client, and brings the news back: by feeds, each of which has its own
/// requests and its own state.
struct ChatEngine: Sendable {
    private let client: RelayClient
    let tasks = ChatTasks()
    private let connector: Connector
    private let queue: EventQueue
    private let labTap = LabTap()
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
        client = RelayClient(configuration: connector.configuration)
        (self.connector, self.queue) = (connector, queue)
        store = StoreFeed(client, queue)
        topics = TopicsFeed(client, connector, queue, tasks, store, labTap)
        people = PeopleFeed(client, queue, tasks)
        search = SearchFeed(client, queue, tasks)
        letters = LettersFeed(client, queue, tasks, store)
        keys = KeyValueFeed(client, queue, tasks)
        connection = ConnectionFeed(client, connector, queue, letters)
        lab = LabFeed(client, connector, queue, topics, labTap)
        notifier = NotifierFeed(queue, tasks)
    }

    /// What it is asked for.
    enum Request: Sendable {
        case effect(CoreEffect)
        /// Let the connection go, as the process is about to stop, and open the gate.
        case letGo(Gate)
    }

    /// Connects, reports, and does what it is asked for, until no more of that comes; then keeps what was typed, and
    /// ends the session. What the feeds have begun is over by then.
    ///
    /// - Parameter kept: opened when all that was to be kept is kept, or cannot be.
    func run(_ requests: AsyncStream<Request>, kept: Gate) async {
        // Watched from here on, so that no task's late start misses anything.
        let (openings, statuses, publishes) = (client.storeOpenings, client.statuses, client.publishes)
        await withDiscardingTaskGroup { group in
            group.addTask { await tasks.run() }
            group.addTask { await lab.run() }
            group.addTask { await store.follow(openings) }
            group.addTask { await store.followNews() }
            group.addTask { await connection.followTokenFailures() }
            group.addTask { await connection.follow(statuses) }
            group.addTask { await follow(publishes) }
            await client.beginConnecting(within: connector.connectTimeout)
            for await request in requests {
                switch request {
                case .effect(let effect): await perform(effect)
                case .letGo(let gate):
                    await client.lifecycleChanged(.stopping)
                    gate.open()
                }
            }
            await store.keepAll()
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
            if case .setSuspension(let policy) = request { await lab.lifecyclePolicyChanged(policy) }
            await connection.perform(request)
        case .lab(let request): await lab.perform(request)
        case .runNotifier(let line, let notification): await notifier.run(line, notification)
        }
    }

    /// Ends the session; what waits to be sent has a moment to leave.
    func stop() async {
        await topics.end()
        connector.tokenCommand?.end()
        tasks.end()
        await lab.leave()
        await client.close()
    }

    /// What becomes of messages on their way.
    private func follow(_ publishes: AsyncStream<PublishNews>) async {
        for await news in publishes {
            await queue.send(.published(news))
            if labTap.isAttached { await labTap.take(news) }
        }
    }
}
