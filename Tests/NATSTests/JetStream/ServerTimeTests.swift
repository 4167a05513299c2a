import Testing

@testable import NATS

@Suite("The server's time")
struct ServerTimeTests {
    @Test(
        "is read to the nanosecond, with and without fraction and offset",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.000000001Z", 1),
            ("2024-02-29T12:34:56Z", 1_709_210_096_000_000_000),
            ("2024-02-29T12:34:56.5Z", 1_709_210_096_500_000_000),
            ("2024-02-29t12:34:56.123456789z", 1_709_210_096_123_456_789),
            ("2024-02-29T13:34:56+01:00", 1_709_210_096_000_000_000),
            ("2024-02-29T07:04:56-05:30", 1_709_210_096_000_000_000),
            ("2024-02-29T12:34:56.1234567891Z", 1_709_210_096_123_456_789),
            ("2000-03-01T00:00:00Z", 951_868_800_000_000_000),
            ("2262-04-11T23:47:16.854775807Z", .max),
            // Out of range is the beginning of 1970.
            ("0001-01-01T00:00:00Z", 0), ("9999-12-31T23:59:59Z", 0), ("1969-12-31T23:59:59Z", 0),
            ("2262-04-11T23:47:16.854775808Z", 0), ("2262-04-11T23:47:16.999999999Z", 0), ("2262-04-11T23:47:17Z", 0),
            ("0000-01-01T00:00:00Z", 0),
        ] as [(String, Int64)])
    func read(text: String, nanoseconds: Int64) {
        #expect(ServerTime(parsing: text)?.nanoseconds == nanoseconds)
    }

    @Test(
        "is not read from anything else",
        arguments: [
            "", "yesterday", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z", "2024-01-32T00:00:00Z",
            "2024-01-00T00:00:00Z", "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:61Z",
            "2024/01/01T00:00:00Z", "2024-01-01T00:00:00x", "20240101T000000Z+00:00", "２０２４-01-01T00:00:00Z",
            "2024-01-01T00x00:00Z", "2024-01-01T00:00:00Zjunk", "2024-01-01T00:00:00+01:00junk",
        ])
    func others(text: String) { #expect(ServerTime(parsing: text) == nil) }

    @Test("writes what it reads, for 5,000 moments of three centuries")
    func roundTrip() {
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<5_000 {
            let time = ServerTime(nanoseconds: Int64.random(in: 0...Int64.max, using: &generator))
            #expect(ServerTime(parsing: time.description) == time)
        }
        #expect(ServerTime(nanoseconds: 1).description == "1970-01-01T00:00:00.000000001Z")
        #expect(ServerTime(nanoseconds: 1_709_210_096_000_000_000).description == "2024-02-29T12:34:56.000000000Z")
    }

    @Test("goes to a date and back to the microsecond, and compares")
    func dates() {
        let time = ServerTime(nanoseconds: 1_709_210_096_123_456_789)
        #expect(abs(ServerTime(time.date).nanoseconds - time.nanoseconds) < 1_000)
        #expect(time.milliseconds == 1_709_210_096_123)
        #expect(time < ServerTime(nanoseconds: time.nanoseconds + 1))
    }
}
