import Foundation
import Testing

@testable import NATS

@Suite("Numbers that a server sends")
struct ServerNumberTests {
    /// Up to the limit, and above it in all ways.
    private static let numbers: [(text: String, value: UInt64?)] = [
        ("0", 0), ("1", 1), ("4611686018427387903", ServerNumber.limit), ("4611686018427387904", nil),
        ("9223372036854775807", nil), ("9223372036854775808", nil), ("18446744073709551615", nil),
        ("18446744073709551616", nil), ("-1", nil), ("1e30", nil),
    ]

    private static func decode<Value: Decodable>(_ type: Value.Type, _ text: String) -> Value? {
        try? JSONDecoder().decode(type, from: Data(text.utf8))
    }

    @Test("are accepted up to a limit that no sum of two exceeds, in text and in JSON")
    func limit() {
        for (text, value) in Self.numbers {
            #expect(ServerNumber(text)?.value == value, "\(text)")
            #expect(Self.decode([ServerNumber].self, "[\(text)]")?.first?.value == value, "\(text)")
        }
        #expect(ServerNumber("") == nil && ServerNumber("x") == nil)
        #expect(Int64(exactly: ServerNumber.limit + ServerNumber.limit) != nil)
    }

    @Test(
        "of a stream are refused above the limit",
        arguments: ["messages", "bytes", "first_seq", "last_seq"])
    func stream(name: String) {
        for (text, value) in Self.numbers {
            var members = ["messages": "0", "bytes": "0", "first_seq": "1", "last_seq": "0"]
            members[name] = text
            let body = members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
            #expect((Self.decode(StreamInfo.State.self, "{\(body)}") != nil) == (value != nil), "\(name) \(text)")
        }
        #expect(Self.decode(StreamInfo.State.self, #"{"messages":0,"bytes":0,"first_seq":1}"#) == nil)
    }

    @Test("of a stream never have its first message behind its end")
    func order() throws {
        for (first, last, expected) in [(9, 5, 6), (6, 5, 6), (3, 5, 3), (0, 0, 0), (7, 0, 1)] as [(Int, Int, UInt64)] {
            let text = "{\"messages\":0,\"bytes\":0,\"first_seq\":\(first),\"last_seq\":\(last)}"
            #expect(try #require(Self.decode(StreamInfo.State.self, text)).firstSequence == expected)
        }
    }

    @Test("of a consumer and of a stored message are refused above the limit")
    func others() {
        for (text, value) in Self.numbers {
            let pending = #"{"stream_name":"s","name":"c","num_pending":\#(text)}"#
            #expect(Self.decode(ConsumerInfo.self, pending)?.pending == value, "\(text)")
            let place = #"{"stream_name":"s","name":"c","num_pending":0,"delivered":{"stream_seq":\#(text)}}"#
            #expect(Self.decode(ConsumerInfo.self, place)?.deliveredSequence == value, "\(text)")
            let message = #"{"subject":"a","seq":\#(text),"time":"2026-01-02T03:04:05Z"}"#
            #expect((Self.decode(EncodedMessage.self, message) != nil) == (value != nil), "\(text)")
        }
    }
}
