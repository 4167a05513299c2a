import NATS
import Relay

/// The deletion of many letters, and what is known of it if the server dies halfway.
extension PostboxScenario {
    /// The number deleted in one call when compared with bare requests.
    private static let part = BulkDeletion.maximumCount

    /// Deletes letters, alternating with bare requests for as many others, 25 at a time, each for one.
    func delete() async throws -> Measurement {
        // Two parts: one for the client, one for the floor.
        let places = try await first(deletions * 2)
        func rate(_ number: Int, _ delete: ([PostboxMessageID]) async throws -> Void) async throws -> Double {
            let part = Array(places.dropFirst(number * Self.part).prefix(Self.part))
            return Double(part.count) / (try await Meter.seconds { try await delete(part) })
        }
        let (rates, floor) = try await inTurns(places.count / (2 * Self.part)) { round in
            try await rate(2 * round) { places in
                let result = try await client.deleteMessages(withMessageIds: places.map(\.text))
                if let failure = result.failed.first { throw failure.error }
            }
        } _: { round in
            try await rate(2 * round + 1) { places in
                try await withThrowingDiscardingTaskGroup { group in
                    for sequence in places.map(\.sequence) {
                        group.addTask { try await jetStream.deleteMessage(in: Self.stream, sequence: sequence) }
                    }
                }
            }
        }
        return Measurement("postbox_delete").adding([
            "n": rates.count * Self.part, "deletions_s": rates.median.rounded(), "bare_s": floor.median.rounded(),
            "ratio": medianRatio(rates, floor),
        ])
    }

    /// Deletes letters while the server is killed, restarts it, compares the reported outcomes with the letters that
    /// exist, and completes the deletion. `gone`, `kept` and `unknown` add up to all requested letters. `came_back` are
    /// letters whose deletion the server had confirmed, and which exist again after its crash: it writes deletions to
    /// the disk some time after confirming them, and those before this part may be back, too.
    func kill() async throws -> Measurement {
        let places = try await first(deletions)
        guard let start = places.first, let end = places.last else {
            throw BenchFailure("there are no letters to delete")
        }
        // The server is killed once half of them are gone.
        let (half, isHalf) = AsyncStream.makeStream(of: Void.self)
        async let crash: Void = {
            for await _ in half { break }
            await server.crash()
        }()
        let result = try await client.deleteMessages(withMessageIds: places.map(\.text)) { ended in
            if ended * 2 >= places.count { isHalf.finish() }
        }
        isHalf.finish()
        await crash
        let (kept, gone) = (result.failed.filter { !$0.isMissing }.map(\.id), result.gone)
        let recovery = try await Meter.seconds {
            try await server.start()
            await client.nudge()
            try await wait(for: "an answer", within: .seconds(120), every: .milliseconds(10)) {
                (try? await client.listMessages()) != nil
            }
        }
        let present = try await present(from: start, through: end)
        let cameBack = gone.count { present.contains($0) }
        guard kept.allSatisfy(present.contains) else {
            throw BenchFailure("letters reported as kept are gone")
        }
        // The user tries again with all that are not known to be gone.
        let again = try await client.deleteMessages(withMessageIds: kept + result.unknown.map(\.id))
        // Unknown ones may be gone, and then cannot be deleted.
        if let failure = again.failed.first(where: { !$0.isMissing }) { throw failure.error }
        let rest = try await self.present(from: start, through: end)
        guard rest.count == cameBack else {
            throw BenchFailure("\(rest.count) of the letters to delete are left")
        }
        return Measurement("postbox_kill").adding([
            "n": places.count, "gone": gone.count, "kept": kept.count, "unknown": result.unknown.count,
            "came_back": cameBack, "recovery_ms": recovery * 1e3, "left": rest.count,
        ])
    }

    private func first(_ count: Int) async throws -> [PostboxMessageID] {
        var places: [PostboxMessageID] = []
        try await eachPage { ids in
            places += ids
            return places.count < count
        }
        return Array(places.prefix(count))
    }

    private func present(from start: PostboxMessageID, through end: PostboxMessageID) async throws -> Set<String> {
        var found: Set<String> = []
        let token = PageToken(incarnation: start.incarnation, sequence: start.sequence).text
        try await eachPage(from: token) { ids in
            let part = ids.prefix { $0.sequence <= end.sequence }
            found.formUnion(part.map(\.text))
            return part.count == ids.count
        }
        return found
    }
}
