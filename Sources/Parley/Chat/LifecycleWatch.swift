import Relay

/// Brings the screen, in order, what a source tells of the machine in front of the person: that it is locked, and that
/// it has woken up. The terminal's own signals reach the screen by themselves.
final class LifecycleWatch {
    /// More than this waits only while the screen takes nothing in; the oldest say the least then.
    private static let capacity = 16

    private let source: any LifecycleSource
    private let events: AsyncStream<LifecycleEvent>.Continuation

    init(_ source: any LifecycleSource, _ queue: EventQueue) {
        self.source = source
        let events = Self.eventsTold(to: queue)
        self.events = events
        source.begin(LifecycleReceiver { events.yield($0) })
    }

    deinit { end() }

    /// Hears nothing any more.
    func end() {
        source.end()
        events.finish()
    }

    private static func eventsTold(to queue: EventQueue) -> AsyncStream<LifecycleEvent>.Continuation {
        let (stream, events) = AsyncStream.makeStream(
            of: LifecycleEvent.self, bufferingPolicy: .bufferingNewest(capacity))
        Task.detached {
            for await event in stream {
                if let news = news(event) { await queue.send(news) }
            }
        }
        return events
    }

    private static func news(_ event: LifecycleEvent) -> ChatEvent? {
        switch event {
        case .background: .locked(true)
        case .foreground: .locked(false)
        case .woke, .probe: .woke
        case .stopping: nil
        }
    }
}
