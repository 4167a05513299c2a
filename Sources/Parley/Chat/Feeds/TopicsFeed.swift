import Relay

/// The joined topics: what they tell, what is written to them, and what the local store has of them.
actor TopicsFeed {
    /// What it is asked for.
    enum Request: Equatable, Sendable {
        /// Subscribe to a topic or pattern.
        case subscribe(topic: String)
        case unsubscribe(topic: String)
        /// Have a topic rest while it is out of view, or follow it again, behind what came last.
        case follow(topic: String, Bool)
        /// Fetch up to `limit` messages of `topic` that are older than `before`, or the newest ones: from the local
        /// store, and from the network where that has none.
        case loadHistory(topic: String, before: UInt64?, limit: Int)
        /// Keep up to where a conversation was read. It may take a moment.
        case keepReadMark(topic: String, sequence: UInt64)
        /// Hand a line to the core, under the id that every attempt to send it has.
        case publish(id: String, topic: String, text: String)
        /// Hand a line that was not sent to the core once more, under its id.
        case sendAgain(id: String, topic: String, text: String)
        /// Forget lines and letters that were not sent.
        case drop(ids: [String])
    }

    private let client: RelayClient
    private let connector: Connector
    private let queue: EventQueue
    private let tasks: ChatTasks
    private let store: StoreFeed
    private let labTap: LabTap
    /// The joined topics, whose news go to the queue.
    private var subscriptions: [String: TopicEvents] = [:]
    /// What reads back to what was read in each topic.
    private var readBacks: [String: Task<Void, Never>] = [:]
    /// The topics that rest while they are out of view.
    private var resting: Set<String> = []

    init(
        _ client: RelayClient, _ connector: Connector, _ queue: EventQueue, _ tasks: ChatTasks, _ store: StoreFeed,
        _ labTap: LabTap
    ) {
        (self.client, self.connector, self.queue) = (client, connector, queue)
        (self.tasks, self.store, self.labTap) = (tasks, store, labTap)
    }

    func perform(_ request: Request) async {
        switch request {
        case .subscribe(let topic): await subscribe(topic)
        case .unsubscribe(let topic):
            readBacks.removeValue(forKey: topic)?.cancel()
            subscriptions.removeValue(forKey: topic)?.cancel()
            labTap.leave(topic)
            resting.remove(topic)
        case .follow(let topic, let isFollowed):
            if isFollowed { resting.remove(topic) } else { resting.insert(topic) }
            subscriptions[topic]?.setOnScreen(isFollowed)
        case .loadHistory(let topic, let before, let limit): loadHistory(topic, before, limit)
        case .keepReadMark(let topic, let sequence): await keepReadMark(topic, sequence)
        case .publish(let id, let topic, let text): await publish(id, topic, text)
        case .sendAgain(let id, let topic, let text): await sendAgain(id, topic, text)
        case .drop(let ids): await drop(ids)
        }
    }

    /// Ends all subscriptions.
    func end() { subscriptions = [:] }

    private func subscribe(_ topic: String) async {
        subscriptions.removeValue(forKey: topic)?.cancel()
        // What was missed since then comes from the network, and nothing that is here already.
        let start = await restore(topic).map { SubscriptionStart.after($0) } ?? .new
        do throws(RelayError) {
            let subscription = try await client.messages(
                topic: topic, from: start, onScreenOnly: true,
                into: TopicReceiver(topic: topic, queue: queue, labTap: labTap))
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
        tasks.begin { [client, queue] in
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

    // MARK: What is kept

    /// Shows the newest page of what is kept of a topic. What of the rest was not read comes behind it, for which
    /// nobody waits.
    ///
    /// - Returns: how far it was received; nil where nothing of it was.
    private func restore(_ topic: String) async -> KeptPlace? {
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
            await self.store.tellTrouble(error)
            return nil
        }
    }

    /// Reads a topic so far back that what is not read can be counted.
    private func readBack(_ topic: String, before sequence: UInt64, through readThrough: UInt64) {
        readBacks[topic]?.cancel()
        readBacks[topic] = tasks.begin { [client, queue, store] in
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
                await store.tellTrouble(error)
            }
            guard !Task.isCancelled, !kept.messages.isEmpty || !kept.gaps.isEmpty else { return }
            await queue.send(.past(topic, .keptUnread(kept)))
        }
    }

    /// A whole page of older messages that are kept, for which nobody waits; nil where there is none, so that the
    /// network is asked.
    private static func kept(
        _ topic: String, before sequence: UInt64, _ limit: Int, _ client: RelayClient
    ) async -> ChatEvent.PastNews? {
        guard let page = try? await client.keptMessages(topic: topic, before: sequence, limit: limit),
            page.messages.count == limit
        else { return nil }
        return .history(page.messages.map(shown), gaps: page.gaps, before: sequence, isComplete: false)
    }

    /// Older messages as the screen shows them.
    private static func news(_ page: TopicHistory, before sequence: UInt64?) -> ChatEvent.PastNews {
        let messages =
            page.unreadable.isEmpty
            ? page.messages : (page.messages + page.unreadable.map(shown)).sorted { $0.sequence < $1.sequence }
        return page.isOffline
            ? .keptHistory(messages, gaps: page.gaps, isComplete: page.isComplete)
            : .history(messages, gaps: page.gaps, before: sequence, isComplete: page.isComplete)
    }

    static func shown(_ kept: KeptMessage) -> TopicMessage {
        kept.message
            ?? TopicMessage(
                unreadable: kept.payload.count, topic: kept.topic, sequence: kept.place.sequence, time: kept.time)
    }

    /// Keeps up to where a conversation was read. Without a stream nothing of it is kept.
    private func keepReadMark(_ topic: String, _ sequence: UInt64) async {
        guard let stream = subscriptions[topic]?.source else { return }
        await store.keep(.readMark(topic, KeptPlace(stream: stream, sequence: sequence)))
    }

    // MARK: Writing

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
        !connector.isNamed && connector.tokenCommand != nil && client.user == nil ? nil : client.user ?? connector.user
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

    /// The core did not take a line.
    private func failed(_ id: String, _ error: RelayError) async {
        let news = PublishNews(id: id, state: .failed(error))
        await queue.send(.published(news))
        await labTap.take(news)
    }
}
