import NATS
import Relay

/// The deletion of many letters, and what is known of it where the server dies in the middle.
enum PostboxDeletion {
    /// So many are deleted in one call.
    private static let part = BulkDeletion.maximumCount

    /// Deletes letters as the program does, in turns with bare requests for as many others: 25 at a time, each for one.
    static func delete(_ run: PostboxScenario.Run) async throws -> Measurement {
        // Two parts: one for the client, one for the floor.
        let places = try await first(run.deletions * 2, run.client)
        var (rates, floor) = ([Double](), [Double]())
        for (round, start) in stride(from: 0, to: places.count - 2 * part + 1, by: 2 * part).enumerated() {
            let own = places[start..<start + part].map(\.text)
            let others = places[(start + part)..<(start + 2 * part)]
            let (seconds, bare) = try await inTurns(round) {
                try await Meter.seconds {
                    let result = try await run.client.deleteMessages(withMessageIds: own)
                    if let failure = result.failed.first { throw failure.error }
                }
            } _: {
                try await Meter.seconds { try await deleteBare(others, run.jetStream) }
            }
            rates.append(Double(part) / seconds)
            floor.append(Double(part) / bare)
        }
        return Measurement(
            "postbox_delete",
            [
                "n": Double(rates.count * part), "deletions_s": rates.median.rounded(),
                "bare_s": floor.median.rounded(), "ratio": zip(rates, floor).map { $0 / $1 }.median,
            ])
    }

    private static func deleteBare(_ places: ArraySlice<PostboxMessageID>, _ jetStream: JetStream) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for place in places {
                group.addTask {
                    try await jetStream.deleteMessage(in: PostboxScenario.stream, sequence: place.sequence)
                }
            }
        }
    }

    // MARK: Over a crash

    /// How letters ended that were to be deleted.
    private struct Ends {
        /// The network says that they are not there any more.
        var gone: [String] = []
        /// No request was made for them.
        var kept: [String] = []
        /// The answer is missing.
        var unknown: [String] = []
    }

    /// Deletes letters while the server is killed, starts it again, compares what was said with what is there, and goes
    /// on to the end. `gone`, `kept` and `unknown` are together all that were asked for. `came_back` are letters whose
    /// deletion the server had confirmed, and which it has again after its crash: it writes deletions to the disk some
    /// time after it has confirmed them, and those before this part may be back, too.
    static func kill(_ run: PostboxScenario.Run) async throws -> Measurement {
        let client = run.client
        let places = try await first(run.deletions, client)
        guard let start = places.first, let end = places.last else {
            throw BenchFailure("there are no letters to delete")
        }
        let ends = await deleted(places.map(\.text), client, killing: run.server)
        let recovery = try await Meter.seconds {
            try await run.server.start()
            await client.nudge()
            try await wait(for: "an answer", within: .seconds(120), every: .milliseconds(10)) {
                (try? await client.listMessages()) != nil
            }
        }
        let present = try await present(from: start, through: end, client)
        let cameBack = ends.gone.count { present.contains($0) }
        guard ends.kept.allSatisfy(present.contains) else {
            throw BenchFailure("letters are gone that were said to be kept")
        }
        // The person asks once more for all that is not known to be gone.
        let left = ends.kept + ends.unknown
        for start in stride(from: 0, to: left.count, by: part) {
            let ids = Array(left[start..<min(start + part, left.count)])
            let result = try await client.deleteMessages(withMessageIds: ids)
            // What was unknown may be gone, and is then not there to be deleted.
            if let failure = result.failed.first(where: { $0.error != .notFound($0.id) }) { throw failure.error }
        }
        let rest = try await self.present(from: start, through: end, client)
        guard rest.count == cameBack else {
            throw BenchFailure("the postbox holds \(rest.count) of the letters that were to be deleted")
        }
        return Measurement(
            "postbox_kill",
            [
                "n": Double(places.count), "gone": Double(ends.gone.count), "kept": Double(ends.kept.count),
                "unknown": Double(ends.unknown.count), "came_back": Double(cameBack), "recovery_ms": recovery * 1e3,
                "left": Double(rest.count),
            ])
    }

    /// Deletes letters, and has the server killed when half of them are.
    private static func deleted(_ ids: [String], _ client: RelayClient, killing server: BenchServer) async -> Ends {
        var ends = Ends()
        var crash: Task<Void, Never>?
        for start in stride(from: 0, to: ids.count, by: part) {
            let part = Array(ids[start..<min(start + part, ids.count)])
            if crash == nil, start * 2 >= ids.count { crash = Task { await server.crash() } }
            do throws(RelayError) {
                let result = try await client.deleteMessages(withMessageIds: part)
                ends.gone += result.deleted + result.failed.filter { $0.error == .notFound($0.id) }.map(\.id)
                ends.kept += result.failed.filter { $0.error != .notFound($0.id) }.map(\.id)
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
}
