import Testing

@testable import NATS

@Suite("What a server may say in addition to messages")
struct ServerAllowanceTests {
    private static let second: Int64 = 1_000_000_000

    @Test("INFO may come in a burst, and then as much as the rate allows")
    func informed() throws {
        var allowance = ServerAllowance(now: 0)
        for _ in 0..<ServerAllowance.burst / ServerAllowance.leastInfo { try allowance.informed(bytes: 10, now: 0) }
        #expect(throws: NATSError.self) {
            var empty = allowance
            try empty.informed(bytes: 10, now: 0)
        }
        // A second brings 64 of the shortest, and no more.
        for _ in 0..<64 { try allowance.informed(bytes: 10, now: Self.second) }
        #expect(throws: NATSError.self) { try allowance.informed(bytes: 10, now: Self.second) }
    }

    @Test("an hour without INFO is worth one burst, and a clock that stops or goes back nothing")
    func clock() throws {
        var allowance = ServerAllowance(now: 0)
        try allowance.informed(bytes: ServerAllowance.burst, now: 0)
        try allowance.informed(bytes: ServerAllowance.burst, now: 3_600 * Self.second)
        #expect(throws: NATSError.self) {
            var late = allowance
            try late.informed(bytes: 1, now: 0)
        }
        try allowance.informed(bytes: ServerAllowance.burst, now: .max)
        #expect(throws: NATSError.self) { try allowance.informed(bytes: 1, now: .max) }
    }

    @Test("as much may be refused as was sent, and a little more")
    func refused() throws {
        var allowance = ServerAllowance(now: 0)
        for _ in 0..<ServerAllowance.refusals { try allowance.refused(afterSending: 0) }
        #expect(throws: NATSError.self) {
            var empty = allowance
            try empty.refused(afterSending: 7)
        }
        for _ in 0..<100 { try allowance.refused(afterSending: 800) }
        #expect(throws: NATSError.self) { try allowance.refused(afterSending: 800) }
    }
}
