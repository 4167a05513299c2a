import Foundation
import NATS
import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Relay

@Suite("Lifecycle: the signals")
struct LifecycleSourceTests {
    /// What a source tells.
    private final class Ear: Sendable {
        private let events = NIOLockedValueBox<[LifecycleEvent]>([])

        var receiver: LifecycleReceiver {
            LifecycleReceiver { [events] event in events.withLockedValue { $0.append(event) } }
        }

        var heard: [LifecycleEvent] { events.withLockedValue { $0 } }
    }

    private let start = (ContinuousClock.now, SuspendingClock.now)

    /// The two clocks after so much time awake and so much asleep.
    private func reading(awake: Duration, asleep: Duration) -> SleepGauge.Reading {
        SleepGauge.Reading(continuous: start.0 + awake + asleep, suspending: start.1 + awake)
    }

    @Test("B25 a clock that went on while the other one stood still tells how long the machine slept, once")
    func sleep() {
        var gauge = SleepGauge()
        #expect(gauge.take(reading(awake: .zero, asleep: .seconds(900))) == nil)
        #expect(gauge.take(reading(awake: .seconds(20), asleep: .seconds(900))) == nil)
        #expect(gauge.take(reading(awake: .seconds(30), asleep: .seconds(4_500))) == .seconds(3_600))
        #expect(gauge.take(reading(awake: .seconds(40), asleep: .seconds(4_500))) == nil)
        // Clocks that differ a little are no sleep.
        #expect(gauge.take(reading(awake: .seconds(50), asleep: .seconds(4_500) + .milliseconds(400))) == nil)
    }

    @Test("B25 the source of sleep looks only when it is asked, and keeps silent where its clocks cannot be read")
    func sleepSource() {
        let now = NIOLockedValueBox<SleepGauge.Reading?>(reading(awake: .zero, asleep: .zero))
        let source = SleepSource { now.withLockedValue { $0 } }
        let ear = Ear()
        source.begin(ear.receiver)
        now.withLockedValue { $0 = nil }
        #expect(source.look() == nil)
        now.withLockedValue { $0 = reading(awake: .seconds(1), asleep: .seconds(60)) }
        #expect(source.look() == .woke(after: .seconds(60)))
        #expect(source.look() == nil && ear.heard.isEmpty)
        source.end()
    }

    @Test("The source of idleness tells absence and return, and has no timer while the person is away")
    func idleSource() async throws {
        let time = ManualTime()
        let source = IdleSource(after: .seconds(60), clock: time)
        let ear = Ear()
        source.begin(ear.receiver)
        try await eventually("the wait") { time.untilNext == .seconds(60) }
        time.advance(by: .seconds(40))
        source.noteActivity()
        time.advance(by: .seconds(20))
        try await eventually("the next wait") { time.untilNext == .seconds(40) }
        #expect(ear.heard.isEmpty)
        time.advance(by: .seconds(40))
        try await eventually("the absence") { ear.heard == [.background] }
        try await eventually("no timer") { time.untilNext == nil }
        source.noteActivity()
        #expect(ear.heard == [.background, .foreground])
        try await eventually("the wait behind the return") { time.untilNext == .seconds(60) }
        source.end()
        try await eventually("the end of the wait") { time.untilNext == nil }
    }

    @Test("A source of idleness that nobody holds any more waits for nothing")
    func idleSourceReleased() async throws {
        let time = ManualTime()
        var source: IdleSource? = IdleSource(after: .seconds(60), clock: time)
        source?.begin(Ear().receiver)
        try await eventually("the wait") { time.untilNext != nil }
        source = nil
        try await eventually("the end of the wait") { time.untilNext == nil }
    }

    private static let hides = Notification.Name("test.didEnterBackground")
    private static let shows = Notification.Name("test.willEnterForeground")

    @Test("B26 notifications tell what they stand for, until the source ends")
    func notifications() {
        let center = NotificationCenter()
        let source = NotificationSource(center, [Self.hides: .background, Self.shows: .foreground])
        let ear = Ear()
        center.post(name: Self.hides, object: nil)
        source.begin(ear.receiver)
        center.post(name: Self.hides, object: nil)
        center.post(name: Notification.Name("test.other"), object: nil)
        center.post(name: Self.shows, object: nil)
        #expect(ear.heard == [.background, .foreground])
        source.end()
        center.post(name: Self.hides, object: nil)
        #expect(ear.heard.count == 2)
    }

    @Test("A source of notifications that nobody holds any more observes nothing")
    func notificationsReleased() {
        let center = NotificationCenter()
        let ear = Ear()
        var source: NotificationSource? = NotificationSource(center, [Self.hides: .background])
        source?.begin(ear.receiver)
        source = nil
        center.post(name: Self.hides, object: nil)
        #expect(ear.heard.isEmpty)
    }

    @Test("B26 where the system says nothing of applications, its signals are the machine's sleep alone")
    func system() {
        let sources = SystemLifecycle.sources()
        #expect(sources.first is SleepSource)
        #if os(Linux)
            #expect(sources.count == 1)
        #endif
    }

    @Test("Events keep their order, repetitions are none, and more than a client can take in are not kept")
    func inbox() {
        let signals = LifecycleDriver(RelayConfiguration(servers: .fixed([]))).signals
        func taken() -> [LifecycleEvent] {
            var taken: [LifecycleEvent] = []
            while let event = signals.take() { taken.append(event) }
            return taken
        }
        #expect(signals.markWithRoom(.background))
        for event in [LifecycleEvent.background, .foreground, .stopping] { #expect(!signals.markWithRoom(event)) }
        #expect(taken() == [.background, .foreground, .stopping])
        #expect(taken().isEmpty)
        for number in 0..<1_000 { signals.markWithRoom(number % 2 == 0 ? .background : .foreground) }
        // The newest is among them.
        signals.markWithRoom(.probe)
        let kept = taken()
        #expect(kept.count == 65 && kept.last == .probe)
        #expect(signals.markWithRoom(.probe))
    }

    @Test("The system's clocks can be read")
    func systemClocks() async throws {
        // Only a machine that interrupts every reading has none.
        try await eventually("a reading") { SleepGauge.Reading.system() != nil }
    }
}
