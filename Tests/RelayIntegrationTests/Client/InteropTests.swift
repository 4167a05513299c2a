import Foundation
import TestSupport
import Testing

@testable import Relay

/// RelayX's wire, spoken with a peer that shares no code: Python's msgpack and nats-py.
@Suite("RelayX's wire with an independent peer", .realProcesses)
struct InteropTests {
    static let python = ProcessInfo.processInfo.environment["PARLEY_TEST_PYTHON"]

    static var peer: String {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Interop/peer.py").path
    }

    @Test(
        "B34 map, string, number, bool, nil, array and JSON in binary are understood",
        .enabled(if: python != nil, "PARLEY_TEST_PYTHON names no Python with nats-py and msgpack"),
        arguments: NATSServerProcess.binaries)
    func fromPeer(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        let received = Collector<TopicEvent>()
        await received.start(try await client.messages(topic: "chat.room"))
        try await received.wait(for: "the live subscription") { $0.contains(.live) }
        let lines = [
            #"{"subject":"h4sh.chat.room","room":"chat.room","message":{"username":"py","text":"map","timestamp":"2026-01-02T03:04:05.678Z"}}"#,
            #"{"subject":"h4sh.chat.room","room":"chat.room","message":"string","start_unit":"s"}"#,
            #"{"subject":"h4sh.chat.room","room":"chat.room","message":42}"#,
            #"{"subject":"h4sh.chat.room","room":"chat.room","message":true}"#,
            #"{"subject":"h4sh.chat.room","room":"chat.room","message":null}"#,
            #"{"subject":"h4sh.chat.room","room":"chat.room","message":[1,"two",null]}"#,
            #"{"subject":"h4sh.chat.room","room":"chat.room","message":{"k":[1,{"n":2.5}]},"binary":true}"#,
        ]
        let result = try await ChildProcess.run(
            try #require(Self.python), [Self.peer, fixture.server.url, "publish"],
            input: lines.joined(separator: "\n") + "\n")
        #expect(result.exitCode == 0, "\(result.diagnostics)")
        try await received.wait(for: "seven messages") { $0.count == 8 }
        let messages = await received.elements.compactMap { event -> TopicMessage? in
            if case .message(let message) = event { message } else { nil }
        }
        #expect(
            messages.map(\.message) == [
                ["username": "py", "text": "map", "timestamp": "2026-01-02T03:04:05.678Z"], "string", 42, true, nil,
                [1, "two", nil], ["k": [1, ["n": 2.5]]],
            ])
        #expect(messages.first?.from == "py" && messages.first?.text == "map")
        let now = Timestamp.now.milliseconds
        #expect(messages.allSatisfy { abs($0.sentAt.milliseconds - now) < 60_000 })
        await client.close()
    }

    @Test(
        "B34 what this client publishes is a RelayX envelope to the peer",
        .enabled(if: python != nil, "PARLEY_TEST_PYTHON names no Python with nats-py and msgpack"),
        arguments: NATSServerProcess.binaries)
    func toPeer(_ binary: NATSServerBinary) async throws {
        let fixture = try await ClientFixture.start(binary)
        let client = try await fixture.client()
        let kinds: [MessageValue] = [
            ChatLine(username: "alice", text: "hëllo 👋", timestamp: .now).value, "string", 42, 2.5, false, nil,
            [1, "two", [3]],
        ]
        for kind in kinds { _ = try await client.publish(topic: "chat.room", message: kind) }
        let result = try await ChildProcess.run(
            try #require(Self.python),
            [Self.peer, fixture.server.url, "history", "test_stream", "h4sh.chat.room", "--count", "\(kinds.count)"])
        #expect(result.exitCode == 0, "\(result.diagnostics)")
        let records = try result.lines.filter { $0.hasPrefix("{") }.map { try JSONText.parse($0) }
        let payloads = records.compactMap { $0["payload"] }
        #expect(payloads.map { $0["message"] ?? "missing" } == kinds)
        for payload in payloads {
            #expect(payload["room"] == "chat.room")
            #expect(payload["id"]?.stringValue?.count == 15)
            #expect(payload["client_id"]?.stringValue?.isEmpty == false)
            #expect((payload["start"]?.intValue ?? 0) > 1_700_000_000_000)
        }
        await client.close()
    }
}
