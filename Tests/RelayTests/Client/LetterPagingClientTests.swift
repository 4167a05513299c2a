import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import NATS
@testable import Relay

/// Pages of letters as a server gives them, while others delete and write between any two requests.
@Suite("Client: pages of changing letters, over a network in memory", .realProcesses)
struct LetterPagingClientTests {
    /// Somebody who deletes and writes letters whenever the server is asked for some.
    private final class Intruder: Sendable {
        struct State {
            var random: SeededGenerator
            /// The letters that were there at first and still are.
            var old: Set<UInt64>
            /// What the reader has come to.
            var lowest = UInt64.max
        }

        let state: NIOLockedValueBox<State>
        private let network: MemoryNetwork

        init(_ network: MemoryNetwork, old: Set<UInt64>, seed: UInt64) {
            self.network = network
            state = NIOLockedValueBox(State(random: SeededGenerator(seed: seed), old: old))
            for subject in ["$JS.API.CONSUMER.CREATE.PB_alice.>", "$JS.API.DIRECT.GET.PB_alice"] {
                network.server.service(subject) { [weak self] _ in
                    self?.intrude()
                    return nil
                }
            }
        }

        private func intrude() {
            let (gone, isWriting) = state.withLockedValue { state -> ([UInt64], Bool) in
                var gone: [UInt64] = []
                // Most often the letters that the reader is about to have.
                let next = state.old.filter { $0 < state.lowest }.sorted(by: >)
                for _ in 0..<Int.random(in: 0...2, using: &state.random) {
                    let isNear = Int.random(in: 0...3, using: &state.random) > 0
                    let candidates = isNear ? Array(next.prefix(3)) : state.old.sorted()
                    guard let sequence = candidates.randomElement(using: &state.random) else { continue }
                    if state.old.remove(sequence) != nil { gone.append(sequence) }
                }
                return (gone, Bool.random(using: &state.random))
            }
            for sequence in gone { network.server.deleteMessage(sequence, in: "PB_alice") }
            if isWriting { _ = try? network.postLetter("meanwhile") }
        }
    }

    @Test(
        "B45 a list from either end has each letter that stays once, in order, whatever comes and goes meanwhile",
        arguments: [LetterOrder.oldestFirst, .newestFirst], ["2.10.0", "2.12.0"])
    func randomChanging(_ order: LetterOrder, serverVersion: String) async throws {
        for seed in UInt64(1)...8 {
            let network = try MemoryNetwork()
            network.server.info.version = serverVersion
            var random = SeededGenerator(seed: seed &* 97)
            for _ in 1...60 {
                try network.postLetter(String(repeating: "x", count: Int.random(in: 0...1_500, using: &random)))
            }
            let connection = try await network.server.connect()
            var jetStream = JetStream(connection, timeout: .seconds(60))
            jetStream.readsBatches = true
            let source = StreamSource(name: "PB_alice", filter: nil, jetStream: jetStream)
            let intruder = Intruder(network, old: Set(1...60), seed: seed)
            var token: String?
            var seen: [UInt64] = []
            repeat {
                var page = try LetterPage(
                    limit: Int.random(in: 1...6, using: &random), nextToken: token, postbox: nil, order: order,
                    bytes: 3_000)
                try await page.fill(from: source, in: source.extent())
                let output = page.output(incarnation: 7, owner: "alice")
                seen += output.items.compactMap { PostboxMessageID($0.id)?.sequence }
                token = output.nextToken
                let (reached, isBackwards) = (seen.last ?? .max, order == .newestFirst)
                intruder.state.withLockedValue { $0.lowest = isBackwards ? reached : .max }
            } while token != nil && seen.count < 1_000
            #expect(token == nil)
            #expect(seen == (order == .oldestFirst ? seen.sorted() : seen.sorted(by: >)), "seed \(seed)")
            #expect(Set(seen).count == seen.count, "seed \(seed)")
            let missing = intruder.state.withLockedValue(\.old).subtracting(seen)
            #expect(missing.isEmpty, "seed \(seed): \(missing.sorted())")
            await connection.close()
        }
    }
}
