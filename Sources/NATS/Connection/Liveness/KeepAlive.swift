import NIOCore

/// The timed work of an open connection: pings that check whether it is alive, and the deadlines of answers. Belongs to
/// the connection's event loop.
final class KeepAlive {
    private let core: ConnectionCore
    private let gone: () -> Void
    private var liveness: LivenessMachine
    private var silence = SilenceMachine()
    /// The liveness's own ping in flight, and when it was sent.
    private var ping: (waiter: Completion<Result<Void, NATSError>>, sent: NIODeadline)?
    /// Rings at the liveness's next moment.
    private let pingAlarm: LoopAlarm
    /// Ticks while an answer is awaited.
    private let clock: LoopAlarm
    /// Whether the last tick put off its work because of unread answers.
    private var isPutOff = false

    init(_ core: ConnectionCore, _ channel: any Channel, gone: @escaping () -> Void) {
        self.core = core
        self.gone = gone
        pingAlarm = LoopAlarm(on: core.eventLoop)
        clock = LoopAlarm(on: core.eventLoop)
        let (interval, limit) = (core.options.pingInterval, core.options.pongTimeout)
        if interval > .zero { SocketQueues.setTimeout(interval + limit, channel) }
        // Without an interval, pings are sent only on request.
        liveness = LivenessMachine(
            interval: interval > .zero ? interval.nanoseconds : .max, limit: limit.nanoseconds, now: Self.now)
        askLiveness(at: liveness.nextPing)
    }

    static var now: Int64 { Int64(clamping: NIODeadline.now().uptimeNanoseconds) }

    func end() {
        pingAlarm.cancel()
        clock.cancel()
    }

    func heard() {
        liveness.heard()
        if silence.heard() { core.emit(.heardAgain) }
    }

    // MARK: Liveness

    func probe(limit: Duration) {
        guard core.isOpen, liveness.hasten(now: Self.now, limit: limit.nanoseconds) else { return }
        askLiveness(at: Self.now)
    }

    private func askLiveness(at moment: Int64) {
        pingAlarm.cancel()
        guard moment < .max else { return }
        pingAlarm.set(at: .uptimeNanoseconds(UInt64(clamping: moment))) { [weak self] in self?.livenessMoment() }
    }

    /// Whether bytes have arrived that the loop had no time to read; they show that the peer is there.
    private var hasUnread: Bool { core.channel.map { SocketQueues.hasUnread($0) } ?? false }

    private func livenessMoment() {
        guard core.isOpen else { return }
        if hasUnread { heard() }
        switch liveness.momentCame(now: Self.now, outbound: core.outboundProgress) {
        case .stale: gone()
        case .wait(let moment): askLiveness(at: moment)
        case .ping(let moment):
            ping = (try? core.sendPing()).map { ($0, .now()) }
            if ping == nil { liveness.pingFailed() }
            askLiveness(at: moment)
            if core.claimClock() { startClock() }
        }
    }

    func answered(_ waiter: Completion<Result<Void, NATSError>>) {
        guard let ping, ping.waiter === waiter else { return }
        self.ping = nil
        liveness.answered()
        // With the answer here, the next thing to do is the next ping.
        livenessMoment()
        core.emit(.roundTrip(.nanoseconds((NIODeadline.now() - ping.sent).nanoseconds)))
    }

    // MARK: The clock

    /// Runs only while requests or pings wait; timeouts are late by at most one tick.
    func startClock() {
        guard !clock.isSet else { return }
        clock.set(at: .now() + LoopAlarm.tick) { [weak self] in
            self?.clockTicked()
        } late: { [weak self] in
            self?.silence.excuse()
        }
    }

    private func clockTicked() {
        // The awaited answer may lie unread. It will have been read by the next tick.
        isPutOff = !isPutOff && hasUnread
        if isPutOff {
            heard()
            return startClock()
        }
        expireRequests()
        core.expirePings(at: .now())
        guard core.clockTicked() else { return silence.excuse() }
        judgeSilence()
        startClock()
    }

    private func expireRequests() {
        let late = core.requests.expire(at: .now())
        guard !late.isEmpty else { return }
        // The liveness finds a dead link; over a slow one, the answer to a later ping shows that the requests arrived.
        probe(limit: core.options.pongTimeout)
        guard let waiter = try? core.sendPing() else { return core.requests.arrived(late, at: .now()) }
        Task { [core] in
            do throws(NATSError) { try await waiter.result() } catch { return }
            core.requests.arrived(late, at: .now())
        }
    }

    private func judgeSilence() {
        switch silence.waits(now: Self.now, outbound: { core.outboundProgress }) {
        case .ask: probe(limit: core.options.pongTimeout)
        case .silent(let since): core.emit(.silent(for: .nanoseconds(Self.now - since)))
        case nil: break
        }
    }
}

/// Calls back at one moment, on its event loop.
///
/// A loop that is very late has not read for a while: the process was stopped, or something held up the loop. Whatever
/// has arrived meanwhile must be read before anything is given up, so the call then comes a tick later, after one round
/// of the loop.
final class LoopAlarm {
    static let tick = TimeAmount.milliseconds(50)
    /// From this delay on, the loop is very late.
    private static let patience = TimeAmount.milliseconds(500)

    private let eventLoop: any EventLoop
    private var timer: Scheduled<Void>?

    init(on eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    var isSet: Bool { timer != nil }

    /// Sets the alarm, replacing one that is set; `late` is called if the loop is very late and the call is put off.
    func set(at moment: NIODeadline, _ ring: @escaping () -> Void, late: @escaping () -> Void = {}) {
        schedule(at: moment) {
            guard NIODeadline.now() - moment > Self.patience else { return ring() }
            late()
            self.schedule(at: .now() + Self.tick, ring)
        }
    }

    func cancel() {
        timer?.cancel()
        timer = nil
    }

    private func schedule(at moment: NIODeadline, _ ring: @escaping () -> Void) {
        cancel()
        timer = eventLoop.assumeIsolated().scheduleTask(deadline: moment) {
            self.timer = nil
            ring()
        }
    }
}
