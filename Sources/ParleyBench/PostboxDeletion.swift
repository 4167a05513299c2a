import NATS
import Relay

/// The deletion of many letters, and what is known of it where the server dies in the middle.
enum PostboxDeletion {
    /// How letters ended that were to be deleted.
    private struct Ends {
        /// The network says that they are not there any more.
        var gone: [String] = []
        /// No request was made for them.
        var kept: [String] = []
        /// The answer is missing.
        var unknown: [String] = []
    }

    // MARK: At rest

    /// Deletes letters as the program does, in turns with bare requests for as many others: 25 at a time, each for one.
    static func delete(
        _ run: PostboxScenario.Run, _ client: RelayClient, _ jetStream: JetStream
    ) async throws -> Measurement {
        // Two parts: one for the client, one for the floor.
        let places = try await first(run.deletions * 2, client)
        var (rates, floor, ratios) = ([Double](), [Double](), [Double]())
        let part = BulkDeletion.maximumCount
        for (round, start) in stride(from: 0, to: places.count - 2 * part + 1, by: 2 * part).enumerated() {
            let early = Array(places[start..<start + part])
            let late = Array(places[(start + part)..<(start + 2 * part)])
            let isFirst = round.isMultiple(of: 2)
            var bare = isFirst ? try await bareSeconds(early, jetStream) : 0
            let begin = Meter.now()
            let result = try await client.deleteMessages(withMessageIds: (isFirst ? late : early).map(\.text))
            let seconds = Meter.now() - begin
            if !isFirst { bare = try await bareSeconds(late, jetStream) }
            if let failure = result.failed.first { throw failure.error }
            rates.append(Double(part) / seconds)
            floor.append(Double(part) / bare)
            ratios.append(bare / seconds)
        }
        return Measurement("postbox_delete").adding("n", Double(rates.count * part))
            .adding("deletions_s", Measurement.median(rates).rounded())
            .adding("bare_s", Measurement.median(floor).rounded())
            .adding("ratio", Measurement.median(ratios))
    }

    private static func bareSeconds(_ places: [PostboxMessageID], _ jetStream: JetStream) async throws -> Double {
        let begin = Meter.now()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for place in places {
                group.addTask {
                    try await jetStream.deleteMessage(in: PostboxScenario.stream, sequence: place.sequence)
                }
            }
            try await group.waitForAll()
        }
        return Meter.now() - begin
    }

    // MARK: Over a crash

    /// Deletes letters while the server is killed, starts it again, compares what was said with what is there, and goes
    /// on to the end. `gone`, `kept` and `unknown` are together all that were asked for. `came_back` are letters whose
    /// deletion the server had confirmed, and which it has again after its crash: it writes deletions to the disk some
    /// time after it has confirmed them, and those before this part may be back, too.
    static func kill(
        _ run: PostboxScenario.Run, _ client: RelayClient, _ server: BenchServer
    ) async throws -> Measurement {
        let places = try await first(run.deletions, client)
        guard let start = places.first, let end = places.last else {
            throw NATSError.invalidArgument("there are no letters to delete")
        }
        let ends = await deleted(places.map(\.text), client, killing: server)
        let begin = Meter.now()
        try await server.restart()
        try await answering(client)
        let recovery = Meter.now() - begin

        let present = try await present(from: start, through: end, client)
        let cameBack = ends.gone.count { present.contains($0) }
        guard ends.kept.allSatisfy(present.contains) else {
            throw NATSError.invalidArgument("letters are gone that were said to be kept")
        }
        // The person asks once more for all that is not known to be gone.
        var left = ends.kept + ends.unknown
        while !left.isEmpty {
            let part = Array(left.prefix(BulkDeletion.maximumCount))
            left.removeFirst(part.count)
            let result = try await client.deleteMessages(withMessageIds: part)
            // What was unknown may be gone, and is then not there to be deleted.
            if let failure = result.failed.first(where: { $0.error != .notFound($0.id) }) { throw failure.error }
        }
        let rest = try await self.present(from: start, through: end, client)
        guard rest.count == cameBack else {
            throw NATSError.invalidArgument("the postbox holds \(rest.count) of the letters that were to be deleted")
        }
        return Measurement("postbox_kill").adding("n", Double(places.count))
            .adding("gone", Double(ends.gone.count)).adding("kept", Double(ends.kept.count))
            .adding("unknown", Double(ends.unknown.count)).adding("came_back", Double(cameBack))
            .adding("recovery_ms", recovery * 1e3).adding("left", Double(rest.count))
    }

    /// Deletes letters, and has the server killed when half of them are.
    private static func deleted(_ ids: [String], _ client: RelayClient, killing server: BenchServer) async -> Ends {
        var ends = Ends()
        var crash: Task<Void, Never>?
        for start in stride(from: 0, to: ids.count, by: BulkDeletion.maximumCount) {
            let part = Array(ids[start..<min(start + BulkDeletion.maximumCount, ids.count)])
            if crash == nil, start * 2 >= ids.count { crash = Task { await server.crash() } }
            do throws(RelayError) {
                let result = try await client.deleteMessages(withMessageIds: part)
                ends.gone += result.deleted
                for failure in result.failed {
                    if failure.error == .notFound(failure.id) {
                        ends.gone.append(failure.id)
                    } else {
                        ends.kept.append(failure.id)
                    }
                }
                ends.unknown += result.unknown.map(\.id)
            } catch {
                // The call fails as a whole before it asks for any of them.
                ends.kept += part
            }
        }
        await crash?.value
        return ends
    }

    // MARK: What is there

    /// The first letters of the inbox.
    private static func first(_ count: Int, _ client: RelayClient) async throws -> [PostboxMessageID] {
        var (places, token) = ([PostboxMessageID](), String?.none)
        repeat {
            let limit = min(RelayClient.maximumPage, count - places.count)
            let page = try await client.listMessages(limit: limit, nextToken: token)
            places += page.items.compactMap { PostboxMessageID($0.id) }
            token = page.nextToken
        } while token != nil && places.count < count
        return places
    }

    /// The letters of a part of the inbox that are there.
    private static func present(
        from start: PostboxMessageID, through end: PostboxMessageID, _ client: RelayClient
    ) async throws -> Set<String> {
        var found: Set<String> = []
        var token: String? = PageToken(incarnation: start.incarnation, sequence: start.sequence).text
        while let next = token {
            let page = try await client.listMessages(limit: RelayClient.maximumPage, nextToken: next)
            for letter in page.items {
                guard let place = PostboxMessageID(letter.id), place.sequence <= end.sequence else { return found }
                found.insert(letter.id)
            }
            token = page.nextToken
        }
        return found
    }

    /// How many letters there are.
    static func total(_ client: RelayClient) async throws -> Int {
        try await client.countMessages().values.reduce(0, +)
    }

    /// Returns when the client is connected again, and the server has the stream.
    private static func answering(_ client: RelayClient) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        await client.nudge()
        while true {
            do throws(RelayError) {
                _ = try await client.listMessages()
                return
            } catch {
                guard ContinuousClock.now < deadline else { throw error }
                try await Task.sleep(for: .milliseconds(10))
            }
        }
    }
}
