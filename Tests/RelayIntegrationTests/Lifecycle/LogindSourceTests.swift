import NIOConcurrencyHelpers
import TestSupport
import Testing

@testable import Relay

/// What logind tells, over the socket of a bus.
@Suite("Lifecycle: logind, over a bus of the test's own", .realProcesses)
struct LogindSourceTests {
    /// What a source tells.
    private final class Ear: Sendable {
        private let events = NIOLockedValueBox<[LifecycleEvent]>([])

        var receiver: LifecycleReceiver {
            LifecycleReceiver { [events] event in events.withLockedValue { $0.append(event) } }
        }

        var heard: [LifecycleEvent] { events.withLockedValue { $0 } }
    }

    /// A source that has heard from the bus how things stand.
    private func listening(to bus: RehearsedBus, _ ear: Ear) async throws -> LogindSource {
        let source = LogindSource(address: bus.address)
        source.begin(ear.receiver)
        try await eventually("the first question") { bus.calls.count { $0.hasPrefix("Get ") } == 1 }
        return source
    }

    @Test("B21 logind tells of a locked screen and of the machine's wake, and who ends the source hears nothing more")
    func lock() async throws {
        let bus = try await RehearsedBus()
        let ear = Ear()
        let source = try await listening(to: bus, ear)
        #expect(bus.calls.prefix(2) == ["Hello", "GetSession auto"] && ear.heard.isEmpty)
        bus.lock(true)
        try await eventually("the lock") { ear.heard == [.background] }
        bus.sleep(true)
        bus.sleep(false)
        try await eventually("the wake") { ear.heard == [.background, .probe] }
        bus.lock(false)
        try await eventually("the unlocked screen") { ear.heard == [.background, .probe, .foreground] }
        source.end()
        try await eventually("the end of the connection") { bus.connections == 0 }
        #expect(ear.heard.count == 3)
        bus.close()
    }

    @Test("What a signal says is asked of logind, and of what concerns no lock nothing is asked")
    func lies() async throws {
        let bus = try await RehearsedBus()
        let ear = Ear()
        let source = try await listening(to: bus, ear)
        let questions = bus.calls.count
        bus.changeSomethingElse()
        bus.lie(isLocked: true)
        try await eventually("the question") { bus.calls.count == questions + 1 }
        // Whatever the lie led to has come before the wake, which comes behind it.
        bus.sleep(false)
        try await eventually("the wake") { ear.heard == [.probe] }
        #expect(bus.calls.count == questions + 1)
        source.end()
        bus.close()
    }

    @Test("A screen that is locked from the start is no news, and a bus that goes leaves nobody away")
    func bus() async throws {
        let bus = try await RehearsedBus(isLocked: true)
        let ear = Ear()
        let source = try await listening(to: bus, ear)
        bus.lock(false)
        try await eventually("the unlocked screen") { ear.heard == [.foreground] }
        bus.lock(true)
        try await eventually("the lock") { ear.heard == [.foreground, .background] }
        bus.disconnectAll()
        try await eventually("the return") { ear.heard == [.foreground, .background, .foreground] }
        source.end()
        bus.close()
    }

    @Test("Where there is no bus, or no session, it is silent; and one that nobody holds any more is gone")
    func silent() async throws {
        let folder = try TemporaryDirectory("no-bus")
        let ear = Ear()
        let nowhere = LogindSource(address: "unix:path=\(folder.path("bus"))")
        nowhere.begin(ear.receiver)
        let bus = try await RehearsedBus(hasSession: false)
        let alone = LogindSource(address: bus.address)
        alone.begin(ear.receiver)
        try await eventually("the question") { bus.calls.contains("GetSession auto") }
        try await eventually("the end of the connection") { bus.connections == 0 }
        let other = try await RehearsedBus()
        var held: LogindSource? = try await listening(to: other, ear)
        #expect(held != nil && other.connections == 1)
        held = nil
        try await eventually("the end of what nobody holds") { other.connections == 0 }
        #expect(ear.heard.isEmpty)
        nowhere.end()
        alone.end()
        for bus in [bus, other] { bus.close() }
    }
}
