import Foundation
import NIOConcurrencyHelpers
import NIOCore
import Relay
import TestSupport
import Testing

@testable import NATS
@testable import RelayNetwork

/// A user who publishes all kinds of messages where it may, with a client of its own making.
@Suite("Network: a hostile user's messages", .realProcesses)
struct HostileLoopTests {
    /// How many messages there are, each combination of kinds at least once; `PARLEY_TEST_MESSAGES` may ask for more.
    private static let count =
        ProcessInfo.processInfo.environment["PARLEY_TEST_MESSAGES"].flatMap { Int($0) } ?? 500

    /// Makes the messages: each combination of a subject, a body and headers in turn, and chance decides the rest.
    private struct Hostility {
        enum Place: CaseIterable { case room, otherTopic, key, letterToAlice, letterToBob, ownLetter }
        enum Body: CaseIterable {
            case empty, huge, chance, deep, damaged, cut, noText, longText, wrongTypes, envelope
        }
        enum Headers: CaseIterable { case none, one, several, huge, odd, status, identifier }

        var generator: SeededGenerator
        let hash: String
        private var combinations: [(place: Place, body: Body, headers: Headers)] = []

        init(seed: UInt64, hash: String) {
            generator = SeededGenerator(seed: seed)
            self.hash = hash
        }

        /// The next message.
        mutating func next() -> (subject: String, headers: ByteBuffer?, body: [UInt8]) {
            if combinations.isEmpty {
                for place in Place.allCases {
                    for body in Body.allCases {
                        for headers in Headers.allCases { combinations.append((place, body, headers)) }
                    }
                }
                combinations.shuffle(using: &generator)
            }
            let kinds = combinations.removeLast()
            return (subject(kinds.place), headers(kinds.headers), body(kinds.body))
        }

        private mutating func one<T>(_ choices: [T]) -> T {
            choices[Int.random(in: 0..<choices.count, using: &generator)]
        }

        private mutating func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

        private mutating func subject(_ place: Place) -> String {
            switch place {
            case .room: "\(hash).chat.room"
            case .otherTopic: "\(hash).\(one(["chat.other", "chat.room.below", "x"]))"
            case .key: "$KV.local.evil.\(number(30))"
            case .letterToAlice: "postbox.alice.\(one(["personal", "missing"]))"
            case .letterToBob: "postbox.bob.personal"
            case .ownLetter: "postbox.carol.personal"
            }
        }

        /// An identifier that one of the others uses, or an odd one.
        private mutating func id() -> String {
            one([
                "", "same", "\u{1B}[2J", String(repeating: "i", count: 300), "bob-\(number(100))",
                "alice-\(number(100))",
            ])
        }

        private mutating func body(_ body: Body) -> [UInt8] {
            let message: MessageValue = one([
                .null, "", "text", 1, .binary([0]), .array(Array(repeating: .null, count: 5_000)),
                ["username": "bob", "text": "forged"], ["username": "alice", "text": "forged"],
                ["username": "~parley", "text": "\u{202E}\u{1B}[2J"], ["username": 1, "text": .array([])],
            ])
            let envelope = Envelope(
                clientID: one([nil, "alice", "bob", "~parley", "\u{200B}bob"]), id: id(),
                room: one(["chat.room", "elsewhere", ""]), message: message,
                start: Timestamp(milliseconds: one([0, -1, .max, .min])))
            switch body {
            case .empty: return []
            case .huge: return Array(repeating: one([0x93, 0xC0, 0xD9]), count: one([65_536, 65_536, 900_000]))
            case .chance: return (0..<64).map { _ in UInt8.random(in: 0...255, using: &generator) }
            case .deep: return Array(repeating: one([0x91, 0x81, 0xDD, 0xC1]), count: 2_000)
            case .damaged:
                var bytes = envelope.encoded()
                bytes[number(bytes.count)] = UInt8.random(in: 0...255, using: &generator)
                return bytes
            case .cut: return Array(envelope.encoded().dropLast(1 + number(20)))
            // A length of 4,294,967,295 entries, and texts and bytes that are not there.
            case .noText:
                return one([
                    [0xDF, 0xFF, 0xFF, 0xFF, 0xFF], [0xDB, 0xFF, 0xFF, 0xFF, 0xFF], [0xC6, 0, 0, 0, 9], [0xA4],
                ])
            case .longText:
                var long = envelope
                long.message = .string(String(repeating: one(["x", "\u{301}", "\n", "\u{200B}"]), count: 60_000))
                return long.encoded()
            // Maps with numbers for keys, texts that are no UTF-8, numbers that are none, and extensions.
            case .wrongTypes:
                return one([
                    [0x81, 0x01, 0x02], [0x81, 0xA2, 0x69, 0x64, 0xA2, 0xFF, 0xFE],
                    [0xCB, 0x7F, 0xF8, 0, 0, 0, 0, 0, 0],
                    [0xC7, 3, 0xFF, 1, 2, 3], [0x82, 0xA2, 0x69, 0x64, 1, 0xA2, 0x69, 0x64, 2], Array("\"text\"".utf8),
                ])
            case .envelope: return envelope.encoded()
            }
        }

        /// What JetStream reads in a message, what it writes into one, and what other programs read.
        private static let names = [
            "Nats-Msg-Id", "Nats-Rollup", "Nats-TTL", "Nats-Msg-Size", "Nats-Incr", "Nats-Expected-Stream",
            "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Subject-Sequence",
            "Nats-Expected-Last-Subject-Sequence-Subject", "Nats-Expected-Last-Msg-Id", "Nats-Batch-Id",
            "Nats-Batch-Sequence", "Nats-Batch-Commit", "Nats-Schedule", "Nats-Schedule-Target", "Nats-Schedule-TTL",
            "Nats-Scheduler", "Nats-Schedule-Next", "Nats-Counter-Sources", "Nats-Required-Api-Level",
            "Nats-Stream", "Nats-Stream-Source", "Nats-Sequence", "Nats-Last-Sequence", "Nats-Num-Pending",
            "Nats-UpTo-Sequence", "Nats-Time-Stamp", "Nats-Subject", "Nats-Last-Consumer", "Nats-Last-Stream",
            "Nats-Consumer-Stalled", "Nats-Pending-Messages", "Nats-Pending-Bytes", "Nats-Pin-Id",
            "Nats-Response-Type", "Nats-Request-Info", "Nats-Marker-Reason", "Nats-Applied-Limit", "Nats-Trace-Dest",
            "Nats-Trace-Only", "Nats-Trace-Hop", "traceparent", "KV-Operation", "Status", "Description",
            "Nats-Service-Error-Code", "X",
        ]

        private mutating func line() -> String {
            let value = one([
                "", "0", "1", "-1", "18446744073709551615", "sub", "all", "DEL", "PURGE", "never", "1s", ">",
                "local_stream",
                "$KV.local.>", "postbox.alice.personal", "@every 1s", "eob", #"{"acc":"alice"}"#,
                "2000-01-01T00:00:00Z",
            ])
            return "\(one(Self.names)): \(value)"
        }

        private mutating func headers(_ headers: Headers) -> ByteBuffer? {
            var first = "NATS/1.0"
            var lines: [String] = []
            switch headers {
            case .none: return nil
            case .one: lines = [line()]
            case .several: lines = (0..<4).map { _ in line() }
            case .huge: lines = [line(), "\(one(Self.names)): \(String(repeating: "x", count: 65_000))"]
            case .odd:
                lines = [
                    line(), one(["no colon", ": no name", "X:", "A B: c", "\t", "\u{FC}: \u{FC}", "\u{0}: \u{7}", ""]),
                ]
            // As if the server said of a pull or a question that it has ended.
            case .status:
                first += one([
                    " 100 Idle Heartbeat", " 204 EOB", " 404 No Messages", " 408 Request Timeout",
                    " 409 Consumer Deleted", " 409 Message Size Exceeds MaxBytes", " 503", " 503 x",
                ])
                lines = one([[], [line()]])
            case .identifier: lines = ["Nats-Msg-Id: \(id())"]
            }
            return ByteBuffer(string: ([first] + lines).joined(separator: "\r\n") + "\r\n\r\n")
        }
    }

    @Test(
        "B63: whatever a user publishes, others chat, list their letters and read their keys, and nothing is lost",
        arguments: TestServers.all)
    func others(server: String) async throws {
        let named = ProcessInfo.processInfo.environment["PARLEY_TEST_SEED"].flatMap { UInt64($0) }
        let seed = named ?? UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        try await TestNetwork.run(server: server) { network in
            let (alice, bob) = (try network.client(), try network.client(as: "bob"))
            let clients = [("bob", bob), ("alice", alice)]
            for (_, client) in clients { try await client.connect(timeLimit: 60) }
            _ = try await alice.postboxes()
            let carol = try await network.connect(as: "carol")
            let heard = ["bob": Heard(), "alice": Heard()]
            var reading: [Task<Void, any Error>] = []
            for (name, client) in clients {
                let heard = try #require(heard[name])
                reading.append(
                    Task { [events = try await client.messages(topic: "chat.room", from: .new)] in
                        for try await event in events {
                            if event == .live { heard.begin() }
                            if case .message(let message) = event { heard.add(message) }
                        }
                    })
                try await eventually("the subscription", deadline: .seconds(60)) { heard.hasBegun }
            }
            let isOver = NIOLockedValueBox(false)
            let attack = Task {
                defer { isOver.withLockedValue { $0 = true } }
                var hostility = Hostility(seed: seed, hash: network.description.hash)
                for number in 0..<Self.count {
                    let (subject, headers, body) = hostility.next()
                    _ = try carol.core.send { buffer in
                        let body = ByteBuffer(bytes: body)
                        if let headers {
                            ProtocolEncoder.writePublish(
                                body, headers: headers, subject: subject, reply: nil, into: &buffer)
                        } else {
                            ProtocolEncoder.writePublish(body, subject: subject, reply: nil, into: &buffer)
                        }
                    }
                    if number % 20 == 0 {
                        try await carol.flush(timeout: .seconds(60))
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                try await carol.flush(timeout: .seconds(60))
            }
            var sent = 0
            repeat {
                sent += 1
                let (number, (name, client)) = (sent, clients[sent % 2])
                _ = try await client.send(
                    topic: "chat.room", message: ["username": .string(name), "text": .string("line \(number)")],
                    id: "\(name)-\(number)", timeout: .seconds(60))
                try await eventually("line \(number)") {
                    heard.allSatisfy { reader, heard in
                        heard.has("\(name)-\(number)", "line \(number)", from: name, to: reader)
                    }
                }
                guard sent % 10 == 1 else { continue }
                _ = try await bob.post(
                    to: "alice", postbox: "personal", text: "letter \(number / 10)", timeout: .seconds(60))
                let newest = try await alice.listMessages(limit: 100, postbox: nil, order: .newestFirst)
                #expect(newest.items.contains { $0.from == "bob" && $0.message == "letter \(number / 10)" })
                try await bob.put(key: "bob.\(number / 10)", value: .integer(UInt64(number)))
                #expect(try await alice.get(key: "bob.\(number / 10)")?.value == .int(Int64(number)))
                #expect(try await alice.keys(matching: "bob.*").count == number / 10 + 1)
                // Whatever another user's key has, asking for it is answered.
                _ = try await alice.get(key: "evil.\(number % 30)")
            } while !isOver.withLockedValue(\.self)
            try await attack.value
            for (name, heard) in heard { #expect(heard.forged.isEmpty, "not sent by \(name)") }

            var history: [String] = []
            var next: UInt64?
            repeat {
                let part = try await alice.history(
                    topic: "chat.room", start: Timestamp(milliseconds: 0), limit: 10_000, after: next)
                history += part.messages.map(\.text).filter { $0.hasPrefix("line ") }
                next = part.next
            } while next != nil
            #expect(history == (1...sent).map { "line \($0)" })
            var listed: [String] = []
            var token: String?
            repeat {
                let page = try await alice.listMessages(limit: 100, nextToken: token)
                listed += page.items.filter { $0.from == "bob" }.map(\.message)
                token = page.nextToken
            } while token != nil
            #expect(listed == (0...(sent - 1) / 10).map { "letter \($0)" })
            for task in reading { task.cancel() }
            for (_, client) in clients { await client.close() }
            await carol.close()
        }
    }

    /// The lines that have come to a user.
    private final class Heard: Sendable {
        private struct State {
            var lines: [String: TopicMessage] = [:]
            /// What is shown as the user's own and is no line of the two.
            var forged: [TopicMessage] = []
            var hasBegun = false
        }
        private let state = NIOLockedValueBox(State())

        func add(_ message: TopicMessage) {
            state.withLockedValue { state in
                if message.text.hasPrefix("line ") {
                    state.lines[message.id] = message
                } else if message.isOwn {
                    state.forged.append(message)
                }
            }
        }

        /// Whether a line has come, as what it is.
        func has(_ id: String, _ text: String, from sender: String, to reader: String) -> Bool {
            guard let line = state.withLockedValue({ $0.lines[id] }) else { return false }
            #expect(line.text == text && line.from == sender && line.isOwn == (sender == reader), "\(line)")
            return true
        }

        var forged: [TopicMessage] { state.withLockedValue(\.forged) }
        func begin() { state.withLockedValue { $0.hasBegun = true } }
        var hasBegun: Bool { state.withLockedValue(\.hasBegun) }
    }
}
