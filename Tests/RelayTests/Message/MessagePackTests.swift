import NATS
import Relay
import TestSupport
import Testing

@Suite struct MessagePackTests {
    static let vectors: [(MessageValue, [UInt8])] = [
        (.null, [0xC0]), (.bool(false), [0xC2]), (.bool(true), [0xC3]),
        (0, [0x00]), (127, [0x7F]), (128, [0xCC, 0x80]), (255, [0xCC, 0xFF]), (256, [0xCD, 0x01, 0x00]),
        (65_535, [0xCD, 0xFF, 0xFF]), (65_536, [0xCE, 0, 1, 0, 0]), (4_294_967_295, [0xCE, 0xFF, 0xFF, 0xFF, 0xFF]),
        (4_294_967_296, [0xCF, 0, 0, 0, 1, 0, 0, 0, 0]),
        (.int(.max), [0xCF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        (.unsigned(.max), [0xCF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]),
        (-1, [0xFF]), (-32, [0xE0]), (-33, [0xD0, 0xDF]), (-128, [0xD0, 0x80]), (-129, [0xD1, 0xFF, 0x7F]),
        (-32_768, [0xD1, 0x80, 0x00]), (-32_769, [0xD2, 0xFF, 0xFF, 0x7F, 0xFF]),
        (-2_147_483_648, [0xD2, 0x80, 0, 0, 0]),
        (-2_147_483_649, [0xD3, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]),
        (.int(.min), [0xD3, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        (1.5, [0xCB, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0]), (-0.0, [0xCB, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        ("", [0xA0]), ("a", [0xA1, 0x61]), ("é", [0xA2, 0xC3, 0xA9]),
        (.binary([]), [0xC4, 0x00]), (.binary([1, 2]), [0xC4, 2, 1, 2]),
        ([], [0x90]), ([1, nil], [0x92, 0x01, 0xC0]), ([:], [0x80]), (["a": 1], [0x81, 0xA1, 0x61, 0x01]),
        ([1: true], [0x81, 0x01, 0xC3]),
        (.extension(type: 5, data: [9]), [0xD4, 5, 9]), (.extension(type: 5, data: [9, 9]), [0xD5, 5, 9, 9]),
        (.extension(type: 5, data: [1, 2, 3, 4]), [0xD6, 5, 1, 2, 3, 4]),
        (.extension(type: -2, data: [1, 2, 3]), [0xC7, 3, 0xFE, 1, 2, 3]),
        (.extension(type: 5, data: []), [0xC7, 0, 5]),
        (.extension(type: 1, data: Array(repeating: 7, count: 8)), [0xD7, 1] + Array(repeating: 7, count: 8)),
        (.extension(type: 1, data: Array(repeating: 7, count: 16)), [0xD8, 1] + Array(repeating: 7, count: 16)),
        (.timestamp(seconds: 1, nanoseconds: 0), [0xD6, 0xFF, 0, 0, 0, 1]),
        (.timestamp(seconds: 1, nanoseconds: 1), [0xD7, 0xFF, 0, 0, 0, 4, 0, 0, 0, 1]),
        (.timestamp(seconds: 1 << 32, nanoseconds: 0), [0xD7, 0xFF, 0, 0, 0, 1, 0, 0, 0, 0]),
        (
            .timestamp(seconds: -1, nanoseconds: 2),
            [0xC7, 12, 0xFF, 0, 0, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
        ),
    ]

    @Test("Known values take their shortest bytes, both ways", arguments: vectors)
    func vector(_ value: MessageValue, _ bytes: [UInt8]) throws {
        #expect(MessagePack.encode(value) == bytes)
        #expect(try MessagePack.decode(bytes) == value)
    }

    @Test(
        "Longer forms than needed are read too",
        arguments: [
            ([0xCC, 0x01], 1), ([0xCD, 0, 1], 1), ([0xCE, 0, 0, 0, 1], 1), ([0xCF, 0, 0, 0, 0, 0, 0, 0, 1], 1),
            ([0xD0, 1], 1), ([0xD1, 0, 1], 1), ([0xD2, 0, 0, 0, 1], 1), ([0xD3, 0, 0, 0, 0, 0, 0, 0, 1], 1),
            ([0xCA, 0x3F, 0xC0, 0, 0], 1.5), ([0xD9, 1, 0x61], "a"), ([0xDA, 0, 1, 0x61], "a"),
            ([0xDB, 0, 0, 0, 1, 0x61], "a"), ([0xC5, 0, 1, 7], .binary([7])), ([0xC6, 0, 0, 0, 1, 7], .binary([7])),
            ([0xDC, 0, 1, 0xC0], [nil]), ([0xDD, 0, 0, 0, 1, 0xC0], [nil]), ([0xDE, 0, 1, 0xC0, 0xC0], [nil: nil]),
            ([0xDF, 0, 0, 0, 1, 0xC0, 0xC0], [nil: nil]), ([0xC8, 0, 1, 5, 9], .extension(type: 5, data: [9])),
            ([0xC9, 0, 0, 0, 1, 5, 9], .extension(type: 5, data: [9])),
            (
                [0xC7, 12, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
                .timestamp(seconds: 1, nanoseconds: 0)
            ),
        ] as [([UInt8], MessageValue)]
    ) func longForm(_ bytes: [UInt8], _ value: MessageValue) throws {
        #expect(try MessagePack.decode(bytes) == value)
    }

    @Test("Lengths choose their header at every boundary", arguments: [15, 16, 31, 32, 255, 256, 65_535, 65_536])
    func boundaries(_ length: Int) throws {
        let values: [MessageValue] = [
            .string(String(repeating: "x", count: length)), .binary(Array(repeating: 1, count: length)),
            .array(Array(repeating: .null, count: length)),
            .extension(type: 1, data: Array(repeating: 1, count: length)),
            .map(MessageMap((0..<length).map { MessageMap.Entry(key: .int(Int64($0)), value: .null) })),
        ]
        for value in values {
            let bytes = MessagePack.encode(value)
            #expect(try MessagePack.decode(bytes) == value)
            // The header is one type byte and 0, 1, 2 or 4 bytes of length, and never longer than needed.
            if case .string = value {
                #expect(bytes.count - length == (length < 32 ? 1 : length < 256 ? 2 : length < 65_536 ? 3 : 5))
            }
        }
    }

    @Test("B34: random values survive encoding and decoding, and every cut of them is truncated", .processorBound)
    func roundTripAndTruncation() async throws {
        var random = SeededGenerator(seed: 34)
        for round in 0..<300 {
            if round % 10 == 0 { await Task.yield() }
            let value = random.value(depth: 3)
            let bytes = MessagePack.encode(value)
            #expect(try MessagePack.decode(bytes) == value)
            for cut in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 32)) {
                #expect(throws: MessageCodingError.self) { try MessagePack.decode(bytes[..<cut]) }
            }
        }
    }

    @Test("Every cut of a message with all types is reported as truncated")
    func truncation() {
        let bytes = MessagePack.encode(.array(Self.vectors.map(\.0)))
        for cut in 0..<bytes.count {
            #expect {
                try MessagePack.decode(bytes[..<cut])
            } throws: { error in
                if case MessageCodingError.truncated = error { true } else { false }
            }
        }
    }

    @Test("Random and damaged bytes are a value or a typed error, never a trap")
    func fuzz() async {
        var random = SeededGenerator(seed: 1)
        let valid = MessagePack.encode(.array(Self.vectors.map(\.0)))
        for round in 0..<8_000 {
            if round % 1_000 == 0 { await Task.yield() }
            var bytes = round % 2 == 0 ? valid : (0..<Int.random(in: 0...64, using: &random)).map { _ in UInt8(0) }
            for _ in 0..<(round % 2 == 0 ? 3 : bytes.count) where !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
            if let value = try? MessagePack.decode(bytes) { _ = MessagePack.encode(value) }
        }
    }

    @Test(
        "A small input cannot claim much",
        arguments: [
            [0xDD, 0xFF, 0xFF, 0xFF, 0xFF], [0xDF, 0xFF, 0xFF, 0xFF, 0xFF], [0xC6, 0xFF, 0xFF, 0xFF, 0xFF],
            [0xDB, 0xFF, 0xFF, 0xFF, 0xFF], [0xC9, 0xFF, 0xFF, 0xFF, 0xFF, 1],
        ] as [[UInt8]]
    ) func hugeClaim(_ bytes: [UInt8]) {
        #expect(throws: MessageCodingError.truncated(offset: bytes.count)) { try MessagePack.decode(bytes) }
    }

    @Test("Each limit has its error")
    func limits() {
        let deep = [UInt8](repeating: 0x91, count: 100_000)
        #expect(throws: MessageCodingError.tooDeep(limit: 64)) { try MessagePack.decode(deep) }
        let nested = [UInt8](repeating: 0x91, count: 64) + [0xC0]
        #expect(throws: Never.self) { try MessagePack.decode(nested) }
        #expect(throws: MessageCodingError.tooDeep(limit: 64)) { try MessagePack.decode([0x91] + nested) }
        let long = [UInt8](repeating: 0xC0, count: MessagePack.maximumBytes + 1)
        #expect(throws: MessageCodingError.tooLong(bytes: long.count, limit: long.count - 1)) {
            try MessagePack.decode(long)
        }
        // Claims of nested containers add up.
        let half: [UInt8] = [0xDD, 0, 4, 0, 0] + [UInt8](repeating: 0xC0, count: 1 << 18)
        #expect(throws: MessageCodingError.tooManyElements(limit: MessagePack.maximumElements)) {
            try MessagePack.decode([0x92] + half + half)
        }
    }

    @Test("Malformed values have typed errors")
    func malformed() {
        #expect(throws: MessageCodingError.truncated(offset: 0)) { try MessagePack.decode([UInt8]()) }
        #expect(throws: MessageCodingError.unexpected(offset: 0)) { try MessagePack.decode([0xC1]) }
        #expect(throws: MessageCodingError.trailingBytes(offset: 1)) { try MessagePack.decode([0xC0, 0xC0]) }
        #expect(throws: MessageCodingError.invalidText(offset: 1)) { try MessagePack.decode([0xA1, 0xFF]) }
        #expect(throws: MessageCodingError.invalidText(offset: 1)) { try MessagePack.decode([0xA2, 0xC0, 0x80]) }
        #expect(throws: MessageCodingError.invalidTimestamp(offset: 1)) { try MessagePack.decode([0xD4, 0xFF, 0]) }
        #expect(throws: MessageCodingError.invalidTimestamp(offset: 1)) {
            try MessagePack.decode([0xD7, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0])
        }
    }
}
