import Relay

// What the local store has of what the person looks for. It needs no connection.
extension ChatEngine {
    static let nothingKept = "Nothing is kept on this machine; /log may say why."

    /// Looks for a portion of what a query means. One search runs at a time.
    func search(_ request: UInt64, _ query: SearchQuery, _ limit: Int) {
        searchTask = Task { [client, queue, searchTask] in
            await searchTask?.value
            guard let store = await client.keptStore() else {
                return await queue.send(.search(.failed(request: request, Self.nothingKept)))
            }
            do throws(RelayError) {
                let result = try await store.search(query, limit: limit)
                await queue.send(
                    .search(
                        .found(request: request, result.hits.map(FoundItem.init), isComplete: result.isComplete)))
            } catch {
                await queue.send(.search(.failed(request: request, error.words)))
            }
        }
    }

    /// Reads what is kept of a conversation around a place, or on one side of it.
    func readAround(
        _ request: UInt64, _ topic: String, _ place: KeptPlace, _ direction: ExcerptPart.Direction, _ limit: Int
    ) {
        Task { [client, queue] in
            guard let store = await client.keptStore() else {
                return await queue.send(.search(.aroundFailed(request: request, Self.nothingKept)))
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
            part.messages = messages.map(shown)
            part.isOldest = page.isComplete || messages.count < page.messages.count
        }
        if direction != .before {
            let page = try await store.messages(of: pattern, after: place, limit: limit)
            let messages = page.messages.filter { $0.place.stream == place.stream }
            part.messages += messages.map(shown)
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
