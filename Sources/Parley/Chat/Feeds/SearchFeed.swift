import Relay

/// What the local store has of what the person looks for. It needs no connection.
struct SearchFeed: Sendable {
    /// What it is asked for.
    enum Request: Equatable, Sendable {
        /// Look for a portion of what a query means in the local store.
        /// The asker is the place of another chat of the window; nil for its own.
        case find(request: UInt64, SearchQuery, limit: Int, asker: Int? = nil)
        /// Read what the local store has of a topic or pattern around a place, up to `limit` messages to each side.
        case readAround(request: UInt64, topic: String, KeptPlace, ExcerptPart.Direction, limit: Int)
    }

    private let client: RelayClient
    private let queue: EventQueue
    private let tasks: ChatTasks
    /// One search runs at a time.
    private let inOrder: SerialTasks

    init(_ client: RelayClient, _ queue: EventQueue, _ tasks: ChatTasks) {
        (self.client, self.queue, self.tasks) = (client, queue, tasks)
        inOrder = SerialTasks(tasks, queue)
    }

    func perform(_ request: Request) {
        switch request {
        case .find(let request, let query, let limit, let asker): find(request, query, limit, asker)
        case .readAround(let request, let topic, let place, let direction, let limit):
            readAround(request, topic, place, direction, limit)
        }
    }

    /// Looks for a portion of what a query means.
    private func find(_ request: UInt64, _ query: SearchQuery, _ limit: Int, _ asker: Int?) {
        inOrder.add { [client, queue] in
            guard let store = await client.keptStore() else {
                return await queue.send(.search(.failed(request: request, StoreFeed.nothingKept, asker: asker)))
            }
            do throws(RelayError) {
                let result = try await store.search(query, limit: limit)
                await queue.send(
                    .search(
                        .found(
                            request: request, result.hits.map(FoundItem.init), isComplete: result.isComplete,
                            asker: asker)))
            } catch {
                await queue.send(.search(.failed(request: request, error.words, asker: asker)))
            }
        }
    }

    /// Reads what is kept of a conversation around a place, or on one side of it.
    private func readAround(
        _ request: UInt64, _ topic: String, _ place: KeptPlace, _ direction: ExcerptPart.Direction, _ limit: Int
    ) {
        tasks.begin { [client, queue] in
            guard let store = await client.keptStore() else {
                return await queue.send(.search(.aroundFailed(request: request, StoreFeed.nothingKept)))
            }
            do throws(RelayError) {
                let part = try await Self.part(of: topic, place, direction, limit, store)
                await queue.send(.search(.around(request: request, part)))
            } catch {
                await queue.send(.search(.aroundFailed(request: request, error.words)))
            }
        }
    }

    private static func part(
        of topic: String, _ place: KeptPlace, _ direction: ExcerptPart.Direction, _ limit: Int, _ store: LocalStore
    ) async throws(RelayError) -> ExcerptPart {
        let pattern: TopicPattern
        do throws(TopicError) { pattern = try TopicPattern(topic) } catch { throw .invalidTopic("\(error)") }
        var part = ExcerptPart(direction: direction, messages: [])
        if direction != .after {
            var end = place
            // The message itself is the newest of the older ones.
            if direction == .around { end.sequence += 1 }
            let page = try await store.messages(of: pattern, before: end, limit: limit)
            let messages = page.messages.filter { $0.place.stream == place.stream }
            part.messages = messages.map(TopicsFeed.shown)
            part.isOldest = page.isComplete || messages.count < page.messages.count
        }
        if direction != .before {
            let page = try await store.messages(of: pattern, after: place, limit: limit)
            let messages = page.messages.filter { $0.place.stream == place.stream }
            part.messages += messages.map(TopicsFeed.shown)
            part.isNewest = page.isComplete || messages.count < page.messages.count
        }
        // Where something is missing between what the screen has then.
        var sequences = part.messages.map(\.sequence)
        if direction == .after { sequences.insert(place.sequence, at: 0) }
        if direction == .before { sequences.append(place.sequence) }
        part.gaps = try await store.holes(of: pattern, in: place.stream, among: sequences)
        return part
    }
}
