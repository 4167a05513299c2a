import Relay
import TestSupport
import Testing

@Suite struct OutboxPropertyTests {
    /// A server that stores what reaches it once per identifier, in order of arrival.
    private struct Server {
        var stored: [String: [String]] = [:]
        var sequences: [String: UInt64] = [:]

        mutating func receive(_ message: OutboxMessage) -> (sequence: UInt64, duplicate: Bool) {
            if let known = sequences[message.id] { return (known, true) }
            let sequence = UInt64(sequences.count + 1)
            sequences[message.id] = sequence
            stored[message.topic, default: []].append(message.id)
            return (sequence, false)
        }
    }

    @Test(
        "B29, B30, B33: under random losses every publish has one outcome, and each topic is stored in order, once",
        .processorBound,
        arguments: [1, 4, 64]
    ) func losses(_ perTopic: Int) async {
        for seed in 0..<60 as Range<UInt64> {
            await Task.yield()
            var random = SeededGenerator(seed: seed)
            let policy = OutboxPolicy(
                maximumMessages: 40, maximumBytes: 2_000, overflow: seed % 2 == 0 ? .rejectNew : .dropOldest,
                maximumInFlight: 16, maximumInFlightPerTopic: perTopic
            )
            var outbox = Outbox(policy: policy)
            var server = Server()
            var outcomes: [String: [PublishOutcome]] = [:]
            var accepted: [String] = []
            var wire: [OutboxMessage] = []
            var acknowledgements: [(id: String, sequence: UInt64, duplicate: Bool)] = []
            let now = ContinuousClock.now

            func note(_ resolutions: [PublishResolution]) {
                for resolution in resolutions { outcomes[resolution.id, default: []].append(resolution.outcome) }
            }

            for step in 0..<3_000 {
                switch Int.random(in: 0..<10, using: &random) {
                case 0...3:
                    let size = Int.random(in: 0...90, using: &random)
                    let topic = "t\(Int.random(in: 0..<4, using: &random))"
                    let message = OutboxMessage(id: "\(step)", topic: topic, payload: Array(repeating: 0, count: size))
                    switch outbox.enqueue(message) {
                    case .accepted: accepted.append(message.id)
                    case .acceptedDropping(let dropped):
                        accepted.append(message.id)
                        note(dropped)
                    case .rejected: break
                    }
                case 4: if !outbox.isOpen { outbox.open() }
                case 5, 6:
                    wire += outbox.nextToSend(limit: Int.random(in: 0...8, using: &random), at: now).messages
                case 7:
                    // A part of what is on the wire reaches the server.
                    for _ in 0..<Int.random(in: 0...8, using: &random) where !wire.isEmpty {
                        let message = wire.removeFirst()
                        let (sequence, duplicate) = server.receive(message)
                        acknowledgements.append((message.id, sequence, duplicate))
                    }
                case 8:
                    for _ in 0..<Int.random(in: 0...8, using: &random) where !acknowledgements.isEmpty {
                        let (id, sequence, duplicate) = acknowledgements.removeFirst()
                        note([outbox.acknowledged(id: id, sequence: sequence, duplicate: duplicate)].compactMap(\.self))
                    }
                default:
                    guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
                    // The connection breaks: what is on the wire, and every answer, is gone.
                    outbox.connectionLost()
                    wire = []
                    acknowledgements = []
                }
                #expect(outbox.count <= policy.maximumMessages && outbox.byteCount <= policy.maximumBytes)
                #expect(outbox.inFlightCount <= policy.maximumInFlight)
            }
            note(outbox.discardAll(.closedByUser))

            #expect(outcomes.count == accepted.count && outcomes.values.allSatisfy { $0.count == 1 })
            #expect(Set(outcomes.keys) == Set(accepted))
            for ids in server.stored.values {
                let numbers = ids.compactMap { Int($0) }
                #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count)
            }
            for (id, outcome) in outcomes {
                if case .acknowledged(let sequence, _) = outcome[0] { #expect(server.sequences[id] == sequence) }
            }
            #expect(outbox.isEmpty && outbox.byteCount == 0)
        }
    }

    @Test("B30: one message at a time, each topic stays in order even when the server refuses single messages")
    func refusals() async {
        for seed in 0..<30 as Range<UInt64> {
            await Task.yield()
            var random = SeededGenerator(seed: seed)
            var outbox = Outbox(policy: OutboxPolicy(maximumInFlightPerTopic: 1, maximumAttempts: .max))
            var server = Server()
            for number in 0..<300 {
                _ = outbox.enqueue(OutboxMessage(id: "\(number)", topic: "t\(number % 3)", payload: []))
            }
            outbox.open()
            while !outbox.isEmpty {
                for message in outbox.nextToSend(at: .now).messages {
                    if Bool.random(using: &random) {
                        #expect(outbox.failed(id: message.id, .timeout("publish"), retryable: true) == nil)
                    } else {
                        let (sequence, duplicate) = server.receive(message)
                        #expect(outbox.acknowledged(id: message.id, sequence: sequence, duplicate: duplicate) != nil)
                    }
                }
            }
            #expect(
                server.stored.values.allSatisfy { ids in
                    let numbers = ids.compactMap { Int($0) }
                    return numbers == numbers.sorted() && numbers.count == 100
                })
        }
    }
}
