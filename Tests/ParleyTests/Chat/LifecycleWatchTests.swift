import NIOConcurrencyHelpers
import Relay
import TestSupport
import Testing

@testable import Parley

/// What is heard of the machine in front of the person, on its way to the screen.
@Suite("The machine's life on its way to the screen")
struct LifecycleWatchTests {
    /// A signal that a test gives.
    private final class Signal: LifecycleSource {
        private let receiver = NIOLockedValueBox<LifecycleReceiver?>(nil)
        private let ended = NIOLockedValueBox(false)

        var hasEnded: Bool { ended.withLockedValue(\.self) }

        func begin(_ receiver: LifecycleReceiver) { self.receiver.withLockedValue { $0 = receiver } }

        func end() { ended.withLockedValue { $0 = true } }

        func tell(_ event: LifecycleEvent) { receiver.withLockedValue(\.self)?.tell(event) }
    }

    @Test("A lock, its end and the wake reach the screen in their order, and with the chat's end nothing any more")
    func order() async throws {
        let queue = EventQueue {}
        let signal = Signal()
        var watch: LifecycleWatch? = LifecycleWatch(signal, queue)
        let events: [LifecycleEvent] = [
            .background, .foreground, .probe, .stopping, .woke(after: .seconds(9)), .background,
        ]
        for event in events { signal.tell(event) }
        var taken: [ChatEvent] = []
        try await eventually("all of it") {
            while let (event, _) = queue.take() { taken.append(event) }
            return taken.count >= 5
        }
        #expect(taken == [.locked(true), .locked(false), .woke, .woke, .locked(true)])
        #expect(watch != nil && !signal.hasEnded)
        watch = nil
        #expect(signal.hasEnded)
        signal.tell(.foreground)
        #expect(queue.take() == nil)
    }
}
