import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Relay

@Suite("Deadlines: one alarm for all who wait")
struct DeliveryClockTests {
    /// A clock that a test moves. It notes which alarms are set.
    private final class AlarmTime: Timekeeper {
        private let time = ManualTime()
        private let start: ContinuousClock.Instant
        private let noted = NIOLockedValueBox<[Int]>([])

        init() { start = time.now }

        var now: ContinuousClock.Instant { time.now }
        var secondsSince1970: Int64 { time.secondsSince1970 }
        var alarms: [Int] { noted.withLockedValue(\.self) }

        func second(_ number: Int) -> ContinuousClock.Instant { start + .seconds(number) }
        func pass(to number: Int) { time.advance(by: second(number) - now) }

        func sleep(until moment: ContinuousClock.Instant) async throws {
            noted.withLockedValue { $0.append(Int((moment - start).components.seconds)) }
            try await time.sleep(until: moment)
        }
    }

    private final class Caller: Sendable {}

    private let time = AlarmTime()
    private let clock: DeliveryClock
    private let callers = ["a", "b", "c", "d"].map { ($0, Caller()) }
    private let late = Collected()

    init() { clock = DeliveryClock(time) }

    private func name(_ name: String) throws -> DeliveryClock.Name {
        .caller(ObjectIdentifier(try #require(callers.first { $0.0 == name }).1))
    }

    private func set(_ name: String, to second: Int) throws {
        clock.set(try self.name(name), at: time.second(second)) { [late] in late.add(name) }
    }

    private func expect(late names: [String] = [], alarms: [Int]) async throws {
        try await eventually("\(names), \(alarms)") { late.all.sorted() == names && time.alarms == alarms }
    }

    @Test("The alarm is set for the first deadline, and moved only for an earlier one")
    func alarm() async throws {
        try set("a", to: 10)
        try await expect(alarms: [10])
        try set("b", to: 11)
        try set("c", to: 10)
        try set("d", to: 4)
        try await expect(alarms: [10, 4])
        time.pass(to: 4)
        try await expect(late: ["d"], alarms: [10, 4, 10])
        time.pass(to: 10)
        try await expect(late: ["a", "c", "d"], alarms: [10, 4, 10, 11])
        time.pass(to: 12)
        try await expect(late: ["a", "b", "c", "d"], alarms: [10, 4, 10, 11])
    }

    @Test("A deadline takes the place of an earlier one of the same name")
    func replaced() async throws {
        try set("a", to: 10)
        try set("a", to: 12)
        try await expect(alarms: [10])
        time.pass(to: 10)
        try await expect(alarms: [10, 12])
        try set("a", to: 11)
        try await expect(alarms: [10, 12, 11])
        time.pass(to: 11)
        try await expect(late: ["a"], alarms: [10, 12, 11])
    }
}
