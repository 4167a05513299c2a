import NATS
import Platform
import Relay
import Testing

@Suite struct TimestampTests {
    @Test(
        "Moments are written as ISO 8601 with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (1_763_719_262_345, "2025-11-21T10:01:02.345Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)]
    ) func written(_ milliseconds: Int64, _ text: String) {
        #expect(Timestamp(milliseconds: milliseconds).iso8601 == text)
        #expect(Timestamp(iso8601: text) == Timestamp(milliseconds: milliseconds))
    }

    @Test(
        "Every usual form is read",
        arguments: [
            ("2025-11-21", 1_763_683_200_000), ("2025-11-21T10:01", 1_763_719_260_000),
            ("2025-11-21T10:01:02", 1_763_719_262_000), ("2025-11-21 10:01:02Z", 1_763_719_262_000),
            ("2025-11-21T10:01:02.3456789Z", 1_763_719_262_345), ("2025-11-21T10:01:02.3Z", 1_763_719_262_300),
            ("2025-11-21T12:01:02+02:00", 1_763_719_262_000), ("2025-11-21T05:31:02-0430", 1_763_719_262_000),
            ("2025-11-21T12:01:02+02", 1_763_719_262_000),
        ] as [(String, Int64)]
    ) func read(_ text: String, _ milliseconds: Int64) {
        #expect(Timestamp(iso8601: text)?.milliseconds == milliseconds)
    }

    @Test(
        "What is no date is refused",
        arguments: [
            "", "today", "2025", "2025-13-01", "2025-02-29", "1900-02-29", "2025-11-21T24:00", "2025-11-21T10:60",
            "2025-11-21T10:01:02.", "2025-11-21T10:01:02+", "2025-11-21T10:01:02Zx", "2025-11-31", "-025-11-21",
            "2025-11-21T10", "２025-11-21",
        ]
    ) func refused(_ text: String) { #expect(Timestamp(iso8601: text) == nil) }

    @Test("A number below 10^11 counts seconds, any other milliseconds")
    func units() {
        #expect(Timestamp(secondsOrMilliseconds: Int64(1_763_719_262)).milliseconds == 1_763_719_262_000)
        #expect(Timestamp(secondsOrMilliseconds: Int64(1_763_719_262_345)).milliseconds == 1_763_719_262_345)
        #expect(Timestamp(secondsOrMilliseconds: 1_763_719_262.345)?.milliseconds == 1_763_719_262_345)
        #expect(Timestamp(secondsOrMilliseconds: Double.nan) == nil)
        #expect(Timestamp(secondsOrMilliseconds: 1e300) == nil)
        #expect(Timestamp(seconds: 1_763_719_262).milliseconds == 1_763_719_262_000)
        #expect(Timestamp(nanoseconds: -1).milliseconds == -1)
    }

    @Test("A moment of any number has a text, a difference to any other one, and no other bound when it is read again")
    func bounds() throws {
        let numbers: [Int64] = [.min, .min + 1, -1, 0, 1, .max / 1_000, .max - 1, .max]
        let moments =
            numbers.map { Timestamp(milliseconds: $0) } + numbers.map { Timestamp(seconds: $0) }
            + numbers.map { Timestamp(nanoseconds: $0) } + numbers.map { Timestamp(secondsOrMilliseconds: $0) }
            + [-0x1p63, 0x1p62, 1e18].compactMap { Timestamp(secondsOrMilliseconds: $0) }
        for moment in moments {
            #expect(moment.iso8601.hasSuffix("Z"))
            for other in moments { #expect((moment.milliseconds - other.milliseconds > 0) == (moment > other)) }
        }
        #expect(Timestamp(seconds: .min) < Timestamp(seconds: -1) && Timestamp(seconds: .max) > Timestamp(seconds: 1))
        let coded = try JSONDecoder().decode(Timestamp.self, from: Data(#"{"milliseconds":9223372036854775807}"#.utf8))
        #expect(coded == Timestamp(milliseconds: .max))
        #expect(try JSONDecoder().decode(Timestamp.self, from: JSONEncoder().encode(coded)) == coded)
    }

    @Test("Random moments survive writing and reading")
    func roundTrip() {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<20_000 {
            let moment = Timestamp(milliseconds: .random(in: -62_167_219_200_000...253_402_300_799_999, using: &random))
            #expect(Timestamp(iso8601: moment.iso8601) == moment)
        }
    }
}
