import Relay

/// The joined topics: their events, the lines written to them, and their stored history.
actor TopicsFeed {
    enum Request: Equatable, Sendable {
        case subscribe(topic: String)
        case unsubscribe(topic: String)
        /// Follow a topic, resuming after the last message received; or suspend it while it is out of view.
        case follow(topic: String, Bool)
        /// Fetch up to `limit` messages of `topic` that are older than `before`, or the newest ones: from the local
        /// store, or from the network if that has too few.
        case loadHistory(topic: String, before: UInt64?, limit: Int)
        /// Save how far a conversation was read. It may take a moment.
        case keepReadMark(topic: String, sequence: UInt64)
        /// Hand a line to the core, under the id that all attempts to send it share.
        case publish(id: String, topic: String, text: String)
        /// Hand an unsent line to the core once more, under its id.
        case sendAgain(id: String, topic: String, text: String)
        case drop(ids: [String])
    }

    private let core: FeedCore
    private let store: StoreFeed
    private var subscriptions: [String: TopicEvents] = [:]
    /// The tasks that load each topic's older unread messages.
    private var readBacks: [String: Task<Void, Never>] = [:]
    /// The topics suspended while they are out of view.
    private var resting: Set<String> = []

    init(_ core: FeedCore, _ store: StoreFeed) { (self.core, self.store) = (core, store) }

    func perform(_ request: Request) async {
        switch request {
        case .subscribe(let topic): await subscribe(topic)
        case .unsubscribe(let topic):
            readBacks.removeValue(forKey: topic)?.cancel()
            subscriptions.removeValue(forKey: topic)?.cancel()
            core.queue.labTap.withLockedValue(\.self)?.leave(topic)
            resting.remove(topic)
        case .follow(let topic, let isFollowed):
            if isFollowed { resting.remove(topic) } else { resting.insert(topic) }
            subscriptions[topic]?.setOnScreen(isFollowed)
        case .loadHistory(let topic, let before, let limit): loadHistory(topic, before, limit)
        case .keepReadMark(let topic, let sequence):
            // Without a stream nothing is kept.
            guard let stream = subscriptions[topic]?.source else { return }
            await store.keep(.readMark(topic, KeptPlace(stream: stream, sequence: sequence)))
        case .publish(let id, let topic, let text): await publish(id, topic, text, isAgain: false)
        case .sendAgain(let id, let topic, let text): await publish(id, topic, text, isAgain: true)
        case .drop(let ids):
            do throws(RelayError) { try await core.client.drop(ids: ids) } catch {
                let words = "\(error.words) What was dropped comes back at the next start."
                await core.send(.notice(words, isFailure: true))
            }
        }
    }

    func end() { subscriptions = [:] }

    private func subscribe(_ topic: String) async {
        subscriptions.removeValue(forKey: topic)?.cancel()
        // The network sends what was missed, and nothing that is already stored here.
        let start = await restore(topic).map { SubscriptionStart.after($0) } ?? .new
        do throws(RelayError) {
            let subscription = try await core.client.messages(
                topic: topic, from: start, onScreenOnly: true, into: core.queue)
            subscriptions[topic] = subscription
            if resting.contains(topic) { subscription.setOnScreen(false) }
        } catch {
            await core.send(.topic(topic, [.interrupted(error, passes: false)]))
        }
    }

    var followedTopics: [String] { subscriptions.keys.filter { !resting.contains($0) } }

    /// Limits each page of history to this many bytes, however large its messages are.
    private static let historyBytes = 16 << 20

    private func loadHistory(_ topic: String, _ before: UInt64?, _ limit: Int) {
        core.begin { [core] in
            // A full page in the store is shown at once; otherwise the network is asked.
            if let before, let page = try? await core.client.keptMessages(topic: topic, before: before, limit: limit),
                page.messages.count == limit
            {
                let messages = page.messages.map(Self.shown)
                return await core.send(
                    .past(topic, .history(messages, gaps: page.gaps, before: before, isComplete: false)))
            }
            do throws(RelayError) {
                let page = try await core.client.history(
                    topic: topic, before: before, limit: limit, bytes: Self.historyBytes)
                let messages =
                    page.unreadable.isEmpty
                    ? page.messages
                    : (page.messages + page.unreadable.map(Self.shown)).sorted { $0.sequence < $1.sequence }
                let (gaps, isComplete) = (page.gaps, page.isComplete)
                await core.send(
                    .past(
                        topic,
                        page.isOffline
                            ? .keptHistory(messages, gaps: gaps, before: before, isComplete: isComplete)
                            : .history(messages, gaps: gaps, before: before, isComplete: isComplete)))
            } catch {
                await core.send(.past(topic, .historyFailed(error)))
            }
        }
    }

    // MARK: The local store

    /// Shows a topic's newest stored page first; older unread messages follow in the background.
    ///
    /// - Returns: the place up to which the topic was received; nil if it never was.
    private func restore(_ topic: String) async -> KeptPlace? {
        guard let store = await core.client.keptStore(), let pattern = try? TopicPattern(topic) else { return nil }
        do throws(RelayError) {
            let cursor = try await store.cursor(of: topic)
            let mark = try await store.readMark(of: topic)
            var page = try await core.client.keptMessages(topic: topic, limit: ChatModel.historyPage)
            let first = page.isComplete ? nil : page.messages.first?.place.sequence
            var isOpen = cursor == nil
            if page.messages.isEmpty {
                // Messages rescued from a damaged store, which may have gaps.
                page = try await core.client.keptMessages(topic: topic, limit: ChatModel.historyPage, acrossHoles: true)
                isOpen = isOpen || !page.messages.isEmpty
            }
            let newest = page.messages.last?.place
            guard let stream = cursor?.stream ?? newest?.stream else { return nil }
            if let cursor, let newest, !isOpen, newest.sequence < cursor.sequence {
                let ends = [newest.sequence, cursor.sequence]
                isOpen = try await !store.holes(of: pattern, in: stream, among: ends).isEmpty
            }
            // In a stream recreated since then, nothing was read. Messages only loaded as history are not new.
            let unmarked = cursor == nil ? newest?.sequence ?? 0 : 0
            let readThrough = mark.map { $0.stream == stream ? $0.sequence : 0 } ?? unmarked
            let kept = KeptTopic(
                messages: page.messages.map(Self.shown), gaps: page.gaps, isComplete: page.isComplete,
                isOpen: isOpen, readThrough: readThrough)
            await core.send(.past(topic, .kept(kept)))
            if let first, first > readThrough { readBack(topic, before: first, through: readThrough) }
            return cursor
        } catch {
            await self.store.tellTrouble(error)
            return nil
        }
    }

    /// Loads a topic far enough back to count its unread messages.
    private func readBack(_ topic: String, before sequence: UInt64, through readThrough: UInt64) {
        readBacks[topic]?.cancel()
        readBacks[topic] = core.begin { [core, store] in
            var kept = KeptTopic(readThrough: readThrough)
            var next = sequence
            do throws(RelayError) {
                while !Task.isCancelled, next > readThrough,
                    kept.messages.count < Conversation.rowLimit - ChatModel.historyPage
                {
                    let page = try await core.client.keptMessages(
                        topic: topic, before: next, limit: ChatModel.historyPage)
                    kept.messages = page.messages.map(Self.shown) + kept.messages
                    kept.gaps = page.gaps + kept.gaps
                    guard !page.isComplete, let first = page.messages.first?.place.sequence else { break }
                    next = first
                }
            } catch {
                await store.tellTrouble(error)
            }
            guard !Task.isCancelled, !kept.messages.isEmpty || !kept.gaps.isEmpty else { return }
            await core.send(.past(topic, .keptUnread(kept)))
        }
    }

    static func shown(_ kept: KeptMessage) -> TopicMessage {
        kept.message
            ?? TopicMessage(
                unreadable: kept.payload.count, topic: kept.topic, sequence: kept.place.sequence, time: kept.time)
    }

    // MARK: Writing

    /// Hands a line to the core. A line to be sent again that the local store lacks is sent as possibly stored already.
    private func publish(_ id: String, _ topic: String, _ text: String, isAgain: Bool) async {
        // Without a subscription the line would never be seen to arrive.
        if subscriptions[topic] != nil { await core.queue.labTap.withLockedValue(\.self)?.handsOver(id, to: topic) }
        do throws(RelayError) {
            if isAgain {
                do throws(RelayError) { return try await core.client.sendAgain(id: id) } catch {
                    switch error {
                    case .notFound, .storage: break
                    default: throw error
                    }
                }
            }
            // If the token is to name the writer, the line waits for it.
            let awaitsName = !core.connector.isNamed && core.connector.tokenCommand != nil
            let writer = core.client.user ?? (awaitsName ? nil : core.connector.user)
            try await core.client.submitLine(
                topic: topic, text: text, from: writer, writtenAt: WallClock.now, id: id, mayBeStored: isAgain)
        } catch {
            var mayBeStored = false
            // An earlier attempt may have reached the network, as the store knows.
            if isAgain, let kept = try? await core.client.notSent() {
                mayBeStored = kept.contains { $0.id == id && $0.mayBeStored }
            }
            let news = PublishNews(id: id, state: .failed(error), mayBeStored: mayBeStored)
            await core.send(.published(news))
            await core.queue.labTap.withLockedValue(\.self)?.take(news)
        }
    }
}
