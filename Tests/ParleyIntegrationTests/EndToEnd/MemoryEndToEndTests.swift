import Foundation
import NATS
import Relay
import TestSupport
import Testing

#if os(Linux)
    extension EndToEndTests {
        @Suite("Memory beside large messages")
        struct Memory {
            /// What a program may have used at its worst.
            private static let limit = 150 << 20
            /// Messages of a MiB each: more than twice of what may be used.
            private static let count = 256

            @Test("B40 tail prints a topic of 256 MiB, in messages of a MiB each, in less than 150 MB of memory")
            func tail() async throws {
                let network = try await Self.network()
                let output = network.path("output")
                let tail = try network.start(["tail", "chat.lobby", "--since", "all"], output: output)
                defer { tail.close() }
                try await eventually("all messages to be printed", deadline: .seconds(200)) {
                    if let status = tail.exitStatus { throw TestFailure("tail \(status): \(tail.diagnostics)") }
                    return Self.size(output) > Self.count << 20
                }
                let used = Int(kilobytes: "VmHWM:", of: "\(tail.processID)")
                #expect(used > 0 && used < Self.limit, "\(used >> 20) MiB")
                tail.signal(SIGINT)
                let result = try await tail.waitForExit(deadline: .seconds(60))
                #expect(result.exitCode == 130 && result.diagnostics.isEmpty, "\(result)")
            }

            @Test(
                "A chat that is opened on a topic of 256 MiB, in messages of a MiB each, takes less than 150 MB of memory"
            )
            func chat() async throws {
                let network = try await Self.network()
                let alice = try PseudoTerminal(
                    try BuiltProduct.url("parley").path, ["chat", "chat.lobby", "--config", network.configuration],
                    environment: network.environment)
                defer { alice.close() }
                try await alice.waitFor("the newest message", deadline: .seconds(120)) {
                    $0.contains("● CONNECTED") && $0.contains("reads the rest") && !$0.contains("joining …")
                }
                try alice.type("still here")
                try alice.press(.enter)
                try await alice.waitFor("the sent line", deadline: .seconds(60)) { screen in
                    screen.rows.contains { $0.contains("still here") && $0.hasSuffix("✓") }
                }
                let used = Int(kilobytes: "VmHWM:", of: "\(alice.processID)")
                #expect(used > 0 && used < Self.limit, "\(used >> 20) MiB")
                try alice.press(.ctrl("q"))
                #expect(try await alice.waitForExit(deadline: .seconds(60)) == .exited(0))
            }

            @Test("B40 history and tail print 5 MB of values of a byte each in less than 140 MB of memory")
            func tinyValues() async throws {
                let network = try await PlainNetwork(NATSServerProcess.anyBinary)
                let count = 40
                let envelope = Envelope(
                    id: "id-100", room: "chat.lobby", message: .array(Array(repeating: .int(1), count: 128_000)),
                    start: Timestamp(milliseconds: 1_763_719_262_345))
                let bytes = envelope.encoded()
                let place = try #require(bytes.indices.first { bytes[$0...].starts(with: Array("id-100".utf8)) }) + 3
                let messages = (0..<count).map { number -> (topic: String, payload: [UInt8]) in
                    var payload = bytes
                    payload.replaceSubrange(place..<place + 3, with: "\(100 + number)".utf8)
                    return ("chat.lobby", payload)
                }
                for start in stride(from: 0, to: count, by: 20) {
                    try await network.store(Array(messages[start..<start + 20]))
                }
                for command in [["history", "--start", "all"], ["tail", "--since", "all", "--count", "\(count)"]] {
                    let output = network.path("output")
                    let reader = try network.start(command + ["chat.lobby", "--raw"], output: output)
                    defer { reader.close() }
                    var used = 0
                    try await eventually("\(command[0]) to be done", deadline: .seconds(120)) {
                        used = max(used, Int(kilobytes: "VmHWM:", of: "\(reader.processID)"))
                        return reader.exitStatus != nil
                    }
                    #expect(used > 0 && used < 140 << 20, "\(command[0]): \(used >> 20) MiB")
                    #expect(Self.size(output) > 2 * count * 128_000)
                    #expect(try await reader.waitForExit(deadline: .seconds(60)).exitCode == 0)
                }
            }

            // MARK: What is stored

            /// A network with the messages.
            private static func network() async throws -> PlainNetwork {
                let network = try await PlainNetwork(NATSServerProcess.anyBinary, "max_payload: \(2 << 20)\n")
                for start in stride(from: 1, through: count, by: 8) {
                    try await network.store((start..<start + 8).map { ("chat.lobby", message($0)) })
                }
                return network
            }

            /// A line of chat of a MiB that has nothing in common with the others.
            private static func message(_ number: Int) -> [UInt8] {
                var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
                let words = (0..<98_304).map { _ -> UInt64 in
                    state ^= state << 13
                    state ^= state >> 7
                    state ^= state << 17
                    return state
                }
                let text = words.withUnsafeBytes { Data($0) }.base64EncodedString()
                let envelope = Envelope(
                    id: "\(number)", room: "chat.lobby", message: ["username": "bob", "text": .string(text)],
                    start: Timestamp(milliseconds: 1_763_719_262_345 + Int64(number)))
                return envelope.encoded()
            }

            /// A file's bytes; 0 for one that is not there yet.
            private static func size(_ path: String) -> Int {
                let end = try? FileHandle(forReadingAtPath: path)?.seekToEnd()
                return Int(end ?? 0)
            }
        }
    }
#endif
