import Dispatch
import NIOConcurrencyHelpers
import Platform

/// Listens on the kernel's route socket and reports each burst of messages once. Their contents are not read: a fresh
/// snapshot is simpler, and correct even if messages were lost.
final class RouteSocket: Sendable {
    /// The time after which a burst is reported; one change of network causes many messages.
    private static let burst = DispatchTimeInterval.milliseconds(100)

    /// Dispatch's sources may be used from any thread, but their type does not say so.
    private struct Source: @unchecked Sendable {
        let base: any DispatchSourceRead
    }

    let descriptor: CInt
    private let source: Source

    /// Takes over the descriptor; `changed` is called on a queue of its own.
    init(_ descriptor: CInt, changed: @escaping @Sendable () -> Void) {
        self.descriptor = descriptor
        let queue = DispatchQueue(label: "parley.route", qos: .utility)
        let source = Source(base: DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue))
        self.source = source
        let isBurst = NIOLockedValueBox(false)
        // The source holds this, and itself with it, until it is cancelled.
        source.base.setEventHandler {
            // A broken socket would fire forever.
            guard Self.drain(descriptor) else { return source.base.cancel() }
            guard isBurst.withLockedValue({ !exchange(&$0, with: true) }) else { return }
            queue.asyncAfter(deadline: .now() + Self.burst) {
                isBurst.withLockedValue { $0 = false }
                if !source.base.isCancelled { changed() }
            }
        }
        // The number may be used again only once the source has stopped listening.
        source.base.setCancelHandler { _ = Platform.close(descriptor) }
        source.base.activate()
    }

    deinit { source.base.cancel() }

    func close() { source.base.cancel() }

    /// Discards what has arrived; false if the socket is of no further use.
    private static func drain(_ descriptor: CInt) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 8_192)
        // The queue calls again for the rest of a flood.
        for _ in 0..<64 {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { continue }
            // ENOBUFS: messages were lost, which is a change like any other.
            return count < 0 && [EAGAIN, EWOULDBLOCK, EINTR, ENOBUFS].contains(errno)
        }
        return true
    }
}
