import Foundation
import NATS
import NIOConcurrencyHelpers
import NIOCore
import Relay
import TestSupport
import Testing

@testable import RelayNetwork

/// A user who publishes all kinds of messages where it may, with a client of its own making.
@Suite("Network: a hostile user's messages", .realProcesses)
struct HostileLoopTests {
    /// How many messages there are; `PARLEY_TEST_MESSAGES` may ask for more.
    private static let count =
        ProcessInfo.processInfo.environment["PARLEY_TEST_MESSAGES"].flatMap { Int($0) } ?? 1_000

    /// Makes the messages, each of a few kinds that are combined.
    private struct Hostility {
        var generator: SeededGenerator
        let hash: String

        private mutating func one<T>(_ choices: [T]) -> T {
            choices[Int.random(in: 0..<choices.count, using: &generator)]
        }

        mutating func subject() -> String {
            one([
                "\(hash).chat.room", "$KV.local.evil.\(Int.random(in: 0..<50, using: &generator))",
                "postbox.alice.personal",
            ])
        }

        mutating func body() -> [UInt8] {
            let envelope = Envelope(
                id: one(["", "same", "\u{1B}[2J", String(repeating: "i", count: 300)]), room: "elsewhere",
                message: one([.null, "", "text", .array(Array(repeating: .null, count: 5_000)), ["username": "alice"]]),
                start: Timestamp(milliseconds: one([0, -1, .max])))
            switch Int.random(in: 0..<100, using: &generator) {
            case 0: return Array(repeating: 0x93, count: 900_000)
            case 1..<50: return []
            case 50..<60: return (0..<64).map { _ in UInt8.random(in: 0...255, using: &generator) }
            case 60..<70: return Array(repeating: one([0x91, 0x81, 0xDD, 0xC1]), count: 2_000)
            case 70..<80: return Array(envelope.encoded().dropLast(1))
            default: return envelope.encoded()
            }
        }

        mutating func headers() -> NATSHeaders? {
            let name = one([
                "Nats-Msg-Id", "Nats-Rollup", "Nats-Expected-Stream", "Nats-Expected-Last-Sequence", "Nats-Sequence",
                "Nats-Expected-Last-Subject-Sequence", "Nats-Expected-Last-Msg-Id", "Nats-Msg-Size", "Nats-TTL",
                "Nats-Subject", "Nats-Time-Stamp", "Nats-Last-Consumer", "Nats-Request-Info", "Nats-Marker-Reason",
                "KV-Operation", "Status", "Description", "X",
            ])
            let value = one([
                "", "0", "1", "sub", "all", "DEL", "PURGE", "404", "never", String(repeating: "x", count: 60_000),
            ])
            return Bool.random(using: &generator) ? nil : [name: value]
        }
    }

    @Test(
        "B63: whatever a user publishes, others chat, list their letters and read their keys, and nothing is lost",
        arguments: TestServers.all)
    func others(server: String) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        try await TestNetwork.run(server: server) { network in
            let (alice, bob) = (try network.client(), try network.client(as: "bob"))
            for client in [alice, bob] { try await client.connect(timeLimit: 60) }
            _ = try await alice.postboxes()
            let carol = try await network.connect(as: "carol")
            let heard = Heard()
            let reading = Task { [events = try await alice.messages(topic: "chat.room", from: .new)] in
                for try await event in events {
                    if event == .live { heard.begin() }
                    guard case .message(let message) = event, message.id.hasPrefix("bob-") else { continue }
                    heard.add(message)
                }
            }
            try await eventually("the subscription", deadline: .seconds(60)) { heard.hasBegun }
            let attack = Task {
                var hostility = Hostility(generator: SeededGenerator(seed: seed), hash: network.description.hash)
                for number in 0..<Self.count {
                    try carol.publish(
                        ByteBuffer(bytes: hostility.body()), to: hostility.subject(), headers: hostility.headers())
                    if number % 20 == 0 {
                        try await carol.flush()
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                try await carol.flush()
            }
            let ended = Task { try await attack.value }
            var (sent, latest) = (0, Duration.zero)
            var isOver = false
            let watcher = Task {
                _ = try await ended.value; heard.end()
            }
            while !isOver {
                isOver = heard.hasEnded
                sent += 1
                let begun = ContinuousClock.now
                _ = try await bob.send(
                    topic: "chat.room", message: .string("line \(sent)"), id: "bob-\(sent)")
                if sent % 10 == 1 {
                    _ = try await bob.post(to: "alice", postbox: "personal", text: "letter \(sent / 10)")
                    try await bob.put(key: "bob.\(sent / 10)", value: .integer(UInt64(sent)))
                    #expect(try await alice.keys(matching: "bob.*").count == sent / 10 + 1)
                    let newest = try await alice.listMessages(limit: 100, postbox: nil, order: .newestFirst)
                    #expect(!newest.items.isEmpty)
                }
                let number = sent
                try await eventually("line \(number)", deadline: .seconds(30)) { heard.has("bob-\(number)") }
                latest = max(latest, ContinuousClock.now - begun)
            }
            _ = try await watcher.value
            print("\(sent) lines beside \(Self.count) messages; at the latest \(latest)")
            let history = try await alice.history(topic: "chat.room", start: Timestamp(milliseconds: 0), limit: 10_000)
            #expect(history.messages.filter { $0.id.hasPrefix("bob-") }.map(\.text) == (1...sent).map { "line \($0)" })
            var letters: [String] = []
            var token: String?
            repeat {
                let page = try await alice.listMessages(limit: 100, nextToken: token)
                letters += page.items.filter { $0.from == "bob" }.map(\.message)
                token = page.nextToken
            } while token != nil
            #expect(letters == (0...(sent - 1) / 10).map { "letter \($0)" })
            reading.cancel()
            for client in [alice, bob] { await client.close() }
            await carol.close()
        }
    }

    /// The lines that have come.
    private final class Heard: Sendable {
        private struct State {
            var ids: Set<String> = []
            var (hasBegun, hasEnded) = (false, false)
        }
        private let state = NIOLockedValueBox(State())

        func add(_ message: TopicMessage) { state.withLockedValue { _ = $0.ids.insert(message.id) } }
        func has(_ id: String) -> Bool { state.withLockedValue { $0.ids.contains(id) } }
        func begin() { state.withLockedValue { $0.hasBegun = true } }
        var hasBegun: Bool { state.withLockedValue { $0.hasBegun } }
        func end() { state.withLockedValue { $0.hasEnded = true } }
        var hasEnded: Bool { state.withLockedValue { $0.hasEnded } }
    }
}
