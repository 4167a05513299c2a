import Dispatch
import NIOConcurrencyHelpers
import Platform

/// Listens on the kernel's route socket and says, once for each burst, that something has changed. What the messages
/// hold is not read: a look at the whole is simpler, and right also when messages were lost.
final class RouteSocket: Sendable {
    /// How long a burst may go on before it is reported; one change of network is many messages.
    private static let burst = DispatchTimeInterval.milliseconds(100)

    /// Dispatch's sources may be used from any thread, which their type does not say.
    private struct Source: @unchecked Sendable {
        let base: any DispatchSourceRead
    }

    let descriptor: CInt
    private let source: Source

    /// Takes over the descriptor; `changed` is called on a queue of its own.
    init(_ descriptor: CInt, changed: @escaping @Sendable () -> Void) {
        self.descriptor = descriptor
        // The system tells of sockets through Dispatch; one event at a time comes here.
        let queue = DispatchQueue(label: "parley.route", qos: .utility)
        let source = Source(base: DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue))
        self.source = source
        let isBurst = NIOLockedValueBox(false)
        // The source holds this, and itself with it, until it is cancelled.
        source.base.setEventHandler {
            // A socket that is broken would wake this for ever.
            guard Self.drain(descriptor) else { return source.base.cancel() }
            let isFirst = isBurst.withLockedValue { isBurst in
                defer { isBurst = true }
                return !isBurst
            }
            guard isFirst else { return }
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

    /// Throws away what has come; false when the socket can give nothing any more.
    private static func drain(_ descriptor: CInt) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 8_192)
        // The queue calls again for the rest of a flood.
        for _ in 0..<64 {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count > 0 { continue }
            // ENOBUFS: messages were lost, which is news like any other.
            return count < 0 && [EAGAIN, EWOULDBLOCK, EINTR, ENOBUFS].contains(errno)
        }
        return true
    }
}
