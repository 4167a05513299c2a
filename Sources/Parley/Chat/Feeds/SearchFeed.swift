import Relay

/// Searches of the local store; they need no connection.
struct SearchFeed: Sendable {
    enum Request: Equatable, Sendable {
        /// Find up to `limit` matches in the local store. `asker` is the place in the window of another chat that
        /// asked; nil for this one.
        case find(request: UInt64, SearchQuery, limit: Int, asker: Int? = nil)
        /// Read a topic or pattern from the local store around a place, up to `limit` messages on each side.
        case readAround(request: UInt64, topic: String, KeptPlace, ExcerptPart.Direction, limit: Int)
    }

    private let core: FeedCore
    private let inOrder: SerialTasks

    init(_ core: FeedCore) { (self.core, inOrder) = (core, SerialTasks(core.tasks, core.queue)) }

    func perform(_ request: Request) {
        switch request {
        case .find(let request, let query, let limit, let asker):
            inOrder.add { [core] in
                do throws(RelayError) {
                    let result = try await core.store().search(query, limit: limit)
                    let (items, isComplete) = (result.hits.map(FoundItem.init), result.isComplete)
                    await core.send(.search(.found(request: request, items, isComplete: isComplete, asker: asker)))
                } catch {
                    await core.send(.search(.failed(request: request, error.words, asker: asker)))
                }
            }
        case .readAround(let request, let topic, let place, let direction, let limit):
            core.begin { [core] in
                do throws(RelayError) {
                    let part = try await Self.part(of: topic, place, direction, limit, core.store())
                    await core.send(.search(.around(request: request, part)))
                } catch {
                    await core.send(.search(.aroundFailed(request: request, error.words)))
                }
            }
        }
    }

    /// The stored messages around a place, or on one side of it.
    private static func part(
        of topic: String, _ place: KeptPlace, _ direction: ExcerptPart.Direction, _ limit: Int, _ store: LocalStore
    ) async throws(RelayError) -> ExcerptPart {
        let pattern: TopicPattern
        do throws(TopicError) { pattern = try TopicPattern(topic) } catch { throw .invalidTopic("\(error)") }
        var part = ExcerptPart(direction: direction, messages: [])
        /// The page's messages from the place's own stream, and whether there are no more beyond them.
        func shown(_ page: KeptPage) -> (messages: [TopicMessage], isEnd: Bool) {
            let messages = page.messages.filter { $0.place.stream == place.stream }
            return (messages.map(TopicsFeed.shown), page.isComplete || messages.count < page.messages.count)
        }
        if direction != .after {
            var end = place
            // Includes the message at the place itself.
            if direction == .around { end.sequence += 1 }
            (part.messages, part.isOldest) = shown(try await store.messages(of: pattern, before: end, limit: limit))
        }
        if direction != .before {
            let newer = shown(try await store.messages(of: pattern, after: place, limit: limit))
            part.messages += newer.messages
            part.isNewest = newer.isEnd
        }
        // Includes a gap between the part and the message that the screen already shows.
        var sequences = part.messages.map(\.sequence)
        if direction == .after { sequences.insert(place.sequence, at: 0) }
        if direction == .before { sequences.append(place.sequence) }
        part.gaps = try await store.holes(of: pattern, in: place.stream, among: sequences)
        return part
    }
}
