import Foundation
import NATS
import Relay
import TestSupport
import Testing

extension EndToEndTests {
    @Suite("What tail prints")
    struct Tail {
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
            for payload in payloads { try network.publish(payload, to: "chat.raw") }
            try await network.stores(UInt64(payloads.count))

            let expected = [
                #"{"client_id":"ios_1","id":"1","room":"chat.raw","message":"hi","start":1763719262345,"#
                    + #""trace":{"hop":2},"7":true}"#,
                #"{"kind":"ping"}"#,
                #"{"id":"2","room":"chat.raw","message":{"text":"swift"},"start":1763719262345}"#,
                #"{"message":"from a script","n":1.5}"#,
            ]
            let tail = try await network.parley("tail", "chat.raw", "--since", "all", "--count", "4", "--raw")
            #expect(tail.exitCode == 0 && tail.lines == expected, "\(tail)")
            #expect(tail.diagnostics.contains("message 3 of chat.raw, 2 bytes, cannot be read"), "\(tail)")
            let history = try await network.parley("history", "chat.raw", "--start", "all", "--raw")
            #expect(history.exitCode == 0 && history.lines == expected, "\(history)")

            // Who asks for messages gets messages.
            let json = try await network.parley("tail", "chat.raw", "--since", "all", "--count", "2", "--json")
            #expect(try json.lines.map { try JSONLine($0)["seq"].int } == [1, 4], "\(json)")
            #expect(json.diagnostics.contains("message 2 of chat.raw"), "\(json)")
        }
    }
}

/// A server with a stream of topics and no more, the configuration that leads there, and somebody who publishes what no
/// client of Parley's would.
private struct PlainNetwork {
    private let server: NATSServerProcess
    private let folder: TemporaryDirectory
    private let connection: NATSConnection

    init(_ binary: NATSServerBinary) async throws {
        server = try await NATSServerProcess.start(binary)
        folder = try TemporaryDirectory("e2e")
        let profile = "servers: ['\(server.url)'], user: 'alice', namespace: 'n', hash: 'h'"
        try folder.write("{ profiles: { default: { \(profile) } } }", to: "config.json")
        connection = try await NATSConnection.connect(
            to: try ServerAddress(parsing: server.url), options: ConnectOptions(connectTimeout: .seconds(60)))
        _ = try await JetStream(connection).createStream(StreamConfiguration(name: "n_stream", subjects: ["h.>"]))
    }

    func publish(_ payload: [UInt8], to topic: String) throws {
        try connection.publish(payload, to: "h.\(topic)")
    }

    /// Returns when the stream has this many messages.
    func stores(_ count: UInt64) async throws {
        try await eventually("\(count) stored messages", deadline: .seconds(60)) {
            try await JetStream(connection).streamInfo("n_stream").state.lastSequence == count
        }
    }

    /// Runs a command to its end.
    func parley(_ arguments: String...) async throws -> ChildProcess.Result {
        try await ChildProcess.run(
            try BuiltProduct.url("parley").path, arguments + ["--config", folder.path("config.json")],
            deadline: .seconds(120))
    }
}
