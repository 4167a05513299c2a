import Foundation
import NATS
import Relay
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("What tail prints")
    struct Tail {
        /// What a line says of its message.
        private struct Line {
            var topic: String
            var sequence: Int
        }

        @Test(
            "B34 tail --raw and history --raw print all that was stored, unknown keys and foreign maps included",
            arguments: NATSServerProcess.binaries)
        func raw(_ binary: NATSServerBinary) async throws {
            let network = try await PlainNetwork(binary)
            let start = Timestamp(milliseconds: 1_763_719_262_345)
            let known = Envelope(
                clientID: "ios_1", id: "1", room: "chat.raw", message: "hi", start: start,
                unknown: [.init(key: "trace", value: ["hop": 2]), .init(key: 7, value: true)])
            let binaryJSON = Envelope(
                id: "2", room: "chat.raw", message: .binary(Array(#"{"text":"swift"}"#.utf8)), start: start)
            let payloads: [[UInt8]] = [
                known.encoded(), MessagePack.encode(["kind": "ping"]), [0xC1, 0xFF], binaryJSON.encoded(),
                Array(#" {"message":"from a script","n":1.5}"#.utf8),
            ]
            try await network.store(payloads.map { (topic: "chat.raw", payload: $0) })

            let expected = [
                #"{"client_id":"ios_1","id":"1","room":"chat.raw","message":"hi","start":1763719262345,"#
                    + #""trace":{"hop":2},"7":true}"#,
                #"{"kind":"ping"}"#,
                #"{"id":"2","room":"chat.raw","message":{"text":"swift"},"start":1763719262345}"#,
                #"{"message":"from a script","n":1.5}"#,
            ]
            let tail = try await network.parley(["tail", "chat.raw", "--since", "all", "--count", "4", "--raw"])
            #expect(tail.exitCode == 0 && tail.lines == expected, "\(tail)")
            #expect(tail.diagnostics.contains("message 3 of chat.raw, 2 bytes, cannot be read"), "\(tail)")
            let history = try await network.parley(["history", "chat.raw", "--start", "all", "--raw"])
            #expect(history.exitCode == 0 && history.lines == expected, "\(history)")

            // Who asks for messages gets messages.
            let json = try await network.parley(["tail", "chat.raw", "--since", "all", "--count", "2", "--json"])
            #expect(try json.lines.map { try JSONLine($0)["seq"].int } == [1, 4], "\(json)")
            #expect(json.diagnostics.contains("message 2 of chat.raw"), "\(json)")
        }

        @Test(
            "B37 B38 tail prints several topics in the stream's order, and what two patterns match once",
            arguments: NATSServerProcess.binaries)
        func stored(_ binary: NATSServerBinary) async throws {
            let network = try await PlainNetwork(binary)
            let topics = Self.topics(1_200, seed: 1)
            try await network.store(topics.map(Self.message))
            for (patterns, matching) in [
                (["chat.a", "chat.b", "chat.c"], ["chat.a", "chat.b", "chat.c"]),
                (["chat.*", "chat.a", "*.b"], ["chat.a", "chat.b", "chat.c", "other.b"]),
                (["other.b", "*.b", "other.*"], ["chat.b", "other.b", "other.c"]),
            ] {
                let expected = topics.indices.filter { matching.contains(topics[$0]) }.map { $0 + 1 }
                let result = try await network.parley(
                    ["tail"] + patterns + ["--since", "all", "--count", "\(expected.count)", "--json"])
                #expect(result.exitCode == 0, "\(patterns): \(result.diagnostics)")
                #expect(try Self.lines(result.output).map(\.sequence) == expected, "\(patterns)")
            }
        }

        @Test(
            "B37 B38 tail over several patterns prints what comes, through a restart of the server, each message once",
            arguments: NATSServerProcess.binaries)
        func following(_ binary: NATSServerBinary) async throws {
            let network = try await PlainNetwork(binary)
            let topics = Self.topics(900, seed: 2)
            let expected = topics.indices.filter { topics[$0] != "other.c" }.map { $0 + 1 }
            let (before, meanwhile) = (topics[..<300], topics[300..<600])
            try await network.store(before.map(Self.message))

            let tail = try network.start(
                ["tail", "chat.*", "*.a", "*.b", "--since", "all", "--count", "\(expected.count)", "--json"])
            defer { tail.close() }
            let stored = expected.count { $0 <= before.endIndex }
            try await tail.waitFor("what is stored", deadline: .seconds(60)) { output, _ in
                output.utf8.count { $0 == UInt8(ascii: "\n") } >= stored
            }
            try await network.store(meanwhile.map(Self.message))
            try await network.restart()
            try await network.store(topics[600...].map(Self.message))

            let result = try await tail.waitForExit(deadline: .seconds(120))
            let lines = try Self.lines(result.output)
            #expect(result.exitCode == 0, "\(result.diagnostics)")
            #expect(lines.prefix(stored).map(\.sequence) == Array(expected.prefix(stored)))
            #expect(lines.map(\.sequence).sorted() == expected)
            for (topic, lines) in Dictionary(grouping: lines, by: \.topic) {
                let sequences = lines.map(\.sequence)
                #expect(sequences == sequences.sorted(), "\(topic)")
            }
        }

        // MARK: Messages and lines

        /// So many topics, of five, in a random order.
        private static func topics(_ count: Int, seed: UInt64) -> [String] {
            var random = SeededGenerator(seed: seed)
            let names = ["chat.a", "chat.b", "chat.c", "other.b", "other.c"]
            return (0..<count).map { _ in names[Int.random(in: 0..<names.count, using: &random)] }
        }

        /// A message on a topic, unlike all others.
        private static func message(on topic: String) -> (topic: String, payload: [UInt8]) {
            let envelope = Envelope(
                id: UUID().uuidString, room: topic, message: "a line",
                start: Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000)))
            return (topic, envelope.encoded())
        }

        /// The messages in what a command has printed.
        private static func lines(_ output: String) throws -> [Line] {
            try output.split(separator: "\n").map { text in
                let object = try JSONLine(String(text))
                return Line(topic: object["topic"].string, sequence: object["seq"].int ?? 0)
            }
        }

        @Test(
            "B38 From a server that drops slow readers tail, history and the chat get everything",
            arguments: NATSServerProcess.binaries)
        func shortQueue(_ binary: NATSServerBinary) async throws {
            let network = try await PlainNetwork(binary, "max_pending: 1048576\n")
            let text = String(repeating: "x", count: 10_000)
            for start in stride(from: 0, to: 2_000, by: 200) {
                try await network.store(
                    (start..<start + 200).map { number in
                        let line = ChatLine(
                            username: "bob", text: "\(text) \(number)", timestamp: Timestamp(milliseconds: 0))
                        let envelope = Envelope(
                            id: "\(number)", room: "chat.lobby", message: line.value, start: Timestamp(milliseconds: 0))
                        return ("chat.lobby", envelope.encoded())
                    })
            }
            let read = ["chat.lobby", "--json"]
            for words in [
                ["tail"] + read + ["--since", "all", "--count", "2000"],
                ["history"] + read + ["--start", "all", "--limit", "2000"],
            ] {
                let result = try await network.parley(words)
                #expect(result.exitCode == 0, "\(result.diagnostics)")
                #expect(try Self.lines(result.output).map(\.sequence) == Array(1...2_000), "\(words[0])")
            }
            let chat = try network.chat()
            defer { chat.close() }
            try await chat.waitFor("the newest, connected", deadline: .seconds(120)) {
                $0.contains("● CONNECTED") && $0.contains("1999")
            }
        }
    }
}
