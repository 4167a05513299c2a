import NIOCore

/// Subscriptions that must last as long as the connection but that the server refuses: the inbox, without which no
/// request is answered, and standing ones. The server may permit them later on the same connection, so it is asked
/// again after 1, 2, 4 s and so on up to every 30 s, or 5 s for the inbox. Belongs to the connection's event loop.
final class RefusedSubscriptions {
    private struct Refusal {
        var count = 0
        var alarm: Scheduled<Void>?
        /// The ping after the newest attempt: its answer shows that the server did not refuse.
        var ping: Completion<Result<Void, NATSError>>?
    }

    private let core: ConnectionCore
    /// By the subscriptions' numbers.
    private var refusals: [UInt64: Refusal] = [:]

    init(_ core: ConnectionCore) { self.core = core }

    func askLater(for sid: UInt64) {
        var refusal = refusals[sid] ?? Refusal()
        refusal.ping = nil
        if core.isOpen, refusal.alarm == nil {
            let pause = min(sid == ConnectionCore.inboxSID ? 5 : 30, 1 << min(refusal.count, 5))
            refusal.count += 1
            refusal.alarm = core.eventLoop.assumeIsolated().scheduleTask(in: .seconds(Int64(pause))) { [weak self] in
                self?.askAgain(for: sid)
            }
        }
        refusals[sid] = refusal
    }

    private func askAgain(for sid: UInt64) {
        refusals[sid]?.alarm = nil
        do throws(NATSError) {
            guard try core.subscribeAgain(sid) else { return refusals[sid] = nil }
            refusals[sid]?.ping = try core.sendPing()
        } catch {
            askLater(for: sid)
        }
    }

    func answered(_ waiter: Completion<Result<Void, NATSError>>) {
        guard let sid = refusals.first(where: { $0.value.ping === waiter })?.key else { return }
        refusals[sid] = nil
        if sid == ConnectionCore.inboxSID { core.requests.permit() }
    }

    func end() {
        for refusal in refusals.values { refusal.alarm?.cancel() }
        refusals = [:]
    }
}
